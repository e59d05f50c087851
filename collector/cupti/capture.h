// Switches CUPTI's collecting on and off, as often as may be. The first unexpected error undoes all
// that was switched on; the reason is kept for the user, and the program goes on.
//
// CUPTI has one subscriber and one pair of buffer callbacks for the whole process, and another
// profiler may want them. There is no way to be told that it does. By default it comes first:
// whether somebody has subscribed is asked before capturing begins, and the subscription, of which
// activities have no need, is given back at once, so that another's attempt succeeds at any time.
// What it then takes, knowingly or not, are the buffer callbacks: AnotherTookOver finds that out,
// and GiveWay leaves CUPTI to it as it is.
//
// That is so with the older family of CUPTI's functions. With the newer one (see cupti_client.h)
// we keep a subscription and disturb nobody who uses it, too.
#ifndef COLLECTOR_CUPTI_CAPTURE_H_
#define COLLECTOR_CUPTI_CAPTURE_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/cupti/activity_buffers.h"
#include "collector/cupti/clock.h"
#include "collector/cupti/cupti_client.h"
#include "collector/cupti/graph_node_log.h"
#include "collector/cupti/priority.h"
#include "proto/activity_set.h"

namespace tp::collect {

// There is at most one in a process, since CUPTI's callbacks carry no argument of ours. Begin and
// End may run on any thread, one at a time; the others are the collector thread's.
class Capture {
 public:
  using Priority = collect::Priority;
  enum class Begun {
    kYes,
    kLater,  // Somebody else has CUPTI, or there is no CUDA yet: to be tried again.
    kNo,
  };

  // Both pointers outlive the capture.
  Capture(CuptiClient* cupti, ActivityBuffers* buffers, Priority priority, ActivitySet activities);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Switches the activities on. If it cannot, nothing is left on, and `reason` says why in one
  // line. `anyway`: also when it is not known that the profiler to which we gave way is done.
  Begun Begin(bool anyway, std::string* reason);
  // Switches all off. What CUPTI has collected still comes, with the flushes that follow.
  void End();
  // After an error: the same, and nothing more is asked of CUPTI.
  void Abandon();
  // To be called now and then, after filled buffers have been read: some time after End it gives
  // back what is then needed no more.
  void LetGo();
  // To be called after End and the last Flush: leaves CUPTI as if it had never been used, by
  // cuptiFinalize within the end of a CUDA call, which is how NVIDIA would have it. False if that
  // is not to be had until `deadline_ns` (host clock), or not ours to do since another profiler is
  // loaded: then we have unsubscribed, and no more.
  bool Finalize(int64_t deadline_ns);
  // It was, and nothing has begun since.
  bool finalized() const { return is_finalized_; }
  // For a collector that comes later: counts begin anew.
  void BeginAnew();
  bool active() const { return active_.load(std::memory_order_acquire); }

  // What is to be collected from now on: at once while active, else from the next Begin. What CUPTI
  // has collected already still comes. False after an error that leaves nothing on, with `reason`.
  bool SetActivities(ActivitySet activities, std::string* reason);
  // What is asked for, without what CUPTI refuses here.
  ActivitySet collected() const;
  // A line for each thing that CUPTI refuses.
  std::vector<std::string> Refusals() const;
  // CUPTI cannot leave chatty calls out by itself: the reader has to.
  bool chatty_calls_come() const { return chatty_calls_come_; }

  // Nodes of graphs that were made, for the collector thread to read.
  GraphNodeLog& graph_nodes() { return graph_nodes_; }

  // While active: asks for records of the devices, contexts and streams that there are already. Not
  // within cuInit, when there are none and CUPTI may not be able to look.
  void DescribeExisting();

  // Hands over the buffers whose records are complete; `forced`: all, for the very last time (a
  // kernel that still runs is then lost). False after an error, with `reason`.
  bool Flush(bool forced, std::string* reason);

  // Whether another profiler has put its buffer callbacks in the place of ours. To be asked at the
  // beginning (where it finds out whether it can tell) and after each plain flush; sure after two
  // silent ones in a row.
  bool AnotherTookOver();
  // Stops without a change to what may be another's by now: nothing is switched off or flushed, and
  // what CUPTI holds of ours is the other's. `reason` says who it may be.
  void GiveWay(std::string* reason);
  // Puts our callbacks and activities back. False after an error, with `reason`.
  bool TakeBack(std::string* reason);

  // An error that a call on an application's thread met; 0 if there was none.
  uint32_t TakeApplicationError() { return application_error_.exchange(0); }

  // Records that CUPTI had no room for, so far.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  // Whether others can use CUPTI at the same time.
  bool shares_cupti() const { return cupti_->family() == CuptiClient::Family::kPerSubscriber; }

  ClockReading ReadClock(int tries) const;
  // Now, by CUPTI's clock; 0 if it cannot tell.
  static int64_t CuptiTimeNs();

 private:
  bool Check(CUptiResult result, const char* function, std::string* reason) const;
  Begun Subscribe(std::string* reason);
  std::string Holder() const;
  bool SwitchOn(std::string* reason);
  void StopDescribing(bool disable);
  bool OtherIsDone();
  bool ProbeReachesUs();
  static bool MakeCall();
  // Makes CUPTI collect what activities_ asks for.
  bool Apply(std::string* reason);
  bool ApplyKinds(std::string* reason);
  void ApplyChatty();
  void ApplyLatency();
  void ApplyCaptures();
  CUptiResult SwitchCaptures(bool on);
  void Refuse(Activity activity, CUptiResult why);
  void Undo();

  static void CUPTIAPI Called(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void* data);
  void CallEnds();
  void GraphNodeMade(CUpti_CallbackId id, const CUpti_GraphData& graph);
  static void CUPTIAPI RequestBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void CUPTIAPI CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer,
                                      size_t bytes, size_t valid_bytes);
  static void CUPTIAPI RequestBufferForUs(uint8_t** buffer, size_t* bytes, size_t* most_records,
                                          void* info);
  static void CUPTIAPI CompleteBufferForUs(uint8_t* buffer, size_t bytes, size_t valid_bytes,
                                           void* info);
  static void PushCorrelation(uint64_t id);
  static void PopCorrelation();

  CuptiClient* cupti_;
  ActivityBuffers* buffers_;
  Priority priority_;
  ActivitySet activities_;  // Asked for.
  ActivitySet refused_;
  std::vector<std::string> refusals_;
  uint32_t enabled_ = 0;  // Kinds that are on, as bits by their place in the table of kinds.
  int letting_go_ = 0;    // Calls of LetGo until the subscription ends.
  bool latency_enabled_ = false;
  bool captures_enabled_ = false;
  bool chatty_calls_come_ = false;
  bool is_describing_ = false;  // Records of devices, contexts, streams and names come.
  GraphNodeLog graph_nodes_;
  std::atomic<bool> active_{false};
  bool may_flush_ = false;  // CUPTI may hold records for us.
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint32_t> application_error_{0};
  std::atomic<bool> finalize_wanted_{false}, finalized_{false};
  bool is_finalized_ = false;

  std::atomic<uint64_t> calls_{0};  // Of CUPTI, for or with a buffer.
  uint64_t calls_seen_ = 0;
  bool probe_works_ = false;
  int silent_ = 0;                     // Looks in a row without a call of CUPTI's.
  std::atomic<pthread_t> probing_{0};  // The thread that probes, and whether CUPTI asked it.
  std::atomic<bool> probed_{false};
  bool gave_way_ = false;
  bool other_subscribed_ = false;  // The profiler to which we gave way.
  int per_thread_buffers_ = -1;    // CUPTI's attribute as it was at first; -1: it has none.
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_CAPTURE_H_

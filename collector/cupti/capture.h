// Switches CUPTI's collecting on and off. The first unexpected error undoes all that was switched
// on; the reason is kept for the user, and the program goes on.
//
// CUPTI has one subscriber and one pair of buffer callbacks for the whole process, and another
// profiler may want them. There is no way to be told that it does. By default it comes first:
// whether somebody has subscribed is asked before capturing begins, and the subscription, of which
// activities have no need, is given back at once, so that another's attempt succeeds at any time.
// What it then takes, knowingly or not, are the buffer callbacks: AnotherTookOver finds that out,
// and GiveWay leaves CUPTI to it as it is.
#ifndef COLLECTOR_CUPTI_CAPTURE_H_
#define COLLECTOR_CUPTI_CAPTURE_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "collector/cupti/activity_buffers.h"
#include "collector/cupti/clock.h"
#include "collector/cupti/cupti_api.h"

namespace tp::collect {

// There is at most one in a process, since CUPTI's callbacks carry no argument of ours. Begin and
// End may run on any thread, one at a time; the others are the collector thread's.
class Capture {
 public:
  // Whom CUPTI is for when another profiler wants it as well.
  enum class Priority { kOthers, kUs };
  enum class Begun {
    kYes,
    kLater,  // Somebody else has CUPTI, or there is no CUDA yet: to be tried again.
    kNo,
  };

  // Both outlive the capture.
  Capture(const CuptiApi* api, ActivityBuffers* buffers, Priority priority);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Switches the activities on. If it cannot, nothing is left on, and `reason` says why in one
  // line. `anyway`: also when it is not known that the profiler to which we gave way is done.
  Begun Begin(bool anyway, std::string* reason);
  // Switches all off; what CUPTI has collected still comes with the next flush.
  void End();
  bool active() const { return active_.load(std::memory_order_acquire); }

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

  ClockReading ReadClock(int tries) const;
  // Now, by CUPTI's clock; 0 if it cannot tell.
  static int64_t CuptiTimeNs();

 private:
  bool Check(CUptiResult result, const char* function, std::string* reason) const;
  Begun Subscribe(std::string* reason);
  std::string Holder();
  bool SwitchOn(std::string* reason);
  bool OtherIsDone();
  bool ProbeReachesUs();
  void Undo();

  static void CUPTIAPI RequestBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void CUPTIAPI CompleteBuffer(CUcontext context, uint32_t stream, uint8_t* buffer,
                                      size_t bytes, size_t valid_bytes);
  static void PushCorrelation(uint64_t id);
  static void PopCorrelation();

  const CuptiApi* api_;
  ActivityBuffers* buffers_;
  Priority priority_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  uint32_t enabled_ = 0;  // Kinds of kActivities that are on, from the first.
  std::atomic<bool> active_{false};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint32_t> application_error_{0};

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

// The collector of a process that uses CUDA: one thread of our own that reads what CUPTI and the
// application's threads have recorded, makes batches of it and sends them to the daemon. Begins
// when the CUDA driver initializes, or when somebody attaches; ends with the process, or when it is
// told to leave. Another may come after it.
#ifndef COLLECTOR_COLLECTOR_H_
#define COLLECTOR_COLLECTOR_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/cupti/activity_buffers.h"
#include "collector/cupti/activity_reader.h"
#include "collector/cupti/capture.h"
#include "collector/cupti/cupti_api.h"
#include "collector/cupti/cupti_client.h"
#include "collector/life_log.h"
#include "collector/link/batch_encoder.h"
#include "collector/link/batch_queue.h"
#include "collector/link/daemon_link.h"
#include "collector/link/descriptions.h"
#include "collector/link/messages.h"
#include "collector/link/string_table.h"
#include "collector/operation/nvtx_modules.h"
#include "collector/operation/operation_reader.h"
#include "collector/operation/reopened_ranges.h"
#include "collector/operation/uncorrelated_threads.h"
#include "collector/thread_names.h"
#include "proto/activity_set.h"

namespace tp::collect {

// How the bound on our memory (TP_BUFFER_MB, default 64 MiB) is divided.
struct MemoryLimits {
  size_t activity_buffers, operation_buffers, open_operations, stacks, batches, strings,
      descriptions, registered_texts;
};
MemoryLimits DivideMemory(size_t limit_bytes, bool with_stacks);

// What whoever attaches asks for.
struct AttachOrder {
  int socket = -1;          // As proto/attach.h's.
  int64_t duration_ns = 0;  // Likewise.
  std::string socket_path, activities;
};

// What we have of CUPTI. It is the process's: CUPTI and threads that are on their way into it hold
// pointers to it, so it stays where it is when a collector leaves.
struct ProcessCupti {
  CuptiApi api;
  std::unique_ptr<ActivityBuffers> buffers;
  std::unique_ptr<CuptiClient> client;
  std::unique_ptr<Capture> capture;
};

class Collector {
 public:
  struct Options {
    size_t memory_bytes;
    std::string library;     // Our own path, for the log.
    int64_t loaded_ns;       // Host clock: when the library was loaded.
    ActivitySet activities;  // What is collected.
    bool with_stacks;        // TP_STACKS.
    bool dormant;            // Register with the daemon, wait for a command.
    // The CUDA driver does not call us: load CUPTI and begin when the driver turns out to be there.
    bool unannounced;
    // It came to a process that had begun without it: then it leaves when it is told to end.
    std::optional<AttachOrder> attach;
    Capture::Priority priority;
    std::vector<std::string> notes;  // What the user must know.
    // On the collector's thread, as the last thing that it does after it has left.
    void (*left)(Collector* collector) = nullptr;
  };

  explicit Collector(Options options);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // Begins to capture, unless dormant (on the calling thread: nothing that it launches after this
  // is missed), and starts the collector thread. False if there can be no thread; nothing is left
  // behind then.
  bool Start();

  // Sends what there is, says goodbye and ends the thread; returns after `deadline_ns` at the
  // latest, done or not. Any thread.
  void Finish(int64_t deadline_ns);

  // Wakes the thread of the collector that there is. Any thread; a system call only when it sleeps.
  static void Wake();

  // Somebody attaches to the process that this collector is in already. Any thread. False if it is
  // about to end: then the order was not taken.
  bool TakeOver(AttachOrder order);
  bool has_ended() const { return phase_ == Phase::kFinished; }

  // In the child of a fork, where the thread does not exist.
  void AbandonAfterFork();

 private:
  enum class Phase : uint32_t { kRunning, kFinishing, kFinished };

  static void* Main(void* collector);
  void Run();
  void Collect();
  void CollectNames();
  void DescribeIfNotKnown();
  void SendRangesAgain();
  void CollectAll();
  void SealIfLarge();
  void Seal();
  void ObeyDaemon();
  void Obey(const CaptureCommand& command);
  void SetActivities(std::string_view words);
  void StopCapture(std::string reason);
  void TakeOrder(AttachOrder order);
  void EndIfItsTime(int64_t now_ns);
  void Leave();
  void BeginCapturedTime(int64_t start_ns);
  void EndCapturedTime();
  void FlushCupti(int64_t now_ns, bool is_due);
  bool CuptiMayHoldRecords() const;
  void LeaveOwnCallsOut();
  void LookAfterStop(int64_t now_ns);
  void FollowActivities();
  bool Prepare();
  void BeginCapture(bool anyway);
  void WaitToBegin(std::string reason);
  int64_t WaitedNs() const;
  void LookForAnother();
  void Disable(std::string reason);
  void LogChanges();
  void SendRest(GoodbyeReason why);
  void Sleep(int64_t ns);
  std::string MakeHello();
  StatusFields Status() const;
  uint64_t LostRanges() const;
  static void SealIfLargeCallback(void* collector);

  Options options_;
  MemoryLimits limits_;
  CuptiApi& cupti_;
  StringTable strings_;
  Descriptions descriptions_;
  ThreadNames thread_names_;
  BatchEncoder encoder_;
  BatchQueue queue_;
  uint64_t connections_ = 0;  // Of link_, when it was last looked at.
  UncorrelatedThreads uncorrelated_;
  ReopenedRanges reopened_;
  OperationReader operations_;
  DaemonLink link_;
  // What needs CUPTI: there is none before capturing begins, and when it was not found. All but the
  // reader are the process's.
  CuptiClient* client_ = nullptr;
  ActivityBuffers* buffers_ = nullptr;
  std::unique_ptr<ActivityReader> activities_;
  Capture* capture_ = nullptr;
  NvtxModules nvtx_modules_;  // When attached.

  State state_ = State::kDormant;
  std::string reason_;
  bool status_changed_ = false;
  bool is_running_ = false;         // On our own thread, not within cuInit.
  bool asked_for_devices_ = false;  // Those that were there before us.
  bool is_wanted_ = false;          // Capturing, whatever comes of it: captured time goes on.
  int64_t recording_start_ns_ = 0;  // Host clock: when it was first wanted; 0: not yet.
  uint64_t capture_token_ = 0;      // Of the latest command.
  int64_t end_ns_ = 0;              // Host clock: when capturing ends by itself; 0: not.
  std::string leave_reason_;        // Not empty: it is time to leave.
  int64_t stopped_ns_ = 0;     // Host clock: CUPTI may still hold records of the time until then.
  uint64_t lost_outside_ = 0;  // Ranges that were lost outside of captured time,
  uint64_t lost_before_pause_ = 0;  // and all that were lost when it last ended.
  int64_t last_flush_ns_ = 0;
  int64_t next_try_ns_ = 0;       // While waiting to begin.
  int64_t waiting_since_ns_ = 0;  // 0: not waiting.
  int64_t waited_ns_ = 0;         // Before that.
  uint64_t taken_back_ = 0;       // CUPTI's buffers, from another profiler.
  LifeLog life_log_;
  ClockReading clock_;
  uint64_t next_sequence_ = 1;
  EventCounts produced_;

  pthread_t thread_;
  std::atomic<Phase> phase_{Phase::kRunning};
  static std::atomic<uint32_t> awake_;  // Futex: 1 when there is something to do.
  pthread_mutex_t finished_lock_;
  pthread_cond_t finished_;
  int64_t deadline_ns_ = 0;
  // Under finished_lock_.
  bool is_leaving_ = false;
  std::optional<AttachOrder> order_;  // To be taken.
};

}  // namespace tp::collect

#endif  // COLLECTOR_COLLECTOR_H_

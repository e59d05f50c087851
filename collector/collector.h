// The collector of a process that uses CUDA: one thread of our own that reads what CUPTI and the
// application's threads have recorded, makes batches of it and sends them to the daemon. Begins
// when the CUDA driver initializes; ends with the process.
#ifndef COLLECTOR_COLLECTOR_H_
#define COLLECTOR_COLLECTOR_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
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
    Capture::Priority priority;
    std::vector<std::string> notes;  // What the user must know.
    void (*wake)();                  // Wakes this collector; for those who have no pointer to it.
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

  // Wakes the collector thread. Any thread; a system call only when it sleeps.
  void Wake();

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
  void StopCapture();
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
  void SendRest();
  void Sleep(int64_t ns);
  std::string MakeHello();
  StatusFields Status() const;
  uint64_t LostRanges() const;
  static void SealIfLargeCallback(void* collector);

  Options options_;
  MemoryLimits limits_;
  CuptiApi cupti_;
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
  // What needs CUPTI: there is none before capturing begins, and when it was not found.
  std::unique_ptr<CuptiClient> client_;
  std::unique_ptr<ActivityBuffers> buffers_;
  std::unique_ptr<ActivityReader> activities_;
  std::unique_ptr<Capture> capture_;

  State state_ = State::kDormant;
  std::string reason_;
  bool status_changed_ = false;
  bool is_running_ = false;         // On our own thread, not within cuInit.
  bool asked_for_devices_ = false;  // Those that were there before us.
  bool is_wanted_ = false;          // Capturing, whatever comes of it: captured time goes on.
  int64_t recording_start_ns_ = 0;  // Host clock: when it was first wanted; 0: not yet.
  uint64_t capture_token_ = 0;      // Of the latest command.
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
  std::atomic<uint32_t> awake_{0};  // Futex: 1 when there is something to do.
  pthread_mutex_t finished_lock_;
  pthread_cond_t finished_;
  int64_t deadline_ns_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_COLLECTOR_H_

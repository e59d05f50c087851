// The open ranges of each application thread, and the way of its range events to the collector
// thread.
//
// The functions that applications' threads run take no shared lock, allocate nothing (but each
// thread's own state, once) and make no system call (but to wake the collector thread when a buffer
// is half full).
#ifndef COLLECTOR_OPERATION_THREAD_OPERATIONS_H_
#define COLLECTOR_OPERATION_THREAD_OPERATIONS_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collector/operation/operation_buffer.h"
#include "collector/operation/text.h"
#include "collector/stack/stack_walker.h"

namespace tp::collect {

// What a range begins with: a text of its own, or a registered one (then `text` is empty), and what
// it carries beside it.
struct RangeText {
  std::string_view text = "";  // At some address, also if it is empty.
  const RegisteredText* registered = nullptr;
  std::string_view details = {};
  DetailsForm form = DetailsForm::kNone;
};

// Tells CUPTI which operation the calling thread is in (external correlation). Set while capturing.
struct LaunchCorrelation {
  void (*push)(uint64_t id);  // nullptr: no more; threads take back what they had pushed.
  void (*pop)();
  int64_t (*now_ns)();  // CUPTI's clock.
};

// One thread's. Made at the thread's first range, given back by the collector thread after the
// thread's end.
class ThreadOperations {
 public:
  // The calling thread's; nullptr when the bound on memory is reached, or in a process that is not
  // collected from.
  static ThreadOperations* Current();
  // Counts a range that begins on a thread that has none.
  static void CountWithoutRoom();

  // The innermost range that is open on the calling thread and recorded; 0: none.
  static uint64_t InnermostOfThisThread();

  // Begins a range in the nesting of the thread; returns its depth within its domain, from 0 on.
  int Push(const Domain* domain, const RangeText& text);
  // Ends the domain's innermost range; returns its depth, or -1 when there is none.
  int Pop(const Domain* domain);
  // Details of the domain's innermost range that were not known when it began.
  void AddToInnermost(const Domain* domain, std::string_view details, DetailsForm form);
  // The same for the range with this id.
  void AddTo(uint64_t id, const Domain* domain, std::string_view details, DetailsForm form);
  void Count(std::string_view counter, double value);
  // Begins an asynchronous range: the id to end it with, or 0 when there is no room for it.
  uint64_t Start(const Domain* domain, const RangeText& text);
  void End(uint64_t id);

  // Makes CUPTI's stack of this thread hold the ranges that are open now, when capturing has begun
  // since they were pushed.
  void CorrelateOpenRanges();

  // Since when (CUPTI's clock) CUPTI's stack of this thread has been right in the present capture;
  // INT64_MAX: not yet. And the innermost range that was open until then; 0: none. Any thread.
  int64_t correlated_since_ns() const {
    return correlated_since_ns_.load(std::memory_order_acquire);
  }
  uint64_t uncorrelated_operation() const {
    return uncorrelated_operation_.load(std::memory_order_relaxed);
  }

  pid_t thread_id() const { return thread_id_; }
  // Serial number of the thread; the upper bits of its ranges' ids.
  uint64_t serial() const { return serial_; }
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  int64_t ended_ns() const { return ended_ns_; }
  OperationBuffer& buffer() { return buffer_; }

 private:
  friend class ThreadOperationsList;

  struct OpenRange {
    uint64_t id;
    const Domain* domain;
    bool recorded;  // Its begin is in the buffer.
  };
  // A program that pushes and never pops gets so far; what is deeper is not recorded, and counted.
  static constexpr uint32_t kDeepest = 32768;
  // By so much the stack grows, of address space that is there, when it is used.
  static constexpr size_t kStackStepBytes = 4096;
  static constexpr uint32_t kStackStep = kStackStepBytes / sizeof(OpenRange);

  ThreadOperations(pid_t thread_id, uint64_t serial, char* buffer, uint32_t buffer_bytes,
                   OpenRange* stack, size_t mapped_bytes, size_t reserved_bytes);

  void RecordStack(uint64_t id, uint32_t ends_to_come);
  bool Record(OperationEventType type, uint64_t id, const Domain* domain, const RangeText& text);
  // Neither begin nor end of a range. False: no room.
  bool RecordOther(OperationEventType type, uint64_t id, const Domain* domain,
                   const RangeText& text);
  bool GrowStack();
  void WakeIfHalfFull();
  int DepthIn(const Domain* domain) const;
  void CountForeign();
  void Remove(uint32_t index);

  pid_t thread_id_;
  uint64_t serial_;
  uint64_t next_id_;
  uint32_t depth_ = 0;
  uint32_t recorded_depth_ = 0;
  uint32_t deeper_ = 0;  // Pushes that the stack had no room for, on top of it.
  uint32_t stack_room_ = kStackStep;
  uint32_t foreign_ = 0;  // Of stack_: ranges of another domain than the outermost one's.
  uint32_t correlation_epoch_ =
      0;  // Of the capture that CUPTI's stack of this thread belongs to; 0: none.
  uint32_t correlated_ = 0;  // Ranges on CUPTI's stack of this thread.
  std::atomic<int64_t> correlated_since_ns_{INT64_MAX};
  std::atomic<uint64_t> uncorrelated_operation_{0};
  OpenRange* stack_;
  size_t mapped_bytes_;
  size_t reserved_bytes_;  // Of the bound on memory.
  OperationBuffer buffer_;
  StackWalker* walker_ = nullptr;  // nullptr: stacks are not wanted.
  std::atomic<bool> ended_{false};
  int64_t ended_ns_ = 0;
  ThreadOperations* next_ = nullptr;
  const uint32_t era_;       // Of the list, when it was made.
  bool is_retired_ = false;  // That is over: it is its thread's to free.
};

// All threads'. Static, since applications' threads come to it on their own.
class ThreadOperationsList {
 public:
  // Before the first Current(). `wake` is called (on an application's thread) when a buffer is half
  // full, and for each new thread while half of the bound is used. Of ranges' stacks
  // `stack_frames` are recorded (TP_STACKS; StackWalker::Prepare comes before it); 0: no stacks.
  static void Configure(size_t memory_limit_bytes, void (*wake)(), size_t stack_frames = 0);

  // Collector thread. Calls `visit(ThreadOperations&)` for each thread, and gives back those that
  // have ended after it.
  template <typename Visit>
  static void ForEach(Visit&& visit) {
    ThreadOperations* previous = nullptr;
    ThreadOperations* thread = head_.load(std::memory_order_acquire);
    while (thread != nullptr) {
      ThreadOperations* next = thread->next_;
      bool ended = thread->ended();  // Before the visit: what an ended thread wrote is all there.
      visit(*thread);
      if (ended && Unlink(previous, thread)) {
        Destroy(thread);
      } else {
        previous = thread;
      }
      thread = next;
    }
  }

  // Collector thread. Calls `visit(const ThreadOperations&)` for each thread.
  template <typename Visit>
  static void ForEachAlive(Visit&& visit) {
    for (const ThreadOperations* thread = head_.load(std::memory_order_acquire); thread != nullptr;
         thread = thread->next_) {
      visit(*thread);
    }
  }

  // From now on ranges push to and pop from CUPTI's stack; nullptr: no more. `correlation` lives
  // for ever. The calling thread's open ranges are pushed at once, another's at its next range.
  static void SetLaunchCorrelation(const LaunchCorrelation* correlation);

  // Ranges that were not recorded, for want of room, so far.
  static uint64_t lost() { return lost_.load(std::memory_order_relaxed); }
  // Ranges of which no stack was recorded for want of room, so far.
  static uint64_t lost_stacks() { return lost_stacks_.load(std::memory_order_relaxed); }
  // Likewise values of counters, and details of ranges.
  static uint64_t lost_counters() { return lost_counters_.load(std::memory_order_relaxed); }
  static uint64_t lost_details() { return lost_details_.load(std::memory_order_relaxed); }
  // Those that are left out before they get here.
  static void CountLostDetails() { CountIn(&lost_details_); }
  static void CountLostCounter() { CountIn(&lost_counters_); }
  static size_t memory_bytes() { return memory_.load(std::memory_order_relaxed); }

  // No range is recorded any more, on any thread.
  static void Close();
  // After Close, for a collector that comes later: ranges are recorded again, by threads that begin
  // anew. What was open before is forgotten, since its end was not seen; so are the counts of what
  // was lost. Not while another collector reads.
  static void Reopen();
  // In the child of a fork: only the calling thread is there. `keep`: go on with it; else Close.
  static void AfterForkInChild(bool keep);

 private:
  friend class ThreadOperations;

  static bool closed() { return era_.load(std::memory_order_relaxed) == 0; }
  // A process that is not collected from loses nothing.
  static void CountIn(std::atomic<uint64_t>* lost) {
    if (!closed()) lost->fetch_add(1, std::memory_order_relaxed);
  }
  static ThreadOperations* Create();
  static ThreadOperations* Renew(ThreadOperations* old);
  static bool IsCurrent(const ThreadOperations* thread) {
    return thread->era_ == era_.load(std::memory_order_relaxed);
  }
  static void GiveUp(ThreadOperations* thread);
  static bool Reserve(size_t bytes);
  static void Destroy(ThreadOperations* thread);
  static bool Unlink(ThreadOperations* previous, ThreadOperations* thread);
  static void ThreadEnds(void* thread);

  static std::atomic<ThreadOperations*> head_;
  static std::atomic<const LaunchCorrelation*> correlation_;
  static std::atomic<uint32_t> epoch_;
  static std::atomic<uint64_t> lost_;
  static std::atomic<uint64_t> lost_stacks_;
  static std::atomic<uint64_t> lost_counters_;
  static std::atomic<uint64_t> lost_details_;
  static std::atomic<uint64_t> next_serial_;
  static std::atomic<size_t> memory_;
  // Changes with each Reopen; 0 while closed.
  static std::atomic<uint32_t> era_;
  static uint32_t last_era_;
  static size_t memory_limit_;
  static void (*wake_)();
  static size_t stack_frames_;
};

// Ends of asynchronous ranges whose thread's buffer had no room. Rare, so behind a lock.
struct EndedRange {
  uint64_t id;
  int64_t time_ns;
};
// Collector thread: takes up to `capacity` of them.
size_t TakeOverflowedEnds(EndedRange* ends, size_t capacity);

// CLOCK_MONOTONIC in ns.
int64_t HostTimeNs();

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_THREAD_OPERATIONS_H_

// Threads that were in a range when capturing began. CUPTI's stack is a thread's own, so only the
// thread can tell CUPTI, and does at its next range. What it launches before that belongs to the
// range that was innermost when capturing began: since it made no range, nothing can have changed.
#ifndef COLLECTOR_OPERATION_UNCORRELATED_THREADS_H_
#define COLLECTOR_OPERATION_UNCORRELATED_THREADS_H_

#include <cstdint>
#include <vector>

namespace tp::collect {

class OperationReader;
class ThreadOperations;

// All times are of CUPTI's clock. Not thread-safe: the collector thread's own, but for Begin, which
// may come before that thread does.
class UncorrelatedThreads {
 public:
  // Capturing has begun at `now_ns`: nothing is said of calls before it, but for those of the time
  // before that is still remembered.
  void Begin(int64_t now_ns) {
    End(now_ns);
    begun_ = true;
    begin_ns_ = now_ns;
  }
  // It has ended at `now_ns`, after an Update: calls that are read later may still be of before.
  void End(int64_t now_ns);
  // All calls that were made while capturing have been read.
  void Forget() { threads_.clear(); }

  // Whether Update has anything to find out: not, once all threads have told CUPTI and their calls
  // have been read.
  bool wanted() const { return begun_ || !threads_.empty(); }
  // A thread has ended, and its state goes; `innermost` is its innermost open range.
  void Ended(const ThreadOperations& thread, uint64_t innermost);

  // To be called between a Read of the operations and the reading of calls.
  void Update(const OperationReader& operations, int64_t now_ns);

  bool empty() const { return threads_.empty(); }
  // The operation that a call at this time belongs to; 0: none, or CUPTI was told.
  uint64_t OperationOf(uint32_t thread_id, int64_t start_ns) const;

 private:
  struct Thread {
    uint64_t serial;
    uint32_t thread_id;
    uint64_t operation;
    int64_t since_ns;  // When capturing began.
    int64_t until_ns;  // INT64_MAX: still.
  };

  void Note(const ThreadOperations& thread, uint64_t innermost);

  bool begun_ = false;
  int64_t begin_ns_ = 0;
  std::vector<Thread> threads_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_UNCORRELATED_THREADS_H_

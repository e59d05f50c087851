// The collector thread's end of the range events: pairs begins with ends, reads the names, and
// hands whole operations on.
#ifndef COLLECTOR_OPERATION_OPERATION_READER_H_
#define COLLECTOR_OPERATION_OPERATION_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/events.h"
#include "collector/link/batch_encoder.h"
#include "collector/link/string_table.h"
#include "collector/operation/thread_operations.h"
#include "collector/operation/uncorrelated_threads.h"

namespace tp::collect {

// Not thread-safe: the collector thread's own.
class OperationReader {
 public:
  // All outlive the reader. `uncorrelated` is told of threads that have ended. `limit_bytes` bounds
  // the ranges that can be open at one time; what is beyond is left out, and counted.
  OperationReader(StringTable* strings, BatchEncoder* encoder, UncorrelatedThreads* uncorrelated,
                  size_t limit_bytes)
      : strings_(strings),
        encoder_(encoder),
        uncorrelated_(uncorrelated),
        most_open_(limit_bytes / kOpenBytes) {}

  // Takes what all threads have recorded so far. `batch_full` is called now and then, so that the
  // batch can be sent off when it has grown enough.
  void Read(void (*batch_full)(void*), void* user);

  // The innermost range that is open on the thread with this serial number, as far as it was read;
  // 0: none.
  uint64_t Innermost(uint64_t serial) const;

  // Sends the begins of the ranges that are open and have not been sent.
  void SendOpen();
  // Sends again the begins of those that were sent: a daemon may not have them.
  void SendOpenAgain();

  // The process ends: all that is open ends at `now_ns`.
  void CloseAll(int64_t now_ns);

  size_t memory_bytes() const;
  // Ranges that were left out so far.
  uint64_t lost() const { return lost_; }

 private:
  struct Open {
    Operation operation;
    bool sent;  // As AddOpened.
  };
  // What an open range takes: in a stack that may be half empty, or in a node of a table.
  static constexpr size_t kOpenBytes = 2 * sizeof(Open);

  struct Thread {
    std::vector<Open> stack;
  };
  struct UnmatchedEnd {
    EndedRange end;
    int rounds;
  };

  void Handle(const OperationEvent& event, std::string_view text, ThreadOperations& thread,
              std::vector<Open>* stack);
  Operation Begin(const OperationEvent& event, std::string_view text, uint32_t thread_id);
  void EndPushed(std::vector<Open>* stack, uint64_t id, int64_t end_ns);
  bool EndAsynchronous(const EndedRange& end);
  void Close(Open& open, int64_t end_ns);

  StringTable* strings_;
  BatchEncoder* encoder_;
  UncorrelatedThreads* uncorrelated_;
  const size_t most_open_;
  size_t open_ = 0;
  uint64_t lost_ = 0;
  std::unordered_map<uint64_t, Thread> threads_;  // By serial.
  std::unordered_map<uint64_t, Open> asynchronous_;
  std::vector<UnmatchedEnd> unmatched_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_OPERATION_READER_H_

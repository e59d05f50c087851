// The collector thread's end of the range events: pairs begins with ends, reads the names, and
// hands whole operations on.
//
// Ranges count as far as they lie in captured time, from BeginCapture to EndCapture: one that was
// open when capturing began counts from then on, one that is open when it ends counts until then.
// In between ranges are followed, and nothing is handed on.
#ifndef COLLECTOR_OPERATION_OPERATION_READER_H_
#define COLLECTOR_OPERATION_OPERATION_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/events.h"
#include "collector/link/batch_encoder.h"
#include "collector/link/string_table.h"
#include "collector/operation/nvtx_registry.h"
#include "collector/operation/reopened_ranges.h"
#include "collector/operation/stack_names.h"
#include "collector/operation/thread_operations.h"
#include "collector/operation/uncorrelated_threads.h"

namespace tp::collect {

// Not thread-safe: the collector thread's own.
class OperationReader {
 public:
  // All outlive the reader. `uncorrelated` is told of threads that have ended, `reopened` of ranges
  // that capturing has found open again. `limit_bytes` bounds the ranges that can be open at one
  // time, `stack_limit_bytes` what their stacks take; what is beyond is left out, and counted.
  OperationReader(StringTable* strings, BatchEncoder* encoder, UncorrelatedThreads* uncorrelated,
                  ReopenedRanges* reopened, size_t limit_bytes, size_t stack_limit_bytes = 0)
      : strings_(strings),
        encoder_(encoder),
        uncorrelated_(uncorrelated),
        reopened_(reopened),
        stack_names_(strings, stack_limit_bytes),
        most_open_(limit_bytes / kOpenBytes) {}

  // Captured time begins at `start_ns`: not before what has been read, nor after what is still to
  // be read that shall count.
  void BeginCapture(int64_t start_ns);
  // It has ended at `end_ns`. Reads all that happened until then.
  void EndCapture(int64_t end_ns, void (*batch_full)(void*), void* user);

  // Takes what all threads have recorded so far. `batch_full` is called now and then, so that the
  // batch can be sent off when it has grown enough.
  void Read(void (*batch_full)(void*), void* user);

  // The innermost range that is open on the thread with this serial number, as far as it was read,
  // by the thread's id for it; 0: none.
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
  // Ranges whose stack was left out because there were too many different ones, so far.
  uint64_t stacks_left_out() const { return stack_names_.left_out(); }
  // Values of payloads that could not be read or kept, so far.
  uint64_t lost_values() const { return lost_values_; }
  // Ranges of which only a part lay in captured time, so far.
  uint64_t cut() const { return cut_; }

 private:
  enum class Told : uint8_t {
    kNothing,
    kBegin,  // As AddOpened.
    kAll,    // Its part of the captured time that is over.
  };
  struct Open {
    uint64_t id;  // As its thread knows it.
    Operation operation;
    Told told;
    bool has_values;  // In values_.
  };
  // What an open range takes: in a stack that may be half empty, or in a node of a table.
  static constexpr size_t kOpenBytes = 2 * sizeof(Open);

  struct Thread {
    std::vector<Open> stack;
    // What has come for a range whose begin comes next.
    uint64_t stack_of = 0;
    StringId stack_name = 0;
  };
  struct UnmatchedEnd {
    EndedRange end;
    int rounds;
  };

  void Handle(const OperationEvent& event, std::string_view text, std::string_view details,
              ThreadOperations& operations, Thread* thread);
  Operation Begin(const OperationEvent& event, std::string_view text, uint32_t thread_id);
  void AddAttributes(std::string_view details, Operation* operation);
  void AddNvtxDetails(const Domain* domain, std::string_view details, Open* open);
  void AddValue(Open* open, std::string_view name, ValueType type, uint64_t bits);
  void SendValues(const Open& open);
  void AddLateDetails(const OperationEvent& event, std::string_view details,
                      std::vector<Open>* stack);
  void CountCounter(const OperationEvent& event, std::string_view name, uint32_t thread_id);
  void EndPushed(std::vector<Open>* stack, uint64_t id, int64_t end_ns);
  bool EndAsynchronous(const EndedRange& end);
  void Close(Open& open, int64_t end_ns);
  template <typename Visit>
  void ForEachOpen(Visit&& visit);
  void Reopen(Open& open);
  void Tell(Open& open, int64_t end_ns);
  bool capturing() const { return captured_until_ns_ == INT64_MAX; }

  StringTable* strings_;
  BatchEncoder* encoder_;
  UncorrelatedThreads* uncorrelated_;
  ReopenedRanges* reopened_;
  StackNames stack_names_;
  // The captured time that goes on, or the last one. None yet: it lasts for no time.
  int64_t captured_from_ns_ = INT64_MIN;
  int64_t captured_until_ns_ = INT64_MIN;
  uint64_t cut_ = 0;
  const size_t most_open_;
  size_t open_ = 0;
  uint64_t lost_ = 0;
  // Of ranges that are open, by their own ids.
  std::unordered_map<uint64_t, std::vector<OperationValue>> values_;
  size_t values_kept_ = 0;
  uint64_t lost_values_ = 0;
  std::vector<PayloadValue> payload_;             // That is being read.
  std::string text_;                              // That is being made.
  std::unordered_map<uint64_t, Thread> threads_;  // By serial.
  std::unordered_map<uint64_t, Open> asynchronous_;
  std::vector<UnmatchedEnd> unmatched_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_OPERATION_READER_H_

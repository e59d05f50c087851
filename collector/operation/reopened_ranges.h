// Ranges that are open when capturing begins again, and of which a part was told already: each of
// its parts is an operation of its own to the daemon. The thread that made the range goes on with
// the id that it gave it, on CUPTI's stack too; this says which operation that is now.
#ifndef COLLECTOR_OPERATION_REOPENED_RANGES_H_
#define COLLECTOR_OPERATION_REOPENED_RANGES_H_

#include <cstdint>
#include <unordered_map>

namespace tp::collect {

// Not thread-safe: the collector thread's own.
class ReopenedRanges {
 public:
  // Capturing begins: the ranges of the time before have their own ids again.
  void Clear() { operations_.clear(); }

  // The range with this id begins once more. Returns the id of the operation that it is from now
  // on.
  uint64_t Add(uint64_t range) { return operations_[range] = ++last_; }

  // The operation that a range is, by the id that its thread knows.
  uint64_t OperationOf(uint64_t range) const {
    if (operations_.empty()) return range;
    const auto found = operations_.find(range);
    return found == operations_.end() ? range : found->second;
  }

 private:
  std::unordered_map<uint64_t, uint64_t> operations_;
  uint64_t last_ = 0;  // Ids of threads are larger: their upper bits are a serial number.
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_REOPENED_RANGES_H_

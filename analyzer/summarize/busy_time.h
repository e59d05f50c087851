// How long something was busy: the union of intervals that come roughly in order. Times in ns.
//
// Keeps at most `limit` disjoint intervals; beyond that the oldest are settled into a sum, and what
// comes later but lies before them is not counted. So the result is exact unless records are later
// than `limit` idle gaps, and never too large.
#ifndef ANALYZER_SUMMARIZE_BUSY_TIME_H_
#define ANALYZER_SUMMARIZE_BUSY_TIME_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/btree_map.h"

namespace tp {

class BusyTime {
 public:
  BusyTime() = default;
  explicit BusyTime(size_t limit) : limit_(limit) {}

  void Add(int64_t start_ns, int64_t end_ns);
  // Exact for the intervals that both still keep; settled time is added up, but never beyond the
  // whole time seen.
  void Add(const BusyTime& other);

  int64_t total_ns() const;
  bool empty() const { return last_ns_ == INT64_MIN; }
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }
  size_t memory_bytes() const { return intervals_.size() * 20; }

 private:
  size_t limit_ = SIZE_MAX;
  absl::btree_map<int64_t, int64_t> intervals_;  // End by start; disjoint and not touching.
  int64_t kept_ns_ = 0;
  int64_t settled_ns_ = 0;
  int64_t settled_until_ns_ = INT64_MIN;
  int64_t first_ns_ = INT64_MAX;
  int64_t last_ns_ = INT64_MIN;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_BUSY_TIME_H_

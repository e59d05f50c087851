// When device work can run: the parts of a device that are shared between streams. All times are on
// the simulated clock.
//
// Not thread safe: the owner holds a lock.
#ifndef TESTS_SIMCUDA_CORE_TIMELINE_H_
#define TESTS_SIMCUDA_CORE_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace simcuda {

// An engine that does one thing at a time, e.g. the copy engine of one direction. Work that is
// ready early may use a gap before work that was asked for earlier but is ready later.
class SerialEngine {
 public:
  // Reserves `duration_ns` at or after `earliest_ns` and returns the start. `now_ns`: what ended
  // before it is forgotten.
  uint64_t Reserve(uint64_t now_ns, uint64_t earliest_ns, uint64_t duration_ns);

  size_t busy_intervals() const { return busy_.size(); }

 private:
  struct Interval {
    uint64_t start_ns, end_ns;
  };
  std::deque<Interval> busy_;  // Sorted, disjoint; neighbours that touch are merged.
};

// Slots for kernels that run at the same time.
class ConcurrencyLimit {
 public:
  explicit ConcurrencyLimit(size_t limit) : limit_(limit) {}

  // Takes a slot for `duration_ns` at or after `earliest_ns` and returns the start.
  uint64_t Reserve(uint64_t earliest_ns, uint64_t duration_ns);

 private:
  size_t limit_;
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<uint64_t>> ends_;
};

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_TIMELINE_H_

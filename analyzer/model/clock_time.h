// CUPTI's clock in terms of the host's: device work and API calls are stamped by the one,
// operations by the other, and a summary needs one clock for all.
//
//   ClockTime clock;
//   clock.Add({.host_ns = ..., .cupti_ns = ..., .bracket_ns = ...});  // whenever the collector has
//   compared them int64_t start_ns = clock.HostFromCupti(record_start_ns);
//
// Nanoseconds. Any value may come in: results stop at the ends of int64_t instead of overflowing.
// Not thread-safe.
#ifndef ANALYZER_MODEL_CLOCK_TIME_H_
#define ANALYZER_MODEL_CLOCK_TIME_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tp {

inline int64_t AddWithinRange(int64_t left, int64_t right) {
  int64_t sum;
  if (!__builtin_add_overflow(left, right, &sum)) return sum;
  return right < 0 ? INT64_MIN : INT64_MAX;
}

inline int64_t SubtractWithinRange(int64_t left, int64_t right) {
  int64_t difference;
  if (!__builtin_sub_overflow(left, right, &difference)) return difference;
  return right < 0 ? INT64_MAX : INT64_MIN;
}

// The same moment by both clocks. The bracket is the uncertainty of host_ns.
struct ClockReading {
  int64_t host_ns = 0;
  int64_t cupti_ns = 0;
  uint32_t bracket_ns = 0;
};

class ClockTime {
 public:
  // A reading without a time on either side is no reading, and ignored.
  void Add(const ClockReading& reading) {
    if (reading.host_ns <= 0 || reading.cupti_ns <= 0) return;
    recent_[count_ % recent_.size()] = reading;
    ++count_;
    // Every reading is off by up to its bracket. Following each one would move the device's records
    // to and fro against the host's, so the best of the recent readings that tell the same offset
    // is used, and given up only for one that contradicts it: the clocks drifted apart, or one of
    // them was set.
    const int64_t newest_offset = Offset(reading);
    ClockReading best = reading;
    for (size_t age = 1; age < recent_.size() && age < count_; ++age) {
      const ClockReading& earlier = recent_[(count_ - 1 - age) % recent_.size()];
      const int64_t apart = SubtractWithinRange(Offset(earlier), newest_offset);
      const int64_t allowed =
          kDriftAllowedNs + (int64_t{earlier.bracket_ns} + int64_t{reading.bracket_ns}) / 2;
      if (apart > allowed || apart < -allowed) break;
      if (earlier.bracket_ns < best.bracket_ns) best = earlier;
    }
    offset_ns_ = Offset(best);
  }

  // Those that still have a say, oldest first: a clock that is given them goes on as this one.
  std::vector<ClockReading> recent() const {
    std::vector<ClockReading> readings;
    for (size_t i = count_ - std::min(count_, recent_.size()); i < count_; ++i) {
      readings.push_back(recent_[i % recent_.size()]);
    }
    return readings;
  }

  // False until the first reading: CUPTI's times are then passed through as they are.
  bool known() const { return count_ > 0; }

  int64_t HostFromCupti(int64_t cupti_ns) const { return AddWithinRange(cupti_ns, offset_ns_); }

 private:
  static constexpr int64_t kDriftAllowedNs = 1000;

  static int64_t Offset(const ClockReading& reading) {
    return SubtractWithinRange(reading.host_ns, reading.cupti_ns);
  }

  std::array<ClockReading, 16> recent_{};
  size_t count_ = 0;
  int64_t offset_ns_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_MODEL_CLOCK_TIME_H_

// A counter of the program's: its latest value and its range. Values that are no number are counted
// apart, and values of times that come out of order count at their own.
#ifndef ANALYZER_SUMMARIZE_COUNTER_SUMS_H_
#define ANALYZER_SUMMARIZE_COUNTER_SUMS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "analyzer/model/recording.h"

namespace tp {

struct CounterSums {
  int64_t count = 0;  // Of finite values: all the others are of these.
  int64_t not_finite = 0;
  int64_t last_ns = INT64_MIN;
  double last = 0;
  double sum = 0;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();

  void Add(const CounterValue& counter) {
    if (!std::isfinite(counter.value)) {
      ++not_finite;
      return;
    }
    ++count;
    sum += counter.value;
    min = std::min(min, counter.value);
    max = std::max(max, counter.value);
    if (counter.time_ns < last_ns) return;
    last_ns = counter.time_ns;
    last = counter.value;
  }
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_COUNTER_SUMS_H_

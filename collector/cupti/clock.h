// Relates CUPTI's clock to the host's (CLOCK_MONOTONIC): they are never assumed to be one.
#ifndef COLLECTOR_CUPTI_CLOCK_H_
#define COLLECTOR_CUPTI_CLOCK_H_

#include <cstdint>

namespace tp::collect {

// The same moment by each clock, in ns; see wire.proto's ClockPair.
struct ClockReading {
  int64_t host_ns = 0;
  int64_t cupti_ns = 0;
  int64_t realtime_ns = 0;
  uint32_t bracket_ns = UINT32_MAX;  // The uncertainty. UINT32_MAX: there is no reading.
};

// Reads CUPTI's clock `tries` times between two readings of the host's; the narrowest bracket wins.
// `read_cupti` returns false when CUPTI cannot tell the time.
ClockReading CompareClocks(bool (*read_cupti)(uint64_t* ns), int tries);

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_CLOCK_H_

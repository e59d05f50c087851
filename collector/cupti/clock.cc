#include "collector/cupti/clock.h"

#include <time.h>

#include <algorithm>

namespace tp::collect {
namespace {

int64_t Read(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

ClockReading CompareClocks(bool (*read_cupti)(uint64_t* ns), int tries) {
  ClockReading best;
  for (int i = 0; i < tries; ++i) {
    uint64_t cupti_ns = 0;
    int64_t before = Read(CLOCK_MONOTONIC);
    if (!read_cupti(&cupti_ns)) return best;
    int64_t after = Read(CLOCK_MONOTONIC);
    auto bracket = static_cast<uint32_t>(std::min<int64_t>(after - before, UINT32_MAX - 1));
    if (bracket < best.bracket_ns) {
      best.host_ns = before + (after - before) / 2;
      best.cupti_ns = static_cast<int64_t>(cupti_ns);
      best.bracket_ns = bracket;
    }
  }
  // The date is for people alone: it need not be as near.
  best.realtime_ns = best.host_ns + (Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC));
  return best;
}

}  // namespace tp::collect

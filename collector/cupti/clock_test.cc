#include "collector/cupti/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace tp::collect {
namespace {

int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

constexpr int64_t kOffset = 1'700'000'000'000'000'000;

int g_calls = 0;

// A clock that is far from the host's, and slow to answer but for each fifth time.
bool ReadFarClock(uint64_t* ns) {
  *ns = MonotonicNs() + kOffset;
  if (++g_calls % 5 != 0) {
    int64_t until = MonotonicNs() + 300'000;
    while (MonotonicNs() < until) {
    }
  }
  return true;
}

TEST(Clock, TheNarrowestBracketWins) {
  g_calls = 0;
  ClockReading reading = CompareClocks(&ReadFarClock, 20);
  EXPECT_EQ(g_calls, 20);
  EXPECT_LT(reading.bracket_ns, 300'000u) << "a slow reading was taken";
  EXPECT_NEAR(static_cast<double>(reading.cupti_ns - reading.host_ns - kOffset), 0,
              reading.bracket_ns);
  EXPECT_GT(reading.realtime_ns, reading.host_ns);
}

TEST(Clock, AClockThatCannotBeReadGivesNoReading) {
  ClockReading reading = CompareClocks([](uint64_t*) { return false; }, 5);
  EXPECT_EQ(reading.bracket_ns, UINT32_MAX);
}

}  // namespace
}  // namespace tp::collect

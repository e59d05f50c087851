#include "analyzer/model/clock_time.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(ClockTime, WithoutAReadingTimesPassThrough) {
  ClockTime clock;
  EXPECT_FALSE(clock.known());
  EXPECT_EQ(clock.HostFromCupti(1234), 1234);
  clock.Add({.host_ns = 0, .cupti_ns = 500, .bracket_ns = 10});
  clock.Add({.host_ns = 500, .cupti_ns = 0, .bracket_ns = 10});
  EXPECT_FALSE(clock.known());
}

TEST(ClockTime, OneReadingGivesTheOffset) {
  ClockTime clock;
  clock.Add({.host_ns = 1'000, .cupti_ns = 1'700'000'000'000'000'000, .bracket_ns = 40});
  EXPECT_EQ(clock.HostFromCupti(1'700'000'000'000'000'500), 1'500);
}

TEST(ClockTime, NarrowestBracketOfReadingsThatAgreeWins) {
  ClockTime clock;
  clock.Add({.host_ns = 1'000, .cupti_ns = 11'000, .bracket_ns = 20});
  clock.Add({.host_ns = 2'300, .cupti_ns = 12'000, .bracket_ns = 900});
  EXPECT_EQ(clock.HostFromCupti(20'000), 10'000);
  clock.Add({.host_ns = 3'005, .cupti_ns = 13'000, .bracket_ns = 5});
  EXPECT_EQ(clock.HostFromCupti(20'000), 10'005);
}

TEST(ClockTime, AStepOfAClockIsFollowedAtOnce) {
  ClockTime clock;
  clock.Add({.host_ns = 1'000, .cupti_ns = 11'000, .bracket_ns = 20});
  clock.Add({.host_ns = 2'000, .cupti_ns = 5'012'000, .bracket_ns = 300});
  EXPECT_EQ(clock.HostFromCupti(5'012'000), 2'000);
  // The narrow bracket from before the step does not come back.
  clock.Add({.host_ns = 3'000, .cupti_ns = 5'013'000, .bracket_ns = 250});
  EXPECT_EQ(clock.HostFromCupti(5'013'000), 3'000);
}

TEST(ClockTime, DriftIsFollowed) {
  ClockTime clock;
  for (int64_t second = 1; second <= 100; ++second) {
    clock.Add(
        {.host_ns = second * 1'000'000'000, .cupti_ns = second * 1'000'010'000, .bracket_ns = 50});
  }
  EXPECT_NEAR(static_cast<double>(clock.HostFromCupti(100 * int64_t{1'000'010'000})), 100e9, 1100);
}

TEST(ClockTime, AbsurdValuesStopAtTheEndsOfTheRange) {
  ClockTime clock;
  clock.Add({.host_ns = INT64_MAX, .cupti_ns = 1, .bracket_ns = UINT32_MAX});
  EXPECT_EQ(clock.HostFromCupti(INT64_MAX), INT64_MAX);
  EXPECT_EQ(clock.HostFromCupti(INT64_MIN), -2);
  clock.Add({.host_ns = 1, .cupti_ns = INT64_MAX, .bracket_ns = 0});
  EXPECT_EQ(clock.HostFromCupti(INT64_MIN), INT64_MIN);
  EXPECT_EQ(AddWithinRange(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(SubtractWithinRange(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(SubtractWithinRange(0, INT64_MIN), INT64_MAX);
}

TEST(ClockTime, GoesOnElsewhereFromItsRecentReadings) {
  ClockTime clock;
  for (int64_t i = 1; i <= 40; ++i) {
    clock.Add({.host_ns = 1'000 * i + i % 7,
               .cupti_ns = 1'000 * i + 9'000,
               .bracket_ns = static_cast<uint32_t>(20 + i % 5)});
  }
  ClockTime other;
  for (const ClockReading& reading : clock.recent()) other.Add(reading);
  EXPECT_EQ(clock.recent().size(), 16u);
  EXPECT_EQ(clock.recent().back().cupti_ns, 49'000);
  for (int64_t i = 41; i <= 60; ++i) {
    EXPECT_EQ(other.HostFromCupti(5'000), clock.HostFromCupti(5'000)) << i;
    for (ClockTime* each : {&clock, &other}) {
      each->Add({.host_ns = 1'000 * i, .cupti_ns = 1'000 * i + 9'000, .bracket_ns = 23});
    }
  }
}

}  // namespace
}  // namespace tp

#include "tests/simcuda/core/timeline.h"

#include <gtest/gtest.h>

namespace simcuda {
namespace {

TEST(SerialEngineTest, WorkThatIsReadyTogetherQueuesUp) {
  SerialEngine engine;
  EXPECT_EQ(engine.Reserve(0, 100, 50), 100u);
  EXPECT_EQ(engine.Reserve(0, 100, 50), 150u);
  EXPECT_EQ(engine.Reserve(0, 120, 50), 200u);
}

TEST(SerialEngineTest, EarlyWorkUsesAGapThatItFitsInto) {
  SerialEngine engine;
  engine.Reserve(0, 1000, 100);
  EXPECT_EQ(engine.Reserve(0, 100, 50), 100u);
  EXPECT_EQ(engine.Reserve(0, 100, 900), 1100u) << "the gap from 150 to 1000 is too short";
  EXPECT_EQ(engine.Reserve(0, 100, 850), 150u);
}

TEST(SerialEngineTest, NeighboursAreKeptAsOneAndThePastIsForgotten) {
  SerialEngine engine;
  for (int i = 0; i < 1000; ++i) engine.Reserve(0, 0, 10);
  EXPECT_EQ(engine.busy_intervals(), 1u);
  engine.Reserve(20000, 20000, 10);
  EXPECT_EQ(engine.busy_intervals(), 1u);
}

TEST(ConcurrencyLimitTest, WorkBeyondTheLimitWaitsForTheFirstToEnd) {
  ConcurrencyLimit limit(2);
  EXPECT_EQ(limit.Reserve(0, 100), 0u);
  EXPECT_EQ(limit.Reserve(0, 70), 0u);
  EXPECT_EQ(limit.Reserve(0, 10), 70u);
  EXPECT_EQ(limit.Reserve(0, 10), 80u);
  EXPECT_EQ(limit.Reserve(200, 10), 200u);
}

}  // namespace
}  // namespace simcuda

#include "analyzer/correlate/launch_join.h"

#include "gtest/gtest.h"

namespace tp {
namespace {

constexpr DeviceWork kKernel = {10, 1, 1};

TEST(LaunchJoin, WorkAndItsLaunchMeetInEitherOrder) {
  LaunchJoin join(100);
  EXPECT_EQ(join.AddLaunch(1, 42).work.records, 0);
  LaunchJoin::Outcome outcome = join.AddWork(1, kKernel);
  EXPECT_EQ(outcome.operation, 42u);
  EXPECT_EQ(outcome.work.duration_ns, 10);

  EXPECT_EQ(join.AddWork(2, kKernel).operation, kNoOperation);
  EXPECT_EQ(join.AddWork(2, kKernel).operation, kNoOperation);
  outcome = join.AddLaunch(2, 43);
  EXPECT_EQ(outcome.operation, 43u);
  EXPECT_EQ(outcome.work.duration_ns, 20);
  EXPECT_EQ(outcome.work.kernels, 2);
}

TEST(LaunchJoin, OneLaunchOwnsAllItsWork) {
  LaunchJoin join(100);
  join.AddLaunch(1, 42);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(join.AddWork(1, kKernel).operation, 42u);
  EXPECT_EQ(join.size(), 1u);
}

TEST(LaunchJoin, TheSameWordTwiceMovesNothing) {
  LaunchJoin join(100);
  join.AddWork(1, kKernel);
  join.AddLaunch(1, 42);
  LaunchJoin::Outcome again = join.AddLaunch(1, 42);
  EXPECT_EQ(again.operation, kNoOperation);
  EXPECT_EQ(again.work.records, 0);
}

TEST(LaunchJoin, OfTwoOperationsTheInnermostHasTheWork) {
  LaunchJoin join(100);
  join.AddLaunch(1, 42);
  join.AddWork(1, kKernel);
  EXPECT_EQ(join.AddLaunch(1, 41).operation, kNoOperation);
  LaunchJoin::Outcome outcome = join.AddLaunch(1, 43);
  EXPECT_EQ(outcome.operation, 43u);
  EXPECT_EQ(outcome.instead_of, 42u);
  EXPECT_EQ(outcome.work.duration_ns, 10);
}

TEST(LaunchJoin, TheOldestAreLetGoAndWhatComesTooLateIsCounted) {
  LaunchJoin join(100);
  for (uint64_t correlation = 1; correlation <= 1000; ++correlation) join.AddLaunch(correlation, 7);
  EXPECT_LE(join.size(), 100u);
  EXPECT_EQ(join.AddWork(1000, kKernel).operation, 7u);
  EXPECT_EQ(join.AddWork(951, kKernel).operation, 7u);  // Half of them at least are kept.
  EXPECT_EQ(join.too_late(), 0u);
  EXPECT_EQ(join.AddWork(5, kKernel).operation, kNoOperation);
  EXPECT_EQ(join.too_late(), 1u);
  EXPECT_EQ(join.AddWork(1001, kKernel).operation, kNoOperation);  // Not launched yet.
  EXPECT_EQ(join.too_late(), 1u);
}

}  // namespace
}  // namespace tp

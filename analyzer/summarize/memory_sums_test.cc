#include "analyzer/summarize/memory_sums.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tp {
namespace {

MemoryChange Event(int64_t time_ns, MemoryOperation operation, uint64_t address, uint64_t bytes,
                   uint32_t kind = 3) {
  MemoryChange event;
  event.time_ns = time_ns;
  event.operation = operation;
  event.kind = kind;
  event.address = address;
  event.bytes = bytes;
  return event;
}
constexpr auto kAllocate = MemoryOperation::kAllocation;
constexpr auto kFree = MemoryOperation::kRelease;

MemorySums::Sums DeviceMemory(const MemorySums& memory) { return memory.Now().at({.kind = 3}); }

TEST(MemorySumsTest, LiveAndPeakFollowTheTimesOfEventsNotTheirArrival) {
  std::vector<MemoryChange> events = {
      Event(10, kAllocate, 100, 1000), Event(20, kAllocate, 200, 500), Event(30, kFree, 100, 0),
      Event(40, kAllocate, 300, 200),  Event(50, kFree, 200, 500),
  };
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    MemorySums memory(1000);
    for (const MemoryChange& event : events) {
      memory.Add(event);
      memory.Now();  // Asking changes nothing.
    }
    const MemorySums::Sums sums = DeviceMemory(memory);
    EXPECT_EQ(sums.allocations, 3);
    EXPECT_EQ(sums.releases, 2);
    EXPECT_EQ(sums.unknown_releases, 0);
    EXPECT_EQ(sums.allocated_bytes, 1700u);
    EXPECT_EQ(sums.live_bytes, 200u);
    EXPECT_EQ(sums.peak_bytes, 1500u);
    std::shuffle(events.begin(), events.end(), random);
  }
}

TEST(MemorySumsTest, MoreEventsThanArePutInOrderGiveTheSame) {
  MemorySums memory(1 << 20);
  int64_t time_ns = 0;
  for (uint64_t i = 0; i < 3 * MemorySums::kReordered; ++i) {
    memory.Add(Event(++time_ns, kAllocate, 1000 + i, 10));
    if (i % 2 == 0) memory.Add(Event(++time_ns, kFree, 1000 + i, 10));
  }
  const MemorySums::Sums sums = DeviceMemory(memory);
  EXPECT_EQ(sums.allocations, static_cast<int64_t>(3 * MemorySums::kReordered));
  EXPECT_EQ(sums.live_bytes, 10 * 3 * MemorySums::kReordered / 2);
  EXPECT_EQ(sums.peak_bytes, sums.live_bytes);
}

TEST(MemorySumsTest, FreedWithoutHavingBeenSeenIsNeverLessThanNothing) {
  MemorySums memory(1000);
  memory.Add(Event(10, kFree, 100, 4096));
  memory.Add(Event(20, kAllocate, 100, 10));
  const MemorySums::Sums sums = DeviceMemory(memory);
  EXPECT_EQ(sums.unknown_releases, 1);
  EXPECT_EQ(sums.live_bytes, 10u);
}

TEST(MemorySumsTest, AnAddressThatIsAllocatedAgainWasFreed) {
  MemorySums memory(1000);
  memory.Add(Event(10, kAllocate, 100, 4096));
  memory.Add(Event(20, kAllocate, 100, 10));
  EXPECT_EQ(DeviceMemory(memory).live_bytes, 10u);
}

TEST(MemorySumsTest, ARangeBelongsToTheKindThatItWasAllocatedAs) {
  MemorySums memory(1000);
  memory.Add(Event(10, kAllocate, 100, 64, /*kind=*/2));
  memory.Add(Event(20, kFree, 100, 64, /*kind=*/0));
  const MemorySums::Groups groups = memory.Now();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups.begin()->first.kind, 2u);
  EXPECT_EQ(groups.begin()->second.live_bytes, 0u);
}

TEST(MemorySumsTest, WhatIsHeldIsBounded) {
  MemorySums memory(10);
  for (uint64_t i = 0; i < 100'000; ++i) memory.Add(Event(1 + i, kAllocate, i, 1));
  EXPECT_LT(memory.memory_bytes(), 1'000'000u);
  EXPECT_EQ(DeviceMemory(memory).allocations, 100'000);
}

}  // namespace
}  // namespace tp

#include "tests/simcuda/core/memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace simcuda {
namespace {

Allocation Wanted(size_t bytes, MemoryKind kind = MemoryKind::kDevice) {
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.kind = kind;
  return allocation;
}

TEST(MemoryTest, AnAddressInsideTellsItsAllocation) {
  Memory& memory = Memory::Instance();
  uint64_t address = memory.Allocate(Wanted(10000));
  ASSERT_NE(address, 0u);
  Allocation found;
  ASSERT_TRUE(memory.Find(address + 9999, &found));
  EXPECT_EQ(found.address, address);
  EXPECT_EQ(found.bytes, 10000u);
  EXPECT_EQ(memory.KindOf(address + 5), MemoryKind::kDevice);
  int local = 0;
  EXPECT_EQ(memory.KindOf(reinterpret_cast<uint64_t>(&local)), MemoryKind::kPageable);
  EXPECT_TRUE(memory.Free(address, MemoryKind::kDevice, &found));
  EXPECT_TRUE(memory.IsDangling(address, 1));
  EXPECT_FALSE(memory.Free(address, MemoryKind::kDevice, &found));
}

TEST(MemoryTest, FreeBytesComeBackAndNeighboursMerge) {
  Memory& memory = Memory::Instance();
  uint64_t before = memory.FreeBytes(0);
  uint64_t blocks[64];
  for (uint64_t& block : blocks) block = memory.Allocate(Wanted(size_t{1} << 20));
  EXPECT_EQ(memory.FreeBytes(0), before - (uint64_t{64} << 20));
  Allocation freed;
  for (int i = 0; i < 64; i += 2) memory.Free(blocks[i], MemoryKind::kDevice, &freed);
  for (int i = 1; i < 64; i += 2) memory.Free(blocks[i], MemoryKind::kDevice, &freed);
  EXPECT_EQ(memory.FreeBytes(0), before);
  EXPECT_EQ(memory.Allocate(Wanted(size_t{64} << 20)), blocks[0]) << "the range is whole again";
  memory.Free(blocks[0], MemoryKind::kDevice, &freed);
}

TEST(MemoryTest, ADeviceHoldsNoMoreThanItHas) {
  Memory& memory = Memory::Instance();
  EXPECT_EQ(memory.Allocate(Wanted(Memory::kDeviceBytes + 1)), 0u);
  EXPECT_EQ(memory.Allocate(Wanted(SIZE_MAX)), 0u);
}

TEST(MemoryTest, BytesInNeighboursAreLeftAloneWhenOneIsFreed) {
  Memory& memory = Memory::Instance();
  uint64_t first = memory.Allocate(Wanted(512));
  uint64_t second = memory.Allocate(Wanted(512));
  memset(reinterpret_cast<void*>(second), 7, 512);
  Allocation freed;
  memory.Free(first, MemoryKind::kDevice, &freed);
  EXPECT_EQ(*reinterpret_cast<unsigned char*>(second + 511), 7);
  memory.Free(second, MemoryKind::kDevice, &freed);
}

TEST(MemoryTest, RegisteredHostMemoryIsPinnedUntilItIsUnregistered) {
  Memory& memory = Memory::Instance();
  char buffer[4096];
  Allocation allocation = Wanted(sizeof(buffer), MemoryKind::kPinned);
  allocation.address = reinterpret_cast<uint64_t>(buffer);
  EXPECT_TRUE(memory.Register(allocation));
  EXPECT_FALSE(memory.Register(allocation));
  EXPECT_EQ(memory.KindOf(allocation.address + 100), MemoryKind::kPinned);
  Allocation freed;
  EXPECT_FALSE(memory.Free(allocation.address, MemoryKind::kPinned, &freed));
  EXPECT_TRUE(memory.Unregister(allocation.address));
  EXPECT_EQ(memory.KindOf(allocation.address), MemoryKind::kPageable);
}

}  // namespace
}  // namespace simcuda

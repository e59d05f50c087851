#include "collector/cupti/activity_buffers.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

namespace tp::collect {
namespace {

constexpr size_t kLarge = ActivityBuffers::kBufferBytes[0];

ActivityBuffers::Options Refusing(size_t limit_bytes) {
  return {.limit_bytes = limit_bytes, .may_refuse = true, .scarce = nullptr};
}

int ReadAll(ActivityBuffers& buffers) {
  int read = 0;
  buffers.ReadFilled([&](const FilledBuffer&) { ++read; });
  return read;
}

TEST(ActivityBuffers, FilledBuffersAreReadOldestFirstAndUsedAgain) {
  ActivityBuffers buffers(Refusing(16 * kLarge));
  ASSERT_TRUE(buffers.ok());
  LentBuffer first = buffers.Lend();
  EXPECT_EQ(first.bytes, kLarge);
  EXPECT_EQ(first.most_records, 0u);
  LentBuffer second = buffers.Lend();
  buffers.TakeBack(first.memory, 10);
  buffers.TakeBack(second.memory, 20);
  std::vector<size_t> valid;
  buffers.ReadFilled([&](const FilledBuffer& buffer) { valid.push_back(buffer.valid_bytes); });
  EXPECT_EQ(valid, (std::vector<size_t>{10, 20}));
  EXPECT_EQ(buffers.Lend().memory, second.memory);
  EXPECT_EQ(buffers.Lend().memory, first.memory);
}

TEST(ActivityBuffers, TheFullerThePoolTheSmallerTheBufferAndNeverBeyondTheBound) {
  constexpr size_t kLimit = 16 << 20;
  ActivityBuffers buffers(Refusing(kLimit));
  std::map<size_t, int> sizes;
  std::vector<uint8_t*> lent;
  for (int i = 0; i < 2000; ++i) {
    LentBuffer buffer = buffers.Lend();
    buffers.KeepReady();
    ++sizes[buffer.bytes];
    if (buffer.memory == nullptr) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.memory) % 8, 0u);
    memset(buffer.memory, 0xff, buffer.bytes);
    lent.push_back(buffer.memory);
  }
  EXPECT_EQ(sizes[128 << 10], 64);
  EXPECT_EQ(sizes[32 << 10], 128);
  EXPECT_EQ(sizes[8 << 10], 512);
  EXPECT_EQ(sizes[0], 2000 - 704);
  EXPECT_EQ(buffers.memory_bytes(), kLimit);
  for (uint8_t* memory : lent) buffers.TakeBack(memory, 1);
  EXPECT_EQ(ReadAll(buffers), 704);
  EXPECT_EQ(buffers.Lend().bytes, kLarge) << "the large ones are used first";
}

TEST(ActivityBuffers, WhereNoneWouldBeACrashOneSwallowsASingleRecordThatIsCounted) {
  ActivityBuffers buffers({.limit_bytes = 0, .may_refuse = false, .scarce = nullptr});
  ASSERT_TRUE(buffers.ok());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(buffers.Lend().most_records, 0u);
  for (uint64_t i = 0; i < 100; ++i) {
    LentBuffer buffer = buffers.Lend();
    ASSERT_NE(buffer.memory, nullptr);
    EXPECT_EQ(buffer.most_records, 1u);
    memset(buffer.memory, 0xff, buffer.bytes);
    buffers.TakeBack(buffer.memory, i % 2 == 0 ? 160 : 0);
  }
  EXPECT_EQ(buffers.swallowed(), 50u) << "of the empty ones no record is lost";
  EXPECT_EQ(ReadAll(buffers), 0);
}

std::atomic<int> g_scarce{0};

TEST(ActivityBuffers, SaysOnceThatThePoolBecomesScarce) {
  g_scarce = 0;
  ActivityBuffers buffers(
      {.limit_bytes = 4 << 20, .may_refuse = true, .scarce = [] { ++g_scarce; }});
  std::vector<uint8_t*> lent;
  while (!buffers.scarce()) lent.push_back(buffers.Lend().memory);
  EXPECT_EQ(g_scarce, 1);
  for (int i = 0; i < 10; ++i) lent.push_back(buffers.Lend().memory);
  EXPECT_EQ(g_scarce, 1);
  for (uint8_t* memory : lent) buffers.TakeBack(memory, 1);
  EXPECT_TRUE(buffers.scarce()) << "until they have been read";
  ReadAll(buffers);
  EXPECT_FALSE(buffers.scarce());
}

TEST(ActivityBuffers, WhatIsNotLentIsLeftAlone) {
  ActivityBuffers buffers(Refusing(16 * kLarge));
  LentBuffer lent = buffers.Lend();
  uint8_t anothers[64];
  buffers.TakeBack(anothers, sizeof(anothers));
  buffers.TakeBack(nullptr, 0);
  buffers.TakeBack(lent.memory, 8);
  buffers.TakeBack(lent.memory, 8);
  EXPECT_EQ(ReadAll(buffers), 1);
}

TEST(ActivityBuffers, WhatIsGivenUpMayBeFreedByItsHolderAndCountsForEver) {
  ActivityBuffers buffers(Refusing(8 * kLarge));
  LentBuffer lent = buffers.Lend(), filled = buffers.Lend();
  buffers.TakeBack(filled.memory, 8);
  size_t before = buffers.memory_bytes();
  buffers.GiveUpLent();
  buffers.TakeBack(lent.memory, 8);
  free(lent.memory);
  EXPECT_EQ(ReadAll(buffers), 1) << "what had come back before is still ours";
  EXPECT_EQ(buffers.memory_bytes(), before);
  // The same address may be a later buffer's.
  for (int i = 0; i < 50; ++i) buffers.TakeBack(buffers.Lend().memory, 1);
  EXPECT_GT(ReadAll(buffers), 1);
}

TEST(ActivityBuffers, ManyThreadsNeverHoldTheSameBuffer) {
  ActivityBuffers buffers(Refusing(16 * kLarge));
  std::atomic<bool> end{false};
  std::atomic<uint64_t> filled{0};
  std::vector<std::thread> threads;
  for (uint8_t t = 1; t <= 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000;) {
        LentBuffer buffer = buffers.Lend();
        if (buffer.memory == nullptr) {
          std::this_thread::yield();
          continue;
        }
        ++i;
        memset(buffer.memory, t, 64);
        for (int k = 0; k < 64; ++k) ASSERT_EQ(buffer.memory[k], t);
        buffers.TakeBack(buffer.memory, 64);
        ++filled;
      }
    });
  }
  uint64_t read = 0;
  std::thread reader([&] {
    while (!end || read < filled) {
      buffers.ReadFilled([&](const FilledBuffer& buffer) {
        ++read;
        for (int k = 1; k < 64; ++k) ASSERT_EQ(buffer.memory[k], buffer.memory[0]);
      });
      buffers.KeepReady();
    }
  });
  for (std::thread& thread : threads) thread.join();
  end = true;
  reader.join();
  EXPECT_EQ(read, 120'000u);
}

}  // namespace
}  // namespace tp::collect

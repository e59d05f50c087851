#include "collector/cupti/activity_buffers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace tp::collect {
namespace {

TEST(ActivityBuffers, FilledBuffersAreReadOldestFirstAndUsedAgain) {
  ActivityBuffers buffers(8 * ActivityBuffers::kBufferBytes);
  ASSERT_TRUE(buffers.ok());
  size_t bytes = 0;
  uint8_t* first = buffers.Take(&bytes);
  EXPECT_EQ(bytes, ActivityBuffers::kBufferBytes);
  uint8_t* second = buffers.Take(&bytes);
  buffers.Fill(first, 10);
  buffers.Fill(second, 20);
  std::vector<size_t> valid;
  buffers.ReadFilled([&](const FilledBuffer& buffer) { valid.push_back(buffer.valid_bytes); });
  EXPECT_EQ(valid, (std::vector<size_t>{10, 20}));
  EXPECT_EQ(buffers.Take(&bytes), second);
  EXPECT_EQ(buffers.Take(&bytes), first);
}

TEST(ActivityBuffers, BeyondThePoolBuffersAreSmallAndNeverNone) {
  ActivityBuffers buffers(4 * ActivityBuffers::kBufferBytes);
  std::set<uint8_t*> taken;
  for (int i = 0; i < 100; ++i) {
    size_t bytes = 0;
    uint8_t* memory = buffers.Take(&bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 8, 0u);
    EXPECT_EQ(bytes, i < 4 ? ActivityBuffers::kBufferBytes : ActivityBuffers::kSmallBufferBytes);
    memset(memory, 0xff, bytes);
    EXPECT_TRUE(taken.insert(memory).second);
    buffers.KeepReady();
  }
  EXPECT_EQ(buffers.small_buffers(), 96u);
  EXPECT_EQ(buffers.memory_bytes(),
            4 * ActivityBuffers::kBufferBytes + 96 * ActivityBuffers::kSmallBufferBytes);
  for (uint8_t* memory : taken) buffers.Fill(memory, 1);
  int read = 0;
  buffers.ReadFilled([&](const FilledBuffer&) { ++read; });
  EXPECT_EQ(read, 100);
  EXPECT_EQ(buffers.memory_bytes(), 4 * ActivityBuffers::kBufferBytes);
}

TEST(ActivityBuffers, ManyThreadsNeverHoldTheSameBuffer) {
  ActivityBuffers buffers(8 * ActivityBuffers::kBufferBytes);
  std::atomic<bool> end{false};
  std::atomic<uint64_t> filled{0};
  std::vector<std::thread> threads;
  for (uint8_t t = 1; t <= 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000; ++i) {
        size_t bytes = 0;
        uint8_t* memory = buffers.Take(&bytes);
        memset(memory, t, 64);
        for (int k = 0; k < 64; ++k) ASSERT_EQ(memory[k], t);
        buffers.Fill(memory, 64);
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

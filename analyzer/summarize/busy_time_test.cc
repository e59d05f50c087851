#include "analyzer/summarize/busy_time.h"

#include <bitset>
#include <random>

#include "gtest/gtest.h"

namespace tp {
namespace {

TEST(BusyTime, OverlapsCountOnceAndGapsNot) {
  BusyTime busy;
  EXPECT_TRUE(busy.empty());
  EXPECT_EQ(busy.total_ns(), 0);
  busy.Add(10, 20);
  busy.Add(15, 30);
  busy.Add(40, 50);
  busy.Add(12, 13);
  busy.Add(30, 40);
  busy.Add(60, 60);
  EXPECT_EQ(busy.total_ns(), 40);
  EXPECT_EQ(busy.first_ns(), 10);
  EXPECT_EQ(busy.last_ns(), 50);
}

TEST(BusyTime, EqualsTheUnionWhateverTheOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    BusyTime busy, one, other;
    std::bitset<1000> covered;
    for (int i = 0; i < 60; ++i) {
      int start = random() % 950, length = random() % 20;
      busy.Add(start, start + length);
      (i % 2 == 0 ? one : other).Add(start, start + length);
      for (int t = start; t < start + length; ++t) covered.set(t);
    }
    EXPECT_EQ(busy.total_ns(), static_cast<int64_t>(covered.count()));
    one.Add(other);
    EXPECT_EQ(one.total_ns(), static_cast<int64_t>(covered.count()));
  }
}

TEST(BusyTime, ABoundedOneIsExactInOrderAndNeverTooLarge) {
  BusyTime busy(4);
  for (int i = 0; i < 1000; ++i) busy.Add(i * 10, i * 10 + 3);
  EXPECT_EQ(busy.total_ns(), 3000);
  busy.Add(0, 5000);  // Far too late.
  EXPECT_EQ(busy.total_ns(), 3000);
  EXPECT_LE(busy.memory_bytes(), size_t{4 * 20});
}

}  // namespace
}  // namespace tp

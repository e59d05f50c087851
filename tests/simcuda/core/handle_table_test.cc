#include "tests/simcuda/core/handle_table.h"

#include <gtest/gtest.h>

namespace simcuda {
namespace {

struct Thing {
  int value;
};

TEST(HandleTableTest, OnlyLiveHandlesAreFound) {
  HandleTable<Thing, 100> table;
  Thing* thing = table.Create(Thing{5});
  ASSERT_NE(thing, nullptr);
  EXPECT_EQ(table.Get(thing), thing);
  EXPECT_EQ(table.Get(reinterpret_cast<char*>(thing) + 1), nullptr);
  EXPECT_EQ(table.Get(nullptr), nullptr);
  EXPECT_EQ(table.Get(reinterpret_cast<void*>(0x1230)), nullptr);
  table.Retire(thing);
  EXPECT_EQ(table.Get(thing), nullptr);
  EXPECT_EQ(thing->value, 5) << "a retired object stays until it is freed";
  table.Free(thing);
}

TEST(HandleTableTest, AFullTableSaysSoAndSlotsAreUsedAgain) {
  HandleTable<Thing, 2> table;
  Thing* first = table.Create(Thing{1});
  EXPECT_NE(table.Create(Thing{2}), nullptr);
  EXPECT_EQ(table.Create(Thing{3}), nullptr);
  table.Destroy(first);
  EXPECT_EQ(table.Create(Thing{4}), first);
  int sum = 0;
  table.ForEach([&](Thing& thing) { sum += thing.value; });
  EXPECT_EQ(sum, 6);
}

}  // namespace
}  // namespace simcuda

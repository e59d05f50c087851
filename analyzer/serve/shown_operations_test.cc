#include "analyzer/serve/shown_operations.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tp {
namespace {

using Row = ShownOperations::Row;
using Times = std::map<std::string, int64_t>;

Times Update(ShownOperations* shown, const Times& operations) {
  std::vector<Row> rows;
  for (const auto& [name, ns] : operations) rows.push_back({name, "o", ns});
  Times told;
  for (const Row& row : shown->Update(rows)) {
    EXPECT_TRUE(told.emplace(row.name, row.self_device_ns).second) << row.name << " twice";
  }
  return told;
}

int64_t Sum(const Times& times) {
  int64_t sum = 0;
  for (const auto& [name, ns] : times) sum += ns;
  return sum;
}

TEST(ShownOperations, AFewAreShownAsTheyAre) {
  ShownOperations shown;
  EXPECT_EQ(Update(&shown, {{"mm", 40}, {"host only", 0}}), (Times{{"mm", 40}}));
  // One that comes later too, with all that it has done.
  EXPECT_EQ(Update(&shown, {{"mm", 50}, {"add", 30}}), (Times{{"add", 30}, {"mm", 50}}));
  EXPECT_EQ(Update(&shown, {}), (Times{{"add", 30}, {"mm", 50}}));
}

TEST(ShownOperations, TheBiggestAreShownAndTheRestIsOther) {
  ShownOperations shown;
  Times operations;
  for (int i = 0; i < 100; ++i) operations["op" + std::to_string(i)] = 1000 + i;
  const Times told = Update(&shown, operations);
  EXPECT_EQ(told.size(), ShownOperations::kTop + 1);
  EXPECT_EQ(told.count("op99"), 1u);
  EXPECT_EQ(told.count("op80"), 1u);
  EXPECT_EQ(told.count("op79"), 0u);
  EXPECT_EQ(Sum(told), Sum(operations));
}

TEST(ShownOperations, OneThatComesInLaterLeavesItsPastWhereItWasTold) {
  ShownOperations shown;
  Times operations;
  for (int i = 0; i < 20; ++i) operations["big" + std::to_string(i)] = 100;
  operations["late"] = 10;
  EXPECT_EQ(Update(&shown, operations).at("(other)"), 10);
  operations["late"] = 500;
  operations["new"] = 700;  // Was never told of.
  const Times told = Update(&shown, operations);
  EXPECT_EQ(told.at("(other)"), 10);
  EXPECT_EQ(told.at("late") + told.at("new"), 1190);
  EXPECT_EQ(Sum(told), Sum(operations));
}

TEST(ShownOperations, TheGroupOfAllOthersIsNoOperation) {
  ShownOperations shown;
  const std::vector<Row> rows =
      shown.Update({{"(other)", "o", 5}, {"mm", "o", 7}, {"mm", "u", 1}, {"mm", "o", 2}});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].self_device_ns, 9);
  EXPECT_EQ(rows[1].self_device_ns, 1);
  EXPECT_EQ(rows[2].name, "(other)");
  EXPECT_EQ(rows[2].self_device_ns, 5);
}

TEST(ShownOperations, WhateverTheTopIsNothingGoesBackAndThereAreNotMany) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    ShownOperations shown;
    Times operations, before;
    for (int round = 0; round < 200; ++round) {
      for (int i = 0; i < 10; ++i) {
        operations["op" + std::to_string(random() % (1 + round))] += random() % 1000 * (1 + round);
      }
      const Times told = Update(&shown, operations);
      for (const auto& [name, ns] : before) {
        ASSERT_EQ(told.count(name), 1u) << name << " is gone";
        ASSERT_GE(told.at(name), ns) << name;
      }
      ASSERT_LE(told.size(), ShownOperations::kMost + 1);
      ASSERT_EQ(Sum(told), Sum(operations)) << "seed " << seed << " round " << round;
      before = told;
    }
  }
}

TEST(ShownOperations, WhatIsTakenBackMakesNothingGoBack) {
  ShownOperations shown;
  Update(&shown, {{"mm", 40}, {"add", 5}});
  EXPECT_EQ(Update(&shown, {{"mm", 30}, {"add", 15}}), (Times{{"add", 15}, {"mm", 40}}));
  EXPECT_EQ(Update(&shown, {{"mm", 45}, {"add", 15}}), (Times{{"add", 15}, {"mm", 45}}));
}

}  // namespace
}  // namespace tp

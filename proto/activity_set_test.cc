#include "proto/activity_set.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

ActivitySet Parsed(std::string_view text) {
  std::vector<std::string> unknown;
  ActivitySet set = ParseActivities(text, &unknown);
  EXPECT_TRUE(unknown.empty()) << text;
  return set;
}

TEST(ActivitySetTest, PlainWordsAreAllThatIsCollected) {
  EXPECT_EQ(Parsed("kernels,memory"), (ActivitySet{Activity::kKernels, Activity::kMemory}));
  EXPECT_EQ(Parsed(" kernels  memory,"), Parsed("memory,kernels"));
  EXPECT_EQ(Parsed("none"), ActivitySet());
}

TEST(ActivitySetTest, SignedWordsChangeTheDefault) {
  ActivitySet expected = DefaultActivities();
  expected.Add(Activity::kMemory);
  expected.Remove(Activity::kDriver);
  EXPECT_EQ(Parsed("+memory,-driver"), expected);
  EXPECT_EQ(Parsed("-driver +memory"), expected);
  EXPECT_EQ(Parsed("default,+memory,-driver"), expected);
}

TEST(ActivitySetTest, SignedWordsAfterPlainOnesChangeThose) {
  EXPECT_EQ(Parsed("kernels,copies,-copies,+overhead"),
            (ActivitySet{Activity::kKernels, Activity::kOverhead}));
  EXPECT_FALSE(Parsed("all,-latency").Has(Activity::kLatency));
  EXPECT_EQ(ActivityWords(Parsed("all")).size(), kActivities);
}

TEST(ActivitySetTest, NothingSaidIsTheDefault) {
  EXPECT_EQ(Parsed(""), DefaultActivities());
  EXPECT_EQ(Parsed(" , "), DefaultActivities());
}

TEST(ActivitySetTest, UnknownWordsAreNamedAndLeaveTheRestAsItIs) {
  std::vector<std::string> unknown;
  EXPECT_EQ(ParseActivities("kernels,kernles,-x,+", &unknown), ActivitySet{Activity::kKernels});
  EXPECT_EQ(unknown, (std::vector<std::string>{"kernles", "-x", "+"}));
}

TEST(ActivitySetTest, UnknownWordsAreNamedOnceAndNotWithoutEnd) {
  std::vector<std::string> unknown;
  ParseActivities("foo,bar,foo,kernels,bar", &unknown);
  EXPECT_EQ(unknown, (std::vector<std::string>{"foo", "bar"}));
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word" + std::to_string(i) + ",";
  ParseActivities(words, &unknown);
  EXPECT_EQ(unknown.size(), 16u);
}

TEST(ActivitySetTest, OnlyUnknownWordsAreTheDefaultAndNotNothing) {
  std::vector<std::string> unknown;
  EXPECT_EQ(ParseActivities("kernles", &unknown), DefaultActivities());
  EXPECT_EQ(unknown.size(), 1u);
}

TEST(ActivitySetTest, WordsReadBackAreTheSameSet) {
  for (std::string_view text : {"default", "all", "kernels,graphs,latency"}) {
    std::string words;
    for (const std::string& word : ActivityWords(Parsed(text))) words += word + ",";
    EXPECT_EQ(Parsed(words), Parsed(text));
  }
}

}  // namespace
}  // namespace tp

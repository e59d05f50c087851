#include "collector/link/string_table.h"

#include <gtest/gtest.h>

#include <string>

namespace tp::collect {
namespace {

TEST(StringTable, TheEmptyTextIsZero) {
  StringTable strings;
  EXPECT_EQ(strings.Intern(""), 0u);
  EXPECT_EQ(strings.last_id(), 0u);
}

TEST(StringTable, SameBytesHaveTheSameIdAndIdsCountFromOne) {
  StringTable strings;
  EXPECT_EQ(strings.Intern("aten::mm"), 1u);
  EXPECT_EQ(strings.Intern("aten::addmm"), 2u);
  EXPECT_EQ(strings.Intern("aten::mm"), 1u);
  EXPECT_EQ(strings.Text(2), "aten::addmm");
  EXPECT_EQ(strings.Text(3), "");
}

TEST(StringTable, TextsAreAnyBytes) {
  StringTable strings;
  std::string with_zero("a\0b", 3), without("a\0c", 3);
  StringId first = strings.Intern(with_zero);
  EXPECT_NE(strings.Intern(without), first);
  EXPECT_EQ(strings.Text(first), with_zero);
  EXPECT_EQ(strings.Intern("\xff\xfe"), strings.Intern("\xff\xfe"));
}

TEST(StringTable, ManyTextsKeepTheirIdsWhenTheTableGrows) {
  StringTable strings;
  for (int i = 0; i < 20000; ++i) {
    ASSERT_EQ(strings.Intern("name " + std::to_string(i)), static_cast<StringId>(i + 1));
  }
  for (int i = 0; i < 20000; ++i) {
    ASSERT_EQ(strings.Intern("name " + std::to_string(i)), static_cast<StringId>(i + 1));
    ASSERT_EQ(strings.Text(i + 1), "name " + std::to_string(i));
  }
}

TEST(StringTable, BeyondItsBoundNewTextsAreOtherAndCounted) {
  constexpr size_t kLimit = 300'000;
  StringTable strings(kLimit);
  StringId first = strings.Intern("first");
  StringId last = 0;
  for (int i = 0; i < 20000; ++i) last = strings.Intern("different " + std::to_string(i));
  EXPECT_EQ(strings.Text(last), "(other)");
  EXPECT_GT(strings.last_id(), 1000u);
  EXPECT_GT(strings.overflowed(), 1000u);
  EXPECT_EQ(strings.Intern("first"), first);
  // But for "(other)" itself.
  EXPECT_LE(strings.memory_bytes(), kLimit + 100);
}

TEST(StringTable, ALongTextThatDoesNotFitLeavesRoomForShortOnes) {
  StringTable strings(/*limit_bytes=*/200'000);
  StringId longest = strings.Intern(std::string(100'000, 'x'));
  EXPECT_EQ(strings.Text(longest).size(), 100'000u);
  StringId other = strings.Intern(std::string(100'000, 'y'));
  EXPECT_EQ(strings.Text(other), "(other)");
  EXPECT_EQ(strings.Text(strings.Intern("short")), "short");
  EXPECT_LE(strings.memory_bytes(), 200'000u);
}

}  // namespace
}  // namespace tp::collect

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
  StringTable strings(/*limit_bytes=*/1000);
  StringId first = strings.Intern("first");
  StringId last = 0;
  for (int i = 0; i < 10000; ++i) last = strings.Intern("different " + std::to_string(i));
  EXPECT_EQ(strings.Text(last), "(other)");
  EXPECT_GT(strings.overflowed(), 9000u);
  EXPECT_EQ(strings.Intern("first"), first);
  EXPECT_LT(strings.memory_bytes(), 10000u);
}

}  // namespace
}  // namespace tp::collect

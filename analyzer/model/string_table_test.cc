#include "analyzer/model/string_table.h"

#include <string>

#include "gtest/gtest.h"

namespace tp {
namespace {

TEST(StringTable, EachTextHasOneIdAndTheEmptyOneIsZero) {
  StringTable strings;
  EXPECT_EQ(strings.Intern(""), 0u);
  EXPECT_EQ(strings.Intern("aten::mm"), 1u);
  EXPECT_EQ(strings.Intern("aten::add"), 2u);
  EXPECT_EQ(strings.Intern("aten::mm"), 1u);
  EXPECT_EQ(strings.size(), 2u);
  EXPECT_EQ(strings.Text(1), "aten::mm");
  EXPECT_EQ(strings.Text(0), "");
  EXPECT_EQ(strings.Text(77), "");
}

TEST(StringTable, AnyBytesAreKeptAsTheyAre) {
  StringTable strings;
  std::string bytes("\0\xff\n", 3);
  EXPECT_EQ(strings.Text(strings.Intern(bytes)), bytes);
}

TEST(StringTable, ViewsStayValidWhileItGrows) {
  StringTable strings;
  std::string_view first = strings.Text(strings.Intern("first"));
  std::string_view large = strings.Text(strings.Intern(std::string(1 << 20, 'x')));
  for (int i = 0; i < 100000; ++i) strings.Intern("text " + std::to_string(i));
  EXPECT_EQ(first, "first");
  EXPECT_EQ(large.size(), size_t{1} << 20);
  EXPECT_EQ(strings.Text(strings.Intern("text 4711")), "text 4711");
  EXPECT_GT(strings.memory_bytes(), size_t{1} << 20);
}

}  // namespace
}  // namespace tp

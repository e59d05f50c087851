#include "analyzer/wire/name_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tp {
namespace {

wire::Strings Texts(uint32_t first_id, const std::vector<std::string>& texts) {
  wire::Strings strings;
  strings.set_first_id(first_id);
  for (const std::string& text : texts) strings.add_text(text);
  return strings;
}

TEST(NameTable, GivesTheTextsByTheirIds) {
  StringTable strings;
  NameTable names(&strings);
  ASSERT_TRUE(names.Add(Texts(1, {"alpha", std::string("\0\xff", 2)})).ok());
  ASSERT_TRUE(names.Add(Texts(3, {"alpha", ""})).ok());
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(names.Name(0), 0u);
  EXPECT_EQ(strings.Text(names.Name(1)), "alpha");
  EXPECT_EQ(strings.Text(names.Name(2)), std::string("\0\xff", 2));
  EXPECT_EQ(names.Name(3), names.Name(1));
  EXPECT_EQ(names.Name(4), 0u);
}

TEST(NameTable, TheSameTableMayComeAgainButNotAnother) {
  StringTable strings;
  NameTable names(&strings);
  ASSERT_TRUE(names.Add(Texts(1, {"alpha", "beta"})).ok());
  EXPECT_TRUE(names.Add(Texts(1, {"alpha", "beta", "gamma"})).ok());
  EXPECT_EQ(strings.Text(names.Name(3)), "gamma");
  EXPECT_EQ(names.Add(Texts(2, {"delta"})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(strings.Text(names.Name(2)), "beta");
}

TEST(NameTable, RefusesIdsThatLeaveSomeOut) {
  StringTable strings;
  NameTable names(&strings);
  EXPECT_FALSE(names.Add(Texts(2, {"alpha"})).ok());
  EXPECT_FALSE(names.Add(Texts(0, {"alpha"})).ok());
  EXPECT_FALSE(names.Add(Texts(UINT32_MAX, {"alpha", "beta"})).ok());
  EXPECT_EQ(names.size(), 1u);
}

TEST(NameTable, BeyondTheLimitsNamesAreOther) {
  StringTable strings;
  NameTable names(&strings, {.names = 4, .bytes = 10});
  ASSERT_TRUE(names.Add(Texts(1, {"abcdef", "too long now", "gh", "b", "c", "d"})).ok());
  EXPECT_EQ(strings.Text(names.Name(1)), "abcdef");
  EXPECT_EQ(strings.Text(names.Name(2)), "(other)");
  EXPECT_EQ(strings.Text(names.Name(3)), "gh");
  EXPECT_EQ(strings.Text(names.Name(4)), "(other)");
  EXPECT_EQ(strings.Text(names.Name(6)), "(other)");
  EXPECT_EQ(names.size(), 7u);
  EXPECT_EQ(names.left_out(), 4u);
  // Sent again, it means the same as before.
  ASSERT_TRUE(names.Add(Texts(1, {"abcdef", "too long now", "gh", "b", "c", "d"})).ok());
  EXPECT_EQ(names.left_out(), 4u);
  EXPECT_EQ(strings.Text(names.Name(3)), "gh");
}

TEST(NameTable, GivesStacksByTheNamesOfTheirFrames) {
  StringTable strings;
  NameTable names(&strings);
  names.SetFrameNamer([](std::string_view module, uint64_t address) {
    return std::string(module.substr(0, module.find('\n'))) + ":" + std::to_string(address);
  });
  ASSERT_TRUE(names
                  .Add(Texts(1, {"nvtx\nb12", "app\nb34", "1+ff\n2+1f\n2+20", "2+1f", "1+1",
                                 "/opt/libtpcollect_cublas.so\nb56", "6+5\n1+1\n2+20\n6+5"}))
                  .ok());
  EXPECT_EQ(names.Stack(0), 0u);
  EXPECT_EQ(strings.Text(names.Stack(3)), "app:31\napp:32") << "the way into NVTX is no frame";
  EXPECT_EQ(strings.Text(names.Stack(4)), "app:31");
  EXPECT_EQ(names.Stack(5), 0u) << "nothing is left";
  EXPECT_EQ(strings.Text(names.Stack(7)), "app:32\n/opt/libtpcollect_cublas.so:5");
}

TEST(NameTable, StacksThatMakeNoSenseEndWhereTheyDoNot) {
  StringTable strings;
  NameTable names(&strings);
  ASSERT_TRUE(names
                  .Add(Texts(1, {"app\nb34", "", "+", "x+1", "1+", "1+zz", "99+1", "1+1\n99+1\n1+2",
                                 "1+fffffffffffffffff", "1+1\n\n1+1"}))
                  .ok());
  for (uint32_t id : {1, 2, 3, 4, 5, 6, 7, 9}) EXPECT_EQ(names.Stack(id), 0u) << id;
  EXPECT_EQ(strings.Text(names.Stack(8)), "1+1");
  EXPECT_EQ(strings.Text(names.Stack(10)), "1+1");
}

TEST(NameTable, NamesCopiesAndFills) {
  StringTable strings;
  NameTable names(&strings);
  EXPECT_EQ(strings.Text(names.CopyName(1, 2, 3)), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(strings.Text(names.CopyName(10, 3, 3)), "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(strings.Text(names.CopyName(99, UINT32_MAX, 5)), "Memcpy Unknown (Unknown -> Managed)");
  EXPECT_EQ(strings.Text(names.FillName(3)), "Memset (Device)");
  EXPECT_EQ(strings.Text(names.FillName(77)), "Memset (Unknown)");
}

TEST(NameTable, HasStacksAsTheyWereNamedElsewhere) {
  StringTable strings;
  NameTable here(&strings);
  ASSERT_TRUE(here.Add(Texts(1, {"app\nb34", "1+10\n1+20"})).ok());
  here.SetFrameNamer(
      [](std::string_view, uint64_t address) { return "f" + std::to_string(address); });
  EXPECT_TRUE(here.known_stacks().empty());
  here.Stack(2);
  EXPECT_EQ(here.known_stacks(), std::vector<uint32_t>{2});
  EXPECT_EQ(here.KnownStackText(2), "f16\nf32");

  NameTable elsewhere(&strings);
  ASSERT_TRUE(elsewhere.Add(Texts(1, {"app\nb34", "1+10\n1+20"})).ok());
  elsewhere.SetStack(2, here.KnownStackText(2));
  EXPECT_EQ(strings.Text(elsewhere.Stack(2)), "f16\nf32");
  EXPECT_EQ(elsewhere.left_out(), 0u);
}

}  // namespace
}  // namespace tp

#include "tools/control/terminal_text.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(EscapeForTerminal, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(EscapeForTerminal("aten::mm<float, 4> \"é\" 日本 😀"),
            "aten::mm<float, 4> \"é\" 日本 😀");
}

TEST(EscapeForTerminal, MakesControlCharactersVisible) {
  EXPECT_EQ(EscapeForTerminal("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(EscapeForTerminal("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(EscapeForTerminal(std::string_view("\0\x7f", 2)), "\\x00\\x7f");
  // C1: the one-character forms of ESC [ and ESC ].
  EXPECT_EQ(EscapeForTerminal("\u009b31m\u009d"), "\\u009b31m\\u009d");
}

TEST(EscapeForTerminal, MakesCharactersThatReorderTextVisible) {
  EXPECT_EQ(EscapeForTerminal("a\u202eb\u2066c\u200fd\u2028e"),
            "a\\u202eb\\u2066c\\u200fd\\u2028e");
}

TEST(EscapeForTerminal, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(EscapeForTerminal("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(EscapeForTerminal("\xc0\xaf"), "\\xc0\\xaf");           // Overlong.
  EXPECT_EQ(EscapeForTerminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // A surrogate.
  EXPECT_EQ(EscapeForTerminal("\xe6\x97"), "\\xe6\\x97");           // Cut off.
}

TEST(DisplayWidth, CountsColumnsAsATerminalDoes) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("é"), 1);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("한"), 2);
  EXPECT_EQ(DisplayWidth("😀"), 2);
  EXPECT_EQ(DisplayWidth("│█"), 2);
}

TEST(CutToWidth, EndsWithDotsWhereSomethingIsMissing) {
  EXPECT_EQ(CutToWidth("abcdef", 6), "abcdef");
  EXPECT_EQ(CutToWidth("abcdefg", 6), "abc...");
  EXPECT_EQ(CutToWidth("abcdefg", 2), "..");
  EXPECT_EQ(CutToWidth("abcdefg", 0), "");
  EXPECT_EQ(CutToWidth("abc", -1), "");
}

TEST(CutToWidth, NeverCutsThroughACharacterOrExceedsTheWidth) {
  EXPECT_EQ(CutToWidth("日本語日本語", 12), "日本語日本語");
  EXPECT_EQ(CutToWidth("日本語日本語", 8), "日本...");
  EXPECT_EQ(CutToWidth("日本語日本語", 9), "日本語...");
  EXPECT_EQ(CutToWidth("éééé", 4), "éééé");
}

TEST(FittingPart, NeverStandsStill) {
  EXPECT_EQ(FittingPart("abcdef", 4), "abcd");
  EXPECT_EQ(FittingPart("abc", 4), "abc");
  EXPECT_EQ(FittingPart("日本語", 5), "日本");
  EXPECT_EQ(FittingPart("日本語", 1), "日");
  EXPECT_EQ(FittingPart("", 4), "");
}

TEST(Pad, FillsToTheWidthInColumns) {
  EXPECT_EQ(PadRight("日本", 6), "日本  ");
  EXPECT_EQ(PadLeft("ab", 4), "  ab");
  EXPECT_EQ(PadRight("日本語", 4), "... ");  // No half character fits before the dots.
  EXPECT_EQ(PadRight("日本語日本語", 10), "日本語... ");
}

TEST(ToAscii, KeepsTheWidth) { EXPECT_EQ(ToAscii("a日é\u0301b"), "a???b"); }

TEST(EscapeForTerminal, ReachesEveryTextOfATable) {
  query::Table table;
  table.add_operations()->set_name("\x1b");
  table.mutable_operations(0)->add_stack("\x1b");
  table.add_kernels()->set_name("\x1b");
  query::CopyRow* copy = table.add_copies();
  copy->set_direction("\x1b");
  copy->set_source_memory("\x1b");
  copy->set_destination_memory("\x1b");
  table.add_calls()->set_name("\x1b");
  table.mutable_calls(0)->set_domain("\x1b");
  query::Process* process = table.add_processes();
  process->set_command("\x1b");
  process->set_reason("\x1b");
  process->add_notes("\x1b");
  process->add_losses()->set_kind("\x1b");
  process->mutable_losses(0)->set_cause("\x1b");
  process->add_events()->set_kind("\x1b");
  table.add_losses()->set_kind("\x1b");
  table.mutable_losses(0)->set_cause("\x1b");
  table.add_notes("\x1b");
  table.set_device_kind("\x1b");
  EscapeForTerminal(&table);
  EXPECT_EQ(table.SerializeAsString().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tp

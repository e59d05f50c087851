#include "analyzer/present/command.h"
#include "analyzer/present/demangle.h"
#include "analyzer/present/utf8.h"
#include "gtest/gtest.h"

namespace tp {
namespace {

TEST(Demangle, ReadsCompiledNamesAndLeavesOthers) {
  EXPECT_EQ(Demangle("_Z3addPfS_i"), "add(float*, float*, int)");
  EXPECT_EQ(Demangle("_Znot_a_name"), "_Znot_a_name");
  EXPECT_EQ(Demangle("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(Demangle("i"), "i");
  EXPECT_EQ(Demangle(""), "");
  EXPECT_EQ(Demangle(std::string("_Z3addv\0x", 9)), std::string("_Z3addv\0x", 9));
}

TEST(ValidUtf8, KeepsWhatIsValid) {
  for (const char* text : {"", "plain", "r\u00e9sum\u00e9", "\u6f22\u5b57", "\U0001F600"}) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
}

TEST(ValidUtf8, ReplacesEachByteThatIsPartOfNoCharacter) {
  EXPECT_EQ(ValidUtf8("a\xffz"), "a\uFFFDz");
  EXPECT_EQ(ValidUtf8("\xc3"), "\uFFFD");                          // Cut short.
  EXPECT_EQ(ValidUtf8("\xc0\xaf"), "\uFFFD\uFFFD");                // Overlong.
  EXPECT_EQ(ValidUtf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");      // Half of a pair.
  EXPECT_EQ(ValidUtf8("\xf5\x80\x80\x80").size(), size_t{4 * 3});  // Beyond the last.
}

TEST(CodePoints, AreCountedAndCutWhole) {
  std::string text = "a\u00e9\u6f22\U0001F600";
  EXPECT_EQ(CodePoints(text), 4u);
  EXPECT_EQ(FirstCodePoints(text, 2), "a\u00e9");
  EXPECT_EQ(FirstCodePoints(text, 9), text);
  EXPECT_EQ(FirstCodePoints(text, 0), "");
  EXPECT_EQ(LastCodePoints(text, 1), "\U0001F600");
  EXPECT_EQ(LastCodePoints(text, 3), "\u00e9\u6f22\U0001F600");
  EXPECT_EQ(LastCodePoints(text, 9), text);
  EXPECT_EQ(LastCodePoints(text, 0), "");
}

TEST(ShortCommand, TheProgramsFoldersAreLeftOut) {
  EXPECT_EQ(ShortCommand("/opt/venv/bin/python3 /home/me/train.py --lr 1/2"),
            "python3 /home/me/train.py --lr 1/2");
  EXPECT_EQ(ShortCommand("./train"), "train");
  EXPECT_EQ(ShortCommand("train a/b"), "train a/b");
  EXPECT_EQ(ShortCommand("/"), "/");
  EXPECT_EQ(ShortCommand(""), "");
}

}  // namespace
}  // namespace tp

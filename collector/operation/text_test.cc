#include "collector/operation/text.h"

#include <gtest/gtest.h>

#include <string>

namespace tp::collect {
namespace {

std::string Utf8(const wchar_t* text) {
  char out[256];
  return std::string(out, WideToUtf8(text, out, sizeof(out)));
}

TEST(Text, WideTextBecomesUtf8) {
  EXPECT_EQ(Utf8(L"forward"), "forward");
  EXPECT_EQ(Utf8(L"Vorw\u00e4rts \u2192 \u6f22 \U0001F600"), "Vorwärts → 漢 😀");
  EXPECT_EQ(Utf8(L""), "");
}

TEST(Text, WhatIsNoCodePointIsReplaced) {
  const wchar_t text[] = {L'a', static_cast<wchar_t>(0xd800), static_cast<wchar_t>(0x7fffffff),
                          L'b', 0};
  EXPECT_EQ(Utf8(text),
            "a\xef\xbf\xbd\xef\xbf\xbd"
            "b");
}

TEST(Text, WideTextThatDoesNotFitIsCutBetweenCharacters) {
  char out[10];
  size_t length = WideToUtf8(L"\u6f22\u6f22\u6f22\u6f22\u6f22", out, sizeof(out));
  EXPECT_EQ(std::string(out, length), "漢漢漢");
}

TEST(Text, LongTextIsCutAtTheEndOfACharacter) {
  EXPECT_EQ(CutText("short"), "short");
  std::string ascii(kLongestText + 100, 'a');
  EXPECT_EQ(CutText(ascii.c_str()).size(), kLongestText);
  for (const char* character : {"ä", "漢", "😀"}) {
    for (size_t shift = 0; shift < 4; ++shift) {
      std::string text(shift, 'a');
      while (text.size() < kLongestText + 10) text += character;
      std::string_view cut = CutText(text.c_str());
      EXPECT_LE(cut.size(), kLongestText);
      EXPECT_GT(cut.size(), kLongestText - 4);
      EXPECT_EQ((cut.size() - shift) % std::string_view(character).size(), 0u);
    }
  }
}

TEST(Text, AHandleIsOnePerText) {
  const RegisteredText* forward = RegisterText("forward");
  EXPECT_EQ(RegisterText("forward"), forward);
  EXPECT_NE(RegisterText("backward"), forward);
  EXPECT_EQ(forward->text(), "forward");
  EXPECT_EQ(RegisterDomain("NCCL"), RegisterDomain("NCCL"));
  EXPECT_EQ(RegisterDomain("NCCL")->name(), "NCCL");
}

TEST(Text, RegisteredTextsAreBoundedByTheirBytes) {
  LimitRegisteredTexts(1 << 20);
  uint64_t before = RegisteredTextsLeftOut();
  std::string longest(kLongestText - 10, 'x');
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(RegisterText("text " + std::to_string(i)), nullptr);
    ASSERT_NE(RegisterText(std::to_string(i) + longest), nullptr);
  }
  EXPECT_LE(RegisteredTextBytes(), size_t{1} << 20);
  EXPECT_EQ(RegisterText("one more")->text(), "(other)");
  EXPECT_EQ(RegisterDomain("another domain")->name(), "(other)");
  EXPECT_EQ(RegisterText("text 5")->text(), "text 5");
  EXPECT_GT(RegisteredTextsLeftOut(), before + 1000);
}

}  // namespace
}  // namespace tp::collect

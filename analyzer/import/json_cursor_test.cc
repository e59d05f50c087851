#include "analyzer/import/json_cursor.h"

#include <string>

#include "gtest/gtest.h"

namespace tp {
namespace {

// A text with bytes behind it that must not be taken for its own.
class Padded {
 public:
  explicit Padded(const std::string& text) : bytes_(text + std::string(kJsonPadding, '"')) {}
  JsonCursor cursor() const { return {bytes_.data(), bytes_.data() + size()}; }
  const char* begin() const { return bytes_.data(); }
  const char* end() const { return bytes_.data() + size(); }

 private:
  size_t size() const { return bytes_.size() - kJsonPadding; }
  std::string bytes_;
};

// What an object holds, as "key=value,".
std::string Members(const std::string& json, bool* ok = nullptr) {
  const Padded text(json);
  JsonCursor cursor = text.cursor();
  std::string members;
  JsonValue key;
  cursor.EnterObject();
  while (cursor.ReadKey(&key)) {
    const JsonValue value = cursor.ReadValue();
    if (!cursor.ok()) break;
    members += std::string(key.text) + "=" + std::string(value.text) + ",";
  }
  if (ok != nullptr) *ok = cursor.ok();
  return members;
}

TEST(JsonCursor, GivesScalarsAsTheyAreWritten) {
  EXPECT_EQ(Members(R"( { "a" : 1.50e+3 , "b":"x y", "c":null,"d": -0 } )"),
            "a=1.50e+3,b=x y,c=null,d=-0,");
  EXPECT_EQ(Members(R"({"a": NaN, "b": -Infinity, "c": true})"), "a=NaN,b=-Infinity,c=true,");
}

TEST(JsonCursor, GivesNestedValuesWhole) {
  EXPECT_EQ(Members(R"({"a": [1, [2, "]"], {}], "b": {"c": "}\"{"}, "d": []})"),
            R"(a=[1, [2, "]"], {}],b={"c": "}\"{"},d=[],)");
}

TEST(JsonCursor, KeysThatComeTwiceAreGivenTwice) {
  EXPECT_EQ(Members(R"({"a": 1, "a": 2})"), "a=1,a=2,");
}

TEST(JsonCursor, StringsMayHoldAnyBytes) {
  EXPECT_EQ(Members("{\"a\xFF\": \"\x01\n\xC3\"}"), "a\xFF=\x01\n\xC3,");
  const std::string many(1000, '\\');
  EXPECT_EQ(Members("{\"a\": \"" + many + "\"}"), "a=" + many + ",");
}

TEST(JsonCursor, TellsAnEndFromWhatIsNoJson) {
  const std::string whole = R"({"ab": ["c", {"d": "\"e"}], "f": "gh\\", "i": 12, "j": {}})";
  for (size_t size = 0; size < whole.size(); ++size) {
    const Padded text(whole.substr(0, size));
    JsonCursor cursor = text.cursor();
    JsonValue key;
    cursor.EnterObject();
    while (cursor.ReadKey(&key)) cursor.ReadValue();
    EXPECT_FALSE(cursor.ok()) << size;
    EXPECT_TRUE(cursor.ended()) << size;
  }
  for (const char* broken : {"[]", "1", R"({"a" 1})", R"({"a": })", R"({"a": 1 "b": 2})", "{1: 2}",
                             R"({"a": 1])", "{\"a\": \x01}", R"({"a": "b"c"})"}) {
    bool ok = true;
    Members(broken, &ok);
    EXPECT_FALSE(ok) << broken;
    const Padded text(broken);
    JsonCursor cursor = text.cursor();
    JsonValue key;
    cursor.EnterObject();
    while (cursor.ReadKey(&key)) cursor.ReadValue();
    EXPECT_FALSE(cursor.ended()) << broken;
  }
}

TEST(JsonCursor, LongStringsAreReadAcrossManySteps) {
  for (size_t length : {0, 1, 14, 15, 16, 17, 31, 32, 33, 1000}) {
    const std::string text(length, 'x');
    EXPECT_EQ(Members("{\"" + text + "\": \"" + text + "\"}"), text + "=" + text + ",");
  }
}

TEST(SkipJson, FindsTheEndHoweverTheTextIsCutIntoPieces) {
  const std::string value = R"([{"a\"]": "}\\", "b": [[], {"c": "\\\"]"}]}, "d"])";
  const Padded text(value + ", 5");
  for (size_t first = 1; first < value.size(); ++first) {
    for (size_t second = first; second < value.size(); ++second) {
      JsonSkip skip;
      const char* begin = text.begin();
      ASSERT_EQ(SkipJson(begin, begin + first, &skip), nullptr);
      ASSERT_EQ(SkipJson(begin + first, begin + second, &skip), nullptr);
      ASSERT_EQ(SkipJson(begin + second, text.end(), &skip), begin + value.size())
          << first << " " << second;
    }
  }
}

TEST(SkipJson, DepthAndEscapesCostNoStackAndNoTime) {
  const std::string deep = std::string(2'000'000, '[') + std::string(2'000'000, ']');
  const Padded nested(deep);
  JsonSkip skip;
  EXPECT_EQ(SkipJson(nested.begin(), nested.end(), &skip), nested.end());
  std::string escapes = "\"";
  for (int i = 0; i < 2'000'000; ++i) escapes += "\\n";
  const Padded escaped(escapes + "\"");
  skip = JsonSkip();
  EXPECT_EQ(SkipJson(escaped.begin(), escaped.end(), &skip), escaped.end());
}

TEST(Unescaped, GivesWhatEscapesMean) {
  EXPECT_EQ(Unescaped(R"(a\"b\\c\/d\b\f\n\r\te)"), "a\"b\\c/d\b\f\n\r\te");
  EXPECT_EQ(Unescaped(R"(\u0041\u00e9\u20AC\ud83d\ude00)"),
            "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(Unescaped(R"(\u0000)"), std::string(1, '\0'));
  EXPECT_EQ(Unescaped(""), "");
}

TEST(Unescaped, HalvesOfPairsBecomeReplacementCharacters) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(Unescaped(R"(\ud800)"), replaced);
  EXPECT_EQ(Unescaped(R"(\udfffx)"), replaced + "x");
  EXPECT_EQ(Unescaped(R"(\ud800\u0041)"), replaced + "A");
  EXPECT_EQ(Unescaped(R"(\ud800\ud800\udc00)"), replaced + "\xF0\x90\x80\x80");
  EXPECT_EQ(Unescaped(R"(\ud800\n)"), replaced + "\n");
}

TEST(Unescaped, WhatEscapesNothingStays) {
  EXPECT_EQ(Unescaped(R"(C:\Work\q)"), R"(C:\Work\q)");
  EXPECT_EQ(Unescaped(R"(\u12)"), R"(\u12)");
  EXPECT_EQ(Unescaped(R"(\uZZZZ)"), R"(\uZZZZ)");
  EXPECT_EQ(Unescaped("end\\"), "end\\");
}

}  // namespace
}  // namespace tp

#include "analyzer/export/json_text.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted;
  AppendJsonString(text, &quoted);
  return quoted;
}

std::string Microseconds(int64_t ns) {
  std::string text;
  AppendMicroseconds(ns, &text);
  return text;
}

std::string Id(uint64_t id) {
  std::string text;
  AppendJsonId(id, &text);
  return text;
}

TEST(JsonText, AStringOfAnyBytesIsValidJson) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  all += "\xED\xA0\x80 \xF5\x80\x80\x80 \xC3";
  for (size_t begin = 0; begin < all.size(); ++begin) {
    EXPECT_TRUE(nlohmann::json::accept(Quoted(all.substr(begin)))) << begin;
  }
  EXPECT_EQ(Quoted("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
}

TEST(JsonText, WhatIsTextStaysWhatItIs) {
  for (const char* text :
       {"", "plain", "say \"hi\"", "C:\\temp", "tab\tline\n\x01", "r\xC3\xA9sum\xC3\xA9"}) {
    EXPECT_EQ(nlohmann::json::parse(Quoted(text)).get<std::string>(), text);
  }
}

TEST(JsonText, MicrosecondsAreExactForEveryNanosecond) {
  EXPECT_EQ(Microseconds(0), "0.000");
  EXPECT_EQ(Microseconds(1), "0.001");
  EXPECT_EQ(Microseconds(-1), "-0.001");
  EXPECT_EQ(Microseconds(12345), "12.345");
  EXPECT_EQ(Microseconds(-1000), "-1.000");
  EXPECT_EQ(Microseconds(1682725898236567089), "1682725898236567.089");
  EXPECT_EQ(Microseconds(INT64_MAX), "9223372036854775.807");
  EXPECT_EQ(Microseconds(INT64_MIN), "-9223372036854775.808");
}

TEST(JsonText, IdsBeyondWhatADoubleHoldsAreTexts) {
  EXPECT_EQ(Id(0), "0");
  EXPECT_EQ(Id(uint64_t{1} << 53), "9007199254740992");
  EXPECT_EQ(Id((uint64_t{1} << 53) + 1), "\"9007199254740993\"");
  EXPECT_EQ(Id(UINT64_MAX), "\"18446744073709551615\"");
}

}  // namespace
}  // namespace tp

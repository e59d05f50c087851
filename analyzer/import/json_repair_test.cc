#include "analyzer/import/json_repair.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(JsonRepair, WhatIsRightStaysAsItIs) {
  for (const char* text : {R"({"a\"b\\c\n\u00e4": [1, "\ud83d\udd25 ß"], "}": null})", "[]", ""}) {
    EXPECT_EQ(RepairedJson(text), text);
  }
}

TEST(JsonRepair, BytesThatNoTextHasAreReplaced) {
  EXPECT_EQ(RepairedJson("\"a\xFF"
                         "b\""),
            "\"a\uFFFD"
            "b\"");
  EXPECT_EQ(RepairedJson("\"a\x1B[1m\n\""), "\"a\uFFFD[1m\uFFFD\"");
  EXPECT_EQ(RepairedJson("[1,\x01 2\x7F]"), "[1,  2 ]");
}

TEST(JsonRepair, HalvesOfPairsAreReplaced) {
  EXPECT_EQ(RepairedJson(R"("\ud800")"), "\"\uFFFD\"");
  EXPECT_EQ(RepairedJson(R"("\udc00\ud800x")"), "\"\uFFFD\uFFFDx\"");
  EXPECT_EQ(RepairedJson(R"("\ud800\ud83d\udd25")"), "\"\uFFFD\\ud83d\\udd25\"");
}

TEST(JsonRepair, ABackslashThatEscapesNothingStaysOne) {
  EXPECT_EQ(RepairedJson(R"("C:\git\x")"), R"("C:\\git\\x")");
  EXPECT_EQ(RepairedJson(R"("\u12")"), R"("\\u12")");
  EXPECT_EQ(RepairedJson(R"("\u-123")"), R"("\\u-123")");
  EXPECT_EQ(RepairedJson(R"("\)"), R"("\\)");
}

}  // namespace
}  // namespace tp

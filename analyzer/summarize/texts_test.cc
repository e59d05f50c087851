#include "analyzer/summarize/texts.h"

#include "gtest/gtest.h"

namespace tp {
namespace {

std::string Again(std::string_view text) {
  google::protobuf::RepeatedPtrField<query::Shape> shapes;
  ParseShapes(text, &shapes);
  return ShapesText(shapes);
}

TEST(Shapes, AreReadAndWrittenAlike) {
  for (const char* text : {"[]", "[[]]", "[[2, 3], []]", "[[1024], [-1, 0, 9000000000]]"}) {
    EXPECT_EQ(Again(text), text);
  }
  EXPECT_EQ(Again("[[2,3],[]]"), "[[2, 3], []]");
}

TEST(Shapes, WhatIsNoneIsReadAsFarAsItGoes) {
  EXPECT_EQ(Again(""), "[]");
  EXPECT_EQ(Again("7"), "[]");
  EXPECT_EQ(Again("[[2, x"), "[[2]]");
  EXPECT_EQ(Again("[[[2]]]"), "[[]]");
  EXPECT_EQ(Again("]]]]"), "[]");
}

}  // namespace
}  // namespace tp

#include "proto/operation_name.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(OperationName, APlainTextIsAUsersRange) {
  for (const char* text : {"forward", "", "step 12", "a, b, c", "loss = 3, step = 4"}) {
    OperationName name = ReadOperationName(text);
    EXPECT_EQ(name.name, text);
    EXPECT_EQ(name.kind, 'u');
    EXPECT_EQ(name.shapes, "");
    EXPECT_EQ(name.sequence_number_plus_one, 0);
  }
}

TEST(OperationName, EmitNvtxFormIsAnOperation) {
  OperationName name = ReadOperationName(
      "aten::addmm, seq = 12, op_id = 345, sizes = [[128], [64, 32], []], input_op_ids = [(1,0), "
      "(2,1)]");
  EXPECT_EQ(name.name, "aten::addmm");
  EXPECT_EQ(name.kind, 'o');
  EXPECT_EQ(name.shapes, "[[128], [64, 32], []]");
  EXPECT_EQ(name.sequence_number_plus_one, 13);
}

TEST(OperationName, EachPartAfterTheNameIsOptional) {
  EXPECT_EQ(ReadOperationName("aten::mm, seq = 0").sequence_number_plus_one, 1);
  EXPECT_EQ(ReadOperationName("aten::mm, op_id = 7").name, "aten::mm");
  EXPECT_EQ(ReadOperationName("aten::mm, op_id = 7").kind, 'o');
  EXPECT_EQ(ReadOperationName("aten::mm, sizes = [[2, 3]]").shapes, "[[2, 3]]");
  EXPECT_EQ(ReadOperationName("aten::mm, seq = -1, op_id = 7").sequence_number_plus_one, 0);
  EXPECT_EQ(ReadOperationName("x, input_op_ids = []").kind, 'o');
}

TEST(OperationName, ANameMayHoldCommas) {
  OperationName name = ReadOperationName("void f<int, char>(a, b), op_id = 3, sizes = [[1]]");
  EXPECT_EQ(name.name, "void f<int, char>(a, b)");
  EXPECT_EQ(name.shapes, "[[1]]");
}

TEST(OperationName, WhatOnlyBeginsLikeTheFormIsANameWhole) {
  for (const char* text :
       {"aten::mm, seq = ", "aten::mm, seq = x", "aten::mm, seq = 1, sizes = [[2]",
        "aten::mm, seq = 1 and more", ", seq = 1", "aten::mm, sizes = [[a]]",
        "aten::mm, seq = 99999999999999999999"}) {
    EXPECT_EQ(ReadOperationName(text).name, text);
    EXPECT_EQ(ReadOperationName(text).kind, 'u') << text;
  }
}

}  // namespace
}  // namespace tp

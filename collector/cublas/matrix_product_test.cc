#include "collector/cublas/matrix_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tp::collect {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

std::vector<int64_t> Sizes(const OperandShape& shape) {
  return {shape.sizes, shape.sizes + shape.count};
}

MatrixProduct Product(int64_t m, int64_t n, int64_t k, cudaDataType type) {
  return {.m = m, .n = n, .k = k, .a = type, .b = type, .output = type};
}

TEST(MatrixProductTest, ARealMultiplicationAndAdditionAreTwoOperations) {
  EXPECT_THAT(FloatingPointOperations(Product(3, 5, 7, CUDA_R_32F)), Optional(2 * 3 * 5 * 7));
}

TEST(MatrixProductTest, ComplexOnesAreEight) {
  EXPECT_THAT(FloatingPointOperations(Product(3, 5, 7, CUDA_C_64F)), Optional(8 * 3 * 5 * 7));
}

TEST(MatrixProductTest, EachMatrixOfABatchCounts) {
  MatrixProduct product = Product(3, 5, 7, CUDA_R_16F);
  product.batched = true;
  product.batch_count = 11;
  EXPECT_THAT(FloatingPointOperations(product), Optional(2 * 3 * 5 * 7 * 11));
  EXPECT_THAT(Sizes(ShapeOfA(product)), ElementsAre(11, 3, 7));
  EXPECT_THAT(Sizes(ShapeOfB(product)), ElementsAre(11, 7, 5));
}

TEST(MatrixProductTest, ShapesAreThoseOfTheOperandsRowsFirst) {
  const MatrixProduct product = Product(3, 5, 7, CUDA_R_32F);
  EXPECT_THAT(Sizes(ShapeOfA(product)), ElementsAre(3, 7));
  EXPECT_THAT(Sizes(ShapeOfB(product)), ElementsAre(7, 5));
}

TEST(MatrixProductTest, NothingMultipliedIsNoOperationsWhateverTheOtherSizes) {
  EXPECT_THAT(FloatingPointOperations(Product(INT64_MAX, INT64_MAX, 0, CUDA_R_32F)), Optional(0));
}

TEST(MatrixProductTest, WhatDoesNotFitIsNotKnownInsteadOfWrong) {
  const MatrixProduct product = Product(int64_t{1} << 31, int64_t{1} << 31, 4, CUDA_R_32F);
  EXPECT_THAT(FloatingPointOperations(product), Eq(std::nullopt));
}

TEST(MatrixProductTest, NegativeSizesHaveNoOperations) {
  EXPECT_THAT(FloatingPointOperations(Product(-1, 5, 7, CUDA_R_32F)), Eq(std::nullopt));
  EXPECT_THAT(FloatingPointOperations(Product(0, 5, -7, CUDA_R_32F)), Eq(std::nullopt));
}

TEST(MatrixProductTest, ATypeThatIsNotKnownHasNoNameAndNoNumbers) {
  const auto unknown = static_cast<cudaDataType>(999);
  EXPECT_EQ(NameOf(unknown), nullptr);
  EXPECT_THAT(FloatingPointOperations(Product(3, 5, 7, unknown)), Eq(std::nullopt));
  EXPECT_STREQ(NameOf(CUDA_R_16BF), "bfloat16");
}

}  // namespace
}  // namespace tp::collect

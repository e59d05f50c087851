// What a call of cuBLAS multiplies: read from the call's arguments alone, and turned into what an
// operation says of itself (shapes, types, floating point operations).
//
//   MatrixProduct product{.m = 64, .n = 32, .k = 128, .a = CUDA_R_16F, .b = CUDA_R_16F, ...};
//   std::optional<int64_t> flops = FloatingPointOperations(product);
//
// Shapes are those of op(A) and op(B), rows first, with the number of matrices before them where
// the call multiplies more than one: how a matrix lies in memory is not told. Any thread;
// nothing here allocates.
#ifndef COLLECTOR_CUBLAS_MATRIX_PRODUCT_H_
#define COLLECTOR_CUBLAS_MATRIX_PRODUCT_H_

#include <library_types.h>

#include <cstdint>
#include <optional>

namespace tp::collect {

// op(A), m x k, times op(B), k x n.
struct MatrixProduct {
  int64_t m, n, k;
  bool batched = false;
  int64_t batch_count = 1;
  cudaDataType a, b, output;
};

// "float", "half", "complex<double>", ...; nullptr for a type that is not known.
const char* NameOf(cudaDataType type);

// 2 for each multiplication and addition, 8 where they are complex. None: the output's type is not
// known, the sizes are not possible, or an int64_t does not hold it.
std::optional<int64_t> FloatingPointOperations(const MatrixProduct& product);

// The sizes of an operand, in `sizes`; returns how many there are.
struct OperandShape {
  int64_t sizes[3];
  int count;
};
OperandShape ShapeOfA(const MatrixProduct& product);
OperandShape ShapeOfB(const MatrixProduct& product);

}  // namespace tp::collect

#endif  // COLLECTOR_CUBLAS_MATRIX_PRODUCT_H_

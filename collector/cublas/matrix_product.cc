#include "collector/cublas/matrix_product.h"

namespace tp::collect {
namespace {

struct DataType {
  cudaDataType type;
  const char* name;
  bool is_complex;
};

// Numbers that some toolkit's library_types.h does not have are written out.
constexpr DataType kDataTypes[] = {
    {CUDA_R_32F, "float", false},
    {CUDA_R_64F, "double", false},
    {CUDA_R_16F, "half", false},
    {CUDA_R_16BF, "bfloat16", false},
    {CUDA_C_32F, "complex<float>", true},
    {CUDA_C_64F, "complex<double>", true},
    {CUDA_C_16F, "complex<half>", true},
    {CUDA_C_16BF, "complex<bfloat16>", true},
    {CUDA_R_4I, "int4", false},
    {CUDA_C_4I, "complex<int4>", true},
    {CUDA_R_4U, "uint4", false},
    {CUDA_C_4U, "complex<uint4>", true},
    {CUDA_R_8I, "int8", false},
    {CUDA_C_8I, "complex<int8>", true},
    {CUDA_R_8U, "uint8", false},
    {CUDA_C_8U, "complex<uint8>", true},
    {CUDA_R_16I, "int16", false},
    {CUDA_C_16I, "complex<int16>", true},
    {CUDA_R_16U, "uint16", false},
    {CUDA_C_16U, "complex<uint16>", true},
    {CUDA_R_32I, "int32", false},
    {CUDA_C_32I, "complex<int32>", true},
    {CUDA_R_32U, "uint32", false},
    {CUDA_C_32U, "complex<uint32>", true},
    {CUDA_R_64I, "int64", false},
    {CUDA_C_64I, "complex<int64>", true},
    {CUDA_R_64U, "uint64", false},
    {CUDA_C_64U, "complex<uint64>", true},
    {static_cast<cudaDataType>(28), "float8_e4m3", false},
    {static_cast<cudaDataType>(29), "float8_e5m2", false},
    {static_cast<cudaDataType>(30), "float8_ue8m0", false},
    {static_cast<cudaDataType>(31), "float6_e2m3", false},
    {static_cast<cudaDataType>(32), "float6_e3m2", false},
    {static_cast<cudaDataType>(33), "float4_e2m1", false},
};

const DataType* Find(cudaDataType type) {
  for (const DataType& known : kDataTypes) {
    if (known.type == type) return &known;
  }
  return nullptr;
}

OperandShape ShapeOf(const MatrixProduct& product, int64_t rows, int64_t columns) {
  if (product.batched) return {{product.batch_count, rows, columns}, 3};
  return {{rows, columns, 0}, 2};
}

}  // namespace

const char* NameOf(cudaDataType type) {
  const DataType* known = Find(type);
  return known == nullptr ? nullptr : known->name;
}

std::optional<int64_t> FloatingPointOperations(const MatrixProduct& product) {
  const DataType* output = Find(product.output);
  if (output == nullptr) return std::nullopt;
  const int64_t sizes[] = {product.m, product.n, product.k, product.batch_count};
  bool is_empty = false;
  for (int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    is_empty |= size == 0;
  }
  if (is_empty) return 0;
  int64_t operations = output->is_complex ? 8 : 2;
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(operations, size, &operations)) return std::nullopt;
  }
  return operations;
}

OperandShape ShapeOfA(const MatrixProduct& product) {
  return ShapeOf(product, product.m, product.k);
}

OperandShape ShapeOfB(const MatrixProduct& product) {
  return ShapeOf(product, product.k, product.n);
}

}  // namespace tp::collect

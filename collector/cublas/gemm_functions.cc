// The functions that stand before cuBLAS's: each calls the real one with what it was given and
// hands on what that returned, within an operation that says what is multiplied. Nothing that a
// pointer leads to is read.
//
// cublas_api.h declares them all, with the types of 13; those of 11 and 12 are called the same way.

#include <cublas_api.h>

#include "collector/cublas/product_operation.h"
#include "collector/cublas/real_function.h"

namespace tp::collect {
namespace {

template <typename T>
constexpr cudaDataType kTypeOf = CUDA_R_32F;
template <>
constexpr cudaDataType kTypeOf<double> = CUDA_R_64F;
template <>
constexpr cudaDataType kTypeOf<cuComplex> = CUDA_C_32F;
template <>
constexpr cudaDataType kTypeOf<cuDoubleComplex> = CUDA_C_64F;
template <>
constexpr cudaDataType kTypeOf<__half> = CUDA_R_16F;

MatrixProduct Single(int64_t m, int64_t n, int64_t k, cudaDataType a, cudaDataType b,
                     cudaDataType c) {
  return {.m = m, .n = n, .k = k, .a = a, .b = b, .output = c};
}

MatrixProduct Batched(int64_t m, int64_t n, int64_t k, cudaDataType a, cudaDataType b,
                      cudaDataType c, int64_t batch_count) {
  return {.m = m,
          .n = n,
          .k = k,
          .batched = true,
          .batch_count = batch_count,
          .a = a,
          .b = b,
          .output = c};
}

}  // namespace
}  // namespace tp::collect

// NAME is the function without what tells its variants apart ("_v2", "_64"), PRODUCT what it
// multiplies, in terms of its parameters. The assertion fails to compile if cublas_api.h declares
// another function.
#define TP_REPLACE_IN(MAJOR, FUNCTION, NAME, PARAMETERS, ARGUMENTS, PRODUCT)                   \
  extern "C" __attribute__((symver(#FUNCTION "@libcublas.so." #MAJOR), visibility("default"))) \
  cublasStatus_t tp_replaced_##FUNCTION##_##MAJOR PARAMETERS {                                 \
    using Function = cublasStatus_t PARAMETERS;                                                \
    static_assert(sizeof(static_cast<Function*>(&FUNCTION)) != 0);                             \
    static constinit tp::collect::RealFunction real(#FUNCTION, "libcublas.so." #MAJOR);        \
    const auto function = reinterpret_cast<Function*>(real.Get());                             \
    if (function == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;                               \
    const tp::collect::ProductOperation operation(NAME, [&] { return tp::collect::PRODUCT; }); \
    return function ARGUMENTS;                                                                 \
  }

#define TP_REPLACE(...)          \
  TP_REPLACE_IN(11, __VA_ARGS__) \
  TP_REPLACE_IN(12, __VA_ARGS__) \
  TP_REPLACE_IN(13, __VA_ARGS__)

// Of the functions for one type of matrix (I: the type of sizes).
#define TP_GEMM(FUNCTION, NAME, T, I)                                                            \
  TP_REPLACE(                                                                                    \
      FUNCTION, NAME,                                                                            \
      (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, \
       const T* alpha, const T* a, I lda, const T* b, I ldb, const T* beta, T* c, I ldc),        \
      (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                    \
      Single(m, n, k, tp::collect::kTypeOf<T>, tp::collect::kTypeOf<T>, tp::collect::kTypeOf<T>))

#define TP_GEMM_BATCHED(FUNCTION, NAME, T, I)                                                      \
  TP_REPLACE(FUNCTION, NAME,                                                                       \
             (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, \
              I k, const T* alpha, const T* const a[], I lda, const T* const b[], I ldb,           \
              const T* beta, T* const c[], I ldc, I batch_count),                                  \
             (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch_count),  \
             Batched(m, n, k, tp::collect::kTypeOf<T>, tp::collect::kTypeOf<T>,                    \
                     tp::collect::kTypeOf<T>, batch_count))

#define TP_GEMM_STRIDED_BATCHED(FUNCTION, NAME, T, I)                                              \
  TP_REPLACE(FUNCTION, NAME,                                                                       \
             (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, \
              I k, const T* alpha, const T* a, I lda, long long stride_a, const T* b, I ldb,       \
              long long stride_b, const T* beta, T* c, I ldc, long long stride_c, I batch_count),  \
             (handle, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, \
              ldc, stride_c, batch_count),                                                         \
             Batched(m, n, k, tp::collect::kTypeOf<T>, tp::collect::kTypeOf<T>,                    \
                     tp::collect::kTypeOf<T>, batch_count))

// With types as arguments (S: of alpha and beta).
#define TP_TYPED_GEMM(FUNCTION, NAME, S, I)                                                        \
  TP_REPLACE(FUNCTION, NAME,                                                                       \
             (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, \
              I k, const S* alpha, const void* a, cudaDataType a_type, I lda, const void* b,       \
              cudaDataType b_type, I ldb, const S* beta, void* c, cudaDataType c_type, I ldc),     \
             (handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,     \
              c_type, ldc),                                                                        \
             Single(m, n, k, a_type, b_type, c_type))

#define TP_GEMM_EX(FUNCTION, NAME, I)                                                              \
  TP_REPLACE(FUNCTION, NAME,                                                                       \
             (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, \
              I k, const void* alpha, const void* a, cudaDataType a_type, I lda, const void* b,    \
              cudaDataType b_type, I ldb, const void* beta, void* c, cudaDataType c_type, I ldc,   \
              cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm),                       \
             (handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,     \
              c_type, ldc, compute_type, algorithm),                                               \
             Single(m, n, k, a_type, b_type, c_type))

#define TP_GEMM_BATCHED_EX(FUNCTION, NAME, I)                                                      \
  TP_REPLACE(FUNCTION, NAME,                                                                       \
             (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, \
              I k, const void* alpha, const void* const a[], cudaDataType a_type, I lda,           \
              const void* const b[], cudaDataType b_type, I ldb, const void* beta,                 \
              void* const c[], cudaDataType c_type, I ldc, I batch_count,                          \
              cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm),                       \
             (handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c,     \
              c_type, ldc, batch_count, compute_type, algorithm),                                  \
             Batched(m, n, k, a_type, b_type, c_type, batch_count))

#define TP_GEMM_STRIDED_BATCHED_EX(FUNCTION, NAME, I)                                              \
  TP_REPLACE(FUNCTION, NAME,                                                                       \
             (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, I m, I n, \
              I k, const void* alpha, const void* a, cudaDataType a_type, I lda,                   \
              long long stride_a, const void* b, cudaDataType b_type, I ldb, long long stride_b,   \
              const void* beta, void* c, cudaDataType c_type, I ldc, long long stride_c,           \
              I batch_count, cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm),        \
             (handle, transa, transb, m, n, k, alpha, a, a_type, lda, stride_a, b, b_type, ldb,    \
              stride_b, beta, c, c_type, ldc, stride_c, batch_count, compute_type, algorithm),     \
             Batched(m, n, k, a_type, b_type, c_type, batch_count))

TP_GEMM(cublasSgemm_v2, "cublasSgemm", float, int)
TP_GEMM(cublasDgemm_v2, "cublasDgemm", double, int)
TP_GEMM(cublasCgemm_v2, "cublasCgemm", cuComplex, int)
TP_GEMM(cublasZgemm_v2, "cublasZgemm", cuDoubleComplex, int)
TP_GEMM(cublasHgemm, "cublasHgemm", __half, int)
TP_GEMM(cublasCgemm3m, "cublasCgemm3m", cuComplex, int)
TP_GEMM(cublasZgemm3m, "cublasZgemm3m", cuDoubleComplex, int)
TP_GEMM(cublasSgemm_v2_64, "cublasSgemm", float, int64_t)
TP_GEMM(cublasDgemm_v2_64, "cublasDgemm", double, int64_t)
TP_GEMM(cublasCgemm_v2_64, "cublasCgemm", cuComplex, int64_t)
TP_GEMM(cublasZgemm_v2_64, "cublasZgemm", cuDoubleComplex, int64_t)
TP_GEMM(cublasHgemm_64, "cublasHgemm", __half, int64_t)
TP_GEMM(cublasCgemm3m_64, "cublasCgemm3m", cuComplex, int64_t)
TP_GEMM(cublasZgemm3m_64, "cublasZgemm3m", cuDoubleComplex, int64_t)

TP_GEMM_BATCHED(cublasSgemmBatched, "cublasSgemmBatched", float, int)
TP_GEMM_BATCHED(cublasDgemmBatched, "cublasDgemmBatched", double, int)
TP_GEMM_BATCHED(cublasCgemmBatched, "cublasCgemmBatched", cuComplex, int)
TP_GEMM_BATCHED(cublasZgemmBatched, "cublasZgemmBatched", cuDoubleComplex, int)
TP_GEMM_BATCHED(cublasHgemmBatched, "cublasHgemmBatched", __half, int)
TP_GEMM_BATCHED(cublasCgemm3mBatched, "cublasCgemm3mBatched", cuComplex, int)
TP_GEMM_BATCHED(cublasSgemmBatched_64, "cublasSgemmBatched", float, int64_t)
TP_GEMM_BATCHED(cublasDgemmBatched_64, "cublasDgemmBatched", double, int64_t)
TP_GEMM_BATCHED(cublasCgemmBatched_64, "cublasCgemmBatched", cuComplex, int64_t)
TP_GEMM_BATCHED(cublasZgemmBatched_64, "cublasZgemmBatched", cuDoubleComplex, int64_t)
TP_GEMM_BATCHED(cublasHgemmBatched_64, "cublasHgemmBatched", __half, int64_t)
TP_GEMM_BATCHED(cublasCgemm3mBatched_64, "cublasCgemm3mBatched", cuComplex, int64_t)

TP_GEMM_STRIDED_BATCHED(cublasSgemmStridedBatched, "cublasSgemmStridedBatched", float, int)
TP_GEMM_STRIDED_BATCHED(cublasDgemmStridedBatched, "cublasDgemmStridedBatched", double, int)
TP_GEMM_STRIDED_BATCHED(cublasCgemmStridedBatched, "cublasCgemmStridedBatched", cuComplex, int)
TP_GEMM_STRIDED_BATCHED(cublasZgemmStridedBatched, "cublasZgemmStridedBatched", cuDoubleComplex,
                        int)
TP_GEMM_STRIDED_BATCHED(cublasHgemmStridedBatched, "cublasHgemmStridedBatched", __half, int)
TP_GEMM_STRIDED_BATCHED(cublasCgemm3mStridedBatched, "cublasCgemm3mStridedBatched", cuComplex, int)
TP_GEMM_STRIDED_BATCHED(cublasSgemmStridedBatched_64, "cublasSgemmStridedBatched", float, int64_t)
TP_GEMM_STRIDED_BATCHED(cublasDgemmStridedBatched_64, "cublasDgemmStridedBatched", double, int64_t)
TP_GEMM_STRIDED_BATCHED(cublasCgemmStridedBatched_64, "cublasCgemmStridedBatched", cuComplex,
                        int64_t)
TP_GEMM_STRIDED_BATCHED(cublasZgemmStridedBatched_64, "cublasZgemmStridedBatched", cuDoubleComplex,
                        int64_t)
TP_GEMM_STRIDED_BATCHED(cublasHgemmStridedBatched_64, "cublasHgemmStridedBatched", __half, int64_t)
TP_GEMM_STRIDED_BATCHED(cublasCgemm3mStridedBatched_64, "cublasCgemm3mStridedBatched", cuComplex,
                        int64_t)

TP_TYPED_GEMM(cublasSgemmEx, "cublasSgemmEx", float, int)
TP_TYPED_GEMM(cublasCgemmEx, "cublasCgemmEx", cuComplex, int)
TP_TYPED_GEMM(cublasCgemm3mEx, "cublasCgemm3mEx", cuComplex, int)
TP_TYPED_GEMM(cublasSgemmEx_64, "cublasSgemmEx", float, int64_t)
TP_TYPED_GEMM(cublasCgemmEx_64, "cublasCgemmEx", cuComplex, int64_t)
TP_TYPED_GEMM(cublasCgemm3mEx_64, "cublasCgemm3mEx", cuComplex, int64_t)

TP_GEMM_EX(cublasGemmEx, "cublasGemmEx", int)
TP_GEMM_EX(cublasGemmEx_64, "cublasGemmEx", int64_t)
TP_GEMM_BATCHED_EX(cublasGemmBatchedEx, "cublasGemmBatchedEx", int)
TP_GEMM_BATCHED_EX(cublasGemmBatchedEx_64, "cublasGemmBatchedEx", int64_t)
TP_GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx, "cublasGemmStridedBatchedEx", int)
TP_GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx_64, "cublasGemmStridedBatchedEx", int64_t)

// libcublas.so.13: the products that tests/programs/matrix_products.cu asks for. Each launches one
// kernel on the handle's stream, so that there is device work, and computes on the host.

#include <cublas_api.h>
#include <cuda_runtime.h>

#include "tests/simcuda/cublas/matrix.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
};

namespace {

using tp::simcuda::Multiply;
using tp::simcuda::Sizes;

__global__ void simulated_gemm() {}

bool IsPossible(Sizes sizes, int64_t batch_count) {
  return sizes.m >= 0 && sizes.n >= 0 && sizes.k >= 0 && batch_count >= 0;
}

// Calls `multiply(i)` for each matrix of the batch.
template <typename MultiplyOne>
cublasStatus_t Run(cublasHandle_t handle, Sizes sizes, int64_t batch_count,
                   MultiplyOne&& multiply) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!IsPossible(sizes, batch_count)) return CUBLAS_STATUS_INVALID_VALUE;
  simulated_gemm<<<1, 1, 0, handle->stream>>>();
  for (int64_t i = 0; i < batch_count; ++i) multiply(i);
  return cudaGetLastError() == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

// For the functions whose types are arguments: calls `use(T())` with the type of all three matrices
// that `type` stands for.
template <typename Use>
cublasStatus_t WithType(cudaDataType a, cudaDataType b, cudaDataType c, Use&& use) {
  if (a != b || b != c) return CUBLAS_STATUS_NOT_SUPPORTED;
  switch (a) {
    case CUDA_R_32F:
      return use(float());
    case CUDA_R_64F:
      return use(double());
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

#define TP_SIMULATED_GEMM(FUNCTION, T, I)                                                      \
  cublasStatus_t FUNCTION(cublasHandle_t handle, cublasOperation_t transa,                     \
                          cublasOperation_t transb, I m, I n, I k, const T* alpha, const T* a, \
                          I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {              \
    return Run(handle, {m, n, k}, 1, [&](int64_t) {                                            \
      Multiply(transa, transb, {m, n, k}, alpha, a, lda, b, ldb, beta, c, ldc);                \
    });                                                                                        \
  }

TP_SIMULATED_GEMM(cublasSgemm_v2, float, int)
TP_SIMULATED_GEMM(cublasDgemm_v2, double, int)
TP_SIMULATED_GEMM(cublasCgemm_v2, cuComplex, int)
TP_SIMULATED_GEMM(cublasZgemm_v2, cuDoubleComplex, int)
TP_SIMULATED_GEMM(cublasHgemm, __half, int)
TP_SIMULATED_GEMM(cublasSgemm_v2_64, float, int64_t)

cublasStatus_t cublasSgemmBatched(cublasHandle_t handle, cublasOperation_t transa,
                                  cublasOperation_t transb, int m, int n, int k, const float* alpha,
                                  const float* const a[], int lda, const float* const b[], int ldb,
                                  const float* beta, float* const c[], int ldc, int batch_count) {
  return Run(handle, {m, n, k}, batch_count, [&](int64_t i) {
    Multiply(transa, transb, {m, n, k}, alpha, a[i], lda, b[i], ldb, beta, c[i], ldc);
  });
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const double* alpha, const double* a, int lda,
                                         long long stride_a, const double* b, int ldb,
                                         long long stride_b, const double* beta, double* c, int ldc,
                                         long long stride_c, int batch_count) {
  return Run(handle, {m, n, k}, batch_count, [&](int64_t i) {
    Multiply(transa, transb, {m, n, k}, alpha, a + i * stride_a, lda, b + i * stride_b, ldb, beta,
             c + i * stride_c, ldc);
  });
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t, cublasGemmAlgo_t) {
  return WithType(a_type, b_type, c_type, [&](auto type) {
    using T = decltype(type);
    return Run(handle, {m, n, k}, 1, [&](int64_t) {
      Multiply(transa, transb, {m, n, k}, static_cast<const T*>(alpha), static_cast<const T*>(a),
               lda, static_cast<const T*>(b), ldb, static_cast<const T*>(beta), static_cast<T*>(c),
               ldc);
    });
  });
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int m, int n, int k, const void* alpha,
                                   const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb,
                                   const void* beta, void* const c[], cudaDataType c_type, int ldc,
                                   int batch_count, cublasComputeType_t, cublasGemmAlgo_t) {
  return WithType(a_type, b_type, c_type, [&](auto type) {
    using T = decltype(type);
    return Run(handle, {m, n, k}, batch_count, [&](int64_t i) {
      Multiply(transa, transb, {m, n, k}, static_cast<const T*>(alpha), static_cast<const T*>(a[i]),
               lda, static_cast<const T*>(b[i]), ldb, static_cast<const T*>(beta),
               static_cast<T*>(c[i]), ldc);
    });
  });
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType a_type,
                                          int lda, long long stride_a, const void* b,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long stride_c, int batch_count, cublasComputeType_t,
                                          cublasGemmAlgo_t) {
  return WithType(a_type, b_type, c_type, [&](auto type) {
    using T = decltype(type);
    return Run(handle, {m, n, k}, batch_count, [&](int64_t i) {
      Multiply(transa, transb, {m, n, k}, static_cast<const T*>(alpha),
               static_cast<const T*>(a) + i * stride_a, lda,
               static_cast<const T*>(b) + i * stride_b, ldb, static_cast<const T*>(beta),
               static_cast<T*>(c) + i * stride_c, ldc);
    });
  });
}
}

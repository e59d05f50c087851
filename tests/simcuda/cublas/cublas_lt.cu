// libcublasLt.so.13: cublasLtMatmul of floats, with the descriptors' attributes that it needs.

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <string.h>

#include "tests/simcuda/cublas/matrix.h"

namespace {

__global__ void simulated_matmul() {}

struct Description {
  int32_t compute_type, scale_type, transposes_a, transposes_b;
};
struct Layout {
  uint64_t rows, columns;
  int64_t leading, stride;
  uint32_t type;
  int32_t batch_count;
};
static_assert(sizeof(Description) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

Description* In(cublasLtMatmulDesc_t description) {
  return reinterpret_cast<Description*>(description);
}
Layout* In(cublasLtMatrixLayout_t layout) { return reinterpret_cast<Layout*>(layout); }

struct Field {
  void* place;
  size_t bytes;
};

Field FieldOf(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute) {
  Description* fields = In(description);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return {&fields->compute_type, sizeof(fields->compute_type)};
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return {&fields->scale_type, sizeof(fields->scale_type)};
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return {&fields->transposes_a, sizeof(fields->transposes_a)};
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return {&fields->transposes_b, sizeof(fields->transposes_b)};
    default:
      return {nullptr, 0};
  }
}

Field FieldOf(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute) {
  Layout* fields = In(layout);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return {&fields->type, sizeof(fields->type)};
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return {&fields->rows, sizeof(fields->rows)};
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return {&fields->columns, sizeof(fields->columns)};
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return {&fields->leading, sizeof(fields->leading)};
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return {&fields->batch_count, sizeof(fields->batch_count)};
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return {&fields->stride, sizeof(fields->stride)};
    default:
      return {nullptr, 0};
  }
}

cublasStatus_t Set(Field field, const void* value, size_t bytes) {
  if (field.place == nullptr || bytes != field.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(field.place, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Get(Field field, void* value, size_t bytes, size_t* written) {
  if (field.place == nullptr || bytes != field.bytes) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(value, field.place, bytes);
  if (written != nullptr) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute_type, cudaDataType scale_type) {
  *description = new cublasLtMatmulDescOpaque_t{};
  *In(*description) = {compute_type, scale_type, CUBLAS_OP_N, CUBLAS_OP_N};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  return Set(FieldOf(description, attribute), value, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, void* value,
                                              size_t bytes, size_t* written) {
  return Get(FieldOf(description, attribute), value, bytes, written);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = new cublasLtMatrixLayoutOpaque_t{};
  *In(*layout) = {rows, columns, leading, 0, static_cast<uint32_t>(type), 1};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  return Set(FieldOf(layout, attribute), value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                void* value, size_t bytes, size_t* written) {
  return Get(FieldOf(layout, attribute), value, bytes, written);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*,
                              size_t, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  // In place alone.
  if (c != d || In(c_layout)->type != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Description& fields = *In(description);
  const Layout &a_fields = *In(a_layout), &b_fields = *In(b_layout), &d_fields = *In(d_layout);
  const auto rows = static_cast<int64_t>(d_fields.rows);
  const auto columns = static_cast<int64_t>(d_fields.columns);
  const auto inner =
      static_cast<int64_t>(fields.transposes_a == CUBLAS_OP_N ? a_fields.columns : a_fields.rows);
  simulated_matmul<<<1, 1, 0, stream>>>();
  for (int32_t i = 0; i < d_fields.batch_count; ++i) {
    tp::simcuda::Multiply(static_cast<cublasOperation_t>(fields.transposes_a),
                          static_cast<cublasOperation_t>(fields.transposes_b),
                          {rows, columns, inner}, static_cast<const float*>(alpha),
                          static_cast<const float*>(a) + i * a_fields.stride, a_fields.leading,
                          static_cast<const float*>(b) + i * b_fields.stride, b_fields.leading,
                          static_cast<const float*>(beta),
                          static_cast<float*>(d) + i * d_fields.stride, d_fields.leading);
  }
  return CUBLAS_STATUS_SUCCESS;
}
}

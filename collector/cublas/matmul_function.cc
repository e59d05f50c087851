// cublasLtMatmul: what it multiplies is in descriptors, which cuBLAS's own functions read.

#include <cublasLt.h>

#include <optional>

#include "collector/cublas/product_operation.h"
#include "collector/cublas/real_function.h"

namespace tp::collect {
namespace {

using MatmulFunction = decltype(cublasLtMatmul);
using LayoutFunction = decltype(cublasLtMatrixLayoutGetAttribute);
using DescriptionFunction = decltype(cublasLtMatmulDescGetAttribute);

// Of one version of the library.
struct Library {
  RealFunction matmul, layout, description;
  constexpr explicit Library(const char* name)
      : matmul("cublasLtMatmul", name),
        layout("cublasLtMatrixLayoutGetAttribute", name),
        description("cublasLtMatmulDescGetAttribute", name) {}
};

template <typename T>
bool Read(LayoutFunction* get, cublasLtMatrixLayout_t layout,
          cublasLtMatrixLayoutAttribute_t attribute, T* value) {
  size_t written = 0;
  return get(layout, attribute, value, sizeof(T), &written) == CUBLAS_STATUS_SUCCESS &&
         written == sizeof(T);
}

struct Layout {
  uint64_t rows, columns;
  uint32_t type;
  int32_t batch_count;
};

std::optional<Layout> Read(LayoutFunction* get, cublasLtMatrixLayout_t descriptor) {
  Layout layout;
  if (descriptor == nullptr || !Read(get, descriptor, CUBLASLT_MATRIX_LAYOUT_ROWS, &layout.rows) ||
      !Read(get, descriptor, CUBLASLT_MATRIX_LAYOUT_COLS, &layout.columns) ||
      !Read(get, descriptor, CUBLASLT_MATRIX_LAYOUT_TYPE, &layout.type) ||
      !Read(get, descriptor, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &layout.batch_count)) {
    return std::nullopt;
  }
  return layout;
}

// nullopt: cuBLAS does not say.
std::optional<MatrixProduct> ReadProduct(Library& library, cublasLtMatmulDesc_t description,
                                         cublasLtMatrixLayout_t a_layout,
                                         cublasLtMatrixLayout_t b_layout,
                                         cublasLtMatrixLayout_t d_layout) {
  auto* get_layout = reinterpret_cast<LayoutFunction*>(library.layout.Get());
  auto* get_description = reinterpret_cast<DescriptionFunction*>(library.description.Get());
  if (get_layout == nullptr || get_description == nullptr || description == nullptr) {
    return std::nullopt;
  }
  int32_t transposes_a = CUBLAS_OP_N;
  size_t written = 0;
  if (get_description(description, CUBLASLT_MATMUL_DESC_TRANSA, &transposes_a, sizeof(transposes_a),
                      &written) != CUBLAS_STATUS_SUCCESS) {
    return std::nullopt;
  }
  const std::optional<Layout> a = Read(get_layout, a_layout), b = Read(get_layout, b_layout),
                              d = Read(get_layout, d_layout);
  if (!a.has_value() || !b.has_value() || !d.has_value()) return std::nullopt;
  return MatrixProduct{
      .m = static_cast<int64_t>(d->rows),
      .n = static_cast<int64_t>(d->columns),
      .k = static_cast<int64_t>(transposes_a == CUBLAS_OP_N ? a->columns : a->rows),
      .batched = d->batch_count != 1,
      .batch_count = d->batch_count,
      .a = static_cast<cudaDataType>(a->type),
      .b = static_cast<cudaDataType>(b->type),
      .output = static_cast<cudaDataType>(d->type)};
}

}  // namespace
}  // namespace tp::collect

#define TP_REPLACE_IN(MAJOR)                                                                  \
  extern "C"                                                                                  \
      __attribute__((symver("cublasLtMatmul@libcublasLt.so." #MAJOR), visibility("default"))) \
      cublasStatus_t tp_replaced_cublasLtMatmul_##MAJOR(                                      \
          cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha,       \
          const void* a, cublasLtMatrixLayout_t a_layout, const void* b,                      \
          cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,                   \
          cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,          \
          const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t workspace_bytes,     \
          cudaStream_t stream) {                                                              \
    static constinit tp::collect::Library library("libcublasLt.so." #MAJOR);                  \
    auto* matmul = reinterpret_cast<tp::collect::MatmulFunction*>(library.matmul.Get());      \
    if (matmul == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;                                \
    const tp::collect::ProductOperation operation("cublasLtMatmul", [&] {                     \
      return tp::collect::ReadProduct(library, description, a_layout, b_layout, d_layout);    \
    });                                                                                       \
    return matmul(handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, \
                  d_layout, algorithm, workspace, workspace_bytes, stream);                   \
  }

TP_REPLACE_IN(11)
TP_REPLACE_IN(12)
TP_REPLACE_IN(13)

#include "collector/cublas/product_operation.h"

#include "collector/tpcollect.h"

namespace tp::collect {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local bool t_inside = false;

tpcollect_tensor Tensor(const OperandShape& shape, cudaDataType type) {
  return {shape.sizes, NameOf(type), static_cast<uint32_t>(shape.count), 0};
}

}  // namespace

bool ProductOperation::Enter() {
  if (t_inside) return false;
  t_inside = true;
  return true;
}

bool ProductOperation::IsWanted() { return tpcollect_is_active() != 0; }

void ProductOperation::Begin(const char* name, const std::optional<MatrixProduct>& product) {
  tpcollect_operation operation = TPCOLLECT_OPERATION_INIT(name);
  if (!product.has_value()) {
    tpcollect_begin_operation(&operation);
    return;
  }
  const OperandShape a = ShapeOfA(*product), b = ShapeOfB(*product);
  const tpcollect_tensor inputs[] = {Tensor(a, product->a), Tensor(b, product->b)};
  operation.inputs = inputs;
  operation.input_count = 2;
  operation.flops = FloatingPointOperations(*product).value_or(0);
  // What it writes to is the caller's memory: it allocates none.
  operation.output_bytes = 0;
  tpcollect_begin_operation(&operation);
}

void ProductOperation::End() { tpcollect_end(); }

void ProductOperation::Leave() { t_inside = false; }

}  // namespace tp::collect

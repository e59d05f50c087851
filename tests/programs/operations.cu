// A C++ program that tells what its kernels are for through collector/tpcollect.h: operations with
// shapes, flops and output bytes in each other and beside NVTX's ranges, a span that ends on
// another thread, counters.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <thread>

#include "collector/tpcollect.h"

__global__ void multiply() {}
__global__ void add() {}

namespace {

class Operation {
 public:
  explicit Operation(const tpcollect_operation& operation) {
    tpcollect_begin_operation(&operation);
  }
  ~Operation() { tpcollect_end(); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
};

void Linear(int64_t rows) {
  const int64_t input[] = {rows, 64}, weight[] = {64, 32}, bias[] = {32};
  const tpcollect_tensor inputs[] = {
      {input, "float", 2, 0}, {weight, "float", 2, 0}, {bias, "float", 1, 0}};
  tpcollect_operation linear = TPCOLLECT_OPERATION_INIT("linear");
  linear.inputs = inputs;
  linear.input_count = 3;
  linear.output_bytes = 100;
  const Operation whole(linear);
  {
    tpcollect_operation product = TPCOLLECT_OPERATION_INIT("product");
    product.inputs = inputs;
    product.input_count = 2;
    product.flops = 2 * rows * 64 * 32;
    product.output_bytes = rows * 32 * 4;
    const Operation part(product);
    multiply<<<1, 32>>>();
  }
  add<<<1, 32>>>();
}

}  // namespace

int main() {
  nvtxRangePushA("NVTX around it");
  for (int i = 0; i < 3; ++i) {
    tpcollect_begin("step");
    Linear(128);
    Linear(256);
    tpcollect_counter("step", i);
    tpcollect_end();
  }
  nvtxRangePop();

  tpcollect_operation load = TPCOLLECT_OPERATION_INIT("load");
  load.kind = TPCOLLECT_KIND_USER_ANNOTATION;
  const uint64_t span = tpcollect_start(&load);
  std::thread([span] { tpcollect_stop(span); }).join();
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

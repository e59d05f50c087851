// What a range (nvtxRangePush + nvtxRangePop) costs the thread that makes it. Prints the ns of one
// pair: the median and the smallest of many short bursts, with pauses between them in which a
// collector can read what was written, as in a program that does work.
//
//   range_cost [nvtx|header|operation [DEPTH]]
//
// DEPTH: calls between main and the ranges, so that there is a stack to walk. operation:
// collector/tpcollect.h's, with two inputs, flops and output bytes. (range_benchmark.sh runs it
// without a tool, with an empty one, and with the collector.)

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collector/tpcollect.h"

namespace {

constexpr int kBursts = 200;
constexpr int kPairs = 1000;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void Nvtx() {
  nvtxRangePushA("aten::addmm, seq = 1234, op_id = 5678");
  nvtxRangePop();
}

void Header() {
  tpcollect_begin("aten::addmm, seq = 1234, op_id = 5678");
  tpcollect_end();
}

void Operation() {
  static const int64_t matrix[] = {128, 64}, vector[] = {64};
  static const tpcollect_tensor inputs[] = {{matrix, "float", 2, 0}, {vector, "float", 1, 0}};
  static tpcollect_operation operation = TPCOLLECT_OPERATION_INIT("aten::addmm");
  operation.inputs = inputs;
  operation.input_count = 2;
  operation.flops = 16384;
  operation.output_bytes = 512;
  tpcollect_begin_operation(&operation);
  tpcollect_end();
}

// Inlined into its loop, as in a program.
template <typename Range>
std::vector<double> Measure(Range&& range) {
  std::vector<double> pair_ns;
  for (int burst = 0; burst < kBursts; ++burst) {
    int64_t start_ns = NowNs();
    for (int i = 0; i < kPairs; ++i) range();
    pair_ns.push_back(static_cast<double>(NowNs() - start_ns) / kPairs);
    usleep(5000);
  }
  std::sort(pair_ns.begin(), pair_ns.end());
  return pair_ns;
}

std::vector<double> Measure(const char* what) {
  if (strcmp(what, "header") == 0) return Measure([] { Header(); });
  if (strcmp(what, "operation") == 0) return Measure([] { Operation(); });
  return Measure([] { Nvtx(); });
}

__attribute__((noinline)) std::vector<double> MeasureBelow(int depth, const char* what) {
  std::vector<double> pair_ns = depth == 0 ? Measure(what) : MeasureBelow(depth - 1, what);
  asm volatile("" ::: "memory");  // Each call keeps its frame.
  return pair_ns;
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "nvtx";
  // The collector begins when the driver does.
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW)) {
    auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    if (initialize == nullptr || initialize(0) != 0) {
      fprintf(stderr, "range_cost: cuInit failed\n");
      return 1;
    }
  }
  nvtxRangePushA("outer");
  const std::vector<double> pair_ns = MeasureBelow(argc > 2 ? atoi(argv[2]) : 0, what);
  nvtxRangePop();
  printf("%.1f %.1f\n", pair_ns[kBursts / 2], pair_ns[0]);
  return 0;
}

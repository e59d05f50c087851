// What a range (nvtxRangePush + nvtxRangePop) costs the thread that makes it. Prints the ns of one
// pair: the median and the smallest of many short bursts, with pauses between them in which a
// collector can read what was written, as in a program that does work.
//
//   range_cost [--depth N]     (range_benchmark.sh runs it without a tool, with an empty one, and
//                              with the collector)
//
// --depth: calls between main and the ranges, so that there is a stack to walk.

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

namespace {

constexpr int kBursts = 200;
constexpr int kPairs = 1000;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

int64_t Burst() {
  const int64_t start_ns = NowNs();
  for (int i = 0; i < kPairs; ++i) {
    nvtxRangePushA("aten::addmm, seq = 1234, op_id = 5678");
    nvtxRangePop();
  }
  return NowNs() - start_ns;
}

__attribute__((noinline)) int64_t BurstBelow(int depth) {
  const int64_t ns = depth == 0 ? Burst() : BurstBelow(depth - 1);
  asm volatile("" ::: "memory");  // Each call keeps its frame.
  return ns;
}

}  // namespace

int main(int argc, char** argv) {
  const int depth = argc == 3 && strcmp(argv[1], "--depth") == 0 ? atoi(argv[2]) : 0;
  // The collector begins when the driver does.
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW)) {
    auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
    if (initialize == nullptr || initialize(0) != 0) {
      fprintf(stderr, "range_cost: cuInit failed\n");
      return 1;
    }
  }
  nvtxRangePushA("outer");
  std::vector<double> pair_ns;
  for (int burst = 0; burst < kBursts; ++burst) {
    pair_ns.push_back(static_cast<double>(BurstBelow(depth)) / kPairs);
    usleep(5000);
  }
  nvtxRangePop();
  std::sort(pair_ns.begin(), pair_ns.end());
  printf("%.1f %.1f\n", pair_ns[kBursts / 2], pair_ns[0]);
  return 0;
}

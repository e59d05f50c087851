// What a kernel's launch costs the thread that makes it. Prints the ns of one: the median and the
// smallest of many short bursts, with pauses between them in which a collector can read what was
// recorded; then the process's peak memory in KiB.
//
//   launch_cost       (launch_benchmark.sh runs it without a tool, with one that only lets CUPTI
//                      record, and with the collector)

#include <cuda_runtime.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

__global__ void step(int* data) { data[threadIdx.x] += 1; }

namespace {

constexpr int kBursts = 200;
constexpr int kLaunches = 500;

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

int main() {
  int* data = nullptr;
  if (cudaMalloc(&data, 4096) != cudaSuccess) return 1;
  std::vector<double> launch_ns;
  for (int burst = 0; burst < kBursts; ++burst) {
    const int64_t start_ns = NowNs();
    for (int i = 0; i < kLaunches; ++i) step<<<1, 32>>>(data);
    launch_ns.push_back(static_cast<double>(NowNs() - start_ns) / kLaunches);
    cudaDeviceSynchronize();
    usleep(5000);
  }
  std::sort(launch_ns.begin(), launch_ns.end());
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%.1f %.1f %ld\n", launch_ns[kBursts / 2], launch_ns[0], usage.ru_maxrss);
  return 0;
}

// A program that does a fixed amount of work of its own and launches a kernel, over and over: what
// tracing takes of its time. Prints the milliseconds that all took, then those of CPU time that the
// thread had.
//
//   launch_pace LAUNCHES LOOPS       LOOPS turns of a loop before each launch
//   launch_pace calibrate LAUNCHES   prints the LOOPS with which there are LAUNCHES a second

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cstdint>

__global__ void step(int* data) { data[threadIdx.x] += 1; }

namespace {

constexpr int kLaunchesPerWait = 1000;

int64_t TimeNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

void Work(int64_t loops) {
  volatile uint32_t state = 1;
  for (int64_t i = 0; i < loops; ++i) state = state * 1664525 + 1013904223;
}

// The nanoseconds of `clock` that it takes.
int64_t Run(int64_t launches, int64_t loops, int* data, clockid_t clock) {
  const int64_t start_ns = TimeNs(clock);
  for (int64_t i = 1; i <= launches; ++i) {
    Work(loops);
    step<<<1, 32>>>(data);
    if (i % kLaunchesPerWait == 0) cudaDeviceSynchronize();
  }
  return TimeNs(clock) - start_ns;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int* data = nullptr;
  if (cudaMalloc(&data, 4096) != cudaSuccess) return 1;
  if (strcmp(argv[1], "calibrate") == 0) {
    const int64_t launches_per_second = atoll(argv[2]);
    int64_t loops = 1;
    while (Run(20'000, loops, data, CLOCK_THREAD_CPUTIME_ID) * launches_per_second <
           20'000 * int64_t{1'000'000'000}) {
      loops += loops / 20 + 1;
    }
    printf("%lld\n", static_cast<long long>(loops));
    return 0;
  }
  const int64_t cpu_ns = TimeNs(CLOCK_THREAD_CPUTIME_ID);
  const int64_t ns = Run(atoll(argv[1]), atoll(argv[2]), data, CLOCK_MONOTONIC);
  printf("%.3f %.3f\n", ns / 1e6, (TimeNs(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / 1e6);
  return 0;
}

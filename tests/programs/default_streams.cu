// Two threads on their default streams. Compiled twice: with -default-stream per-thread their
// kernels overlap, without they do not. (The simulated device gives each kernel the time that
// SIMCUDA_KERNEL_COST says, which is to be 400 ms.) Prints which.

#include <cuda_runtime.h>
#include <stdio.h>

#include <algorithm>
#include <thread>

__global__ void lengthy() {}

int main() {
  cudaFree(nullptr);
  cudaEvent_t start, end[2];
  cudaEventCreate(&start);
  cudaEventRecord(start);
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) {
    cudaEventCreate(&end[i]);
    threads[i] = std::thread([&, i] {
      lengthy<<<1, 32>>>();
      cudaEventRecord(end[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  cudaDeviceSynchronize();
  // Without overlap the later of the two ends two whole kernels after the start.
  float until_end[2] = {0, 0};
  for (int i = 0; i < 2; ++i) cudaEventElapsedTime(&until_end[i], start, end[i]);
  printf("%s\n",
         std::max(until_end[0], until_end[1]) > 750 ? "one after the other" : "overlapping");
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

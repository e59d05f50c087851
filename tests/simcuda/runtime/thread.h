// What the runtime keeps for each thread: its device and its last error.
#ifndef TESTS_SIMCUDA_RUNTIME_THREAD_H_
#define TESTS_SIMCUDA_RUNTIME_THREAD_H_

#include <cuda_runtime_api.h>

#include "tests/simcuda/runtime/driver_api.h"

namespace simcuda::runtime {

struct Thread {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
};

Thread& CurrentThread();

// Loads and initializes the driver. Every entry point begins here.
cudaError_t Begin(const DriverApi** driver);

// Makes the primary context of the thread's device current, unless the thread has a context (of
// whatever origin).
cudaError_t NeedContext(const DriverApi& driver);

// Keeps an error for cudaGetLastError, and hands it on.
cudaError_t Note(cudaError_t error);

// The thread's device: that of its context, else the one that it chose.
int CurrentDevice(const DriverApi& driver);

}  // namespace simcuda::runtime

#endif  // TESTS_SIMCUDA_RUNTIME_THREAD_H_

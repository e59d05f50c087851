#include "tests/simcuda/runtime/thread.h"

namespace simcuda::runtime {

Thread& CurrentThread() {
  static thread_local Thread thread;
  return thread;
}

cudaError_t Begin(const DriverApi** driver) {
  CUresult error = CUDA_SUCCESS;
  *driver = LoadDriver(&error);
  if (*driver == nullptr) return cudaErrorInsufficientDriver;
  return static_cast<cudaError_t>(error);
}

cudaError_t NeedContext(const DriverApi& driver) {
  if (driver.bridge->current_context() != nullptr) return cudaSuccess;
  return static_cast<cudaError_t>(driver.bridge->use_primary(CurrentThread().device));
}

cudaError_t Note(cudaError_t error) {
  if (error != cudaSuccess) CurrentThread().last_error = error;
  return error;
}

int CurrentDevice(const DriverApi& driver) {
  CUcontext context = driver.bridge->current_context();
  return context == nullptr ? CurrentThread().device : driver.bridge->device_of(context);
}

}  // namespace simcuda::runtime

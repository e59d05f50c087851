// What compiled programs register before main: images of device code, kernels by their host
// functions, and variables. Loaded into the driver when they are first used.
#ifndef TESTS_SIMCUDA_RUNTIME_REGISTRATION_H_
#define TESTS_SIMCUDA_RUNTIME_REGISTRATION_H_

#include <cuda_runtime_api.h>

#include "tests/simcuda/runtime/driver_api.h"

namespace simcuda::runtime {

// The kernel for a host function, or for a kernel's own handle. cudaErrorInvalidDeviceFunction when
// it is neither.
cudaError_t FindKernel(const DriverApi& driver, const void* function, CUkernel* kernel);

// The name of the kernel as its next launch will be reported; nullptr when there is none.
const char* LaunchSymbol(const DriverApi& driver, const void* function);

// Where a variable is in the current context, and its size. cudaErrorInvalidSymbol when the program
// did not register it.
cudaError_t FindSymbol(const DriverApi& driver, const void* symbol, CUdeviceptr* address,
                       size_t* bytes);

}  // namespace simcuda::runtime

#endif  // TESTS_SIMCUDA_RUNTIME_REGISTRATION_H_

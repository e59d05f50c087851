// What the simulated runtime asks of the simulated driver beside the public driver API: things that
// NVIDIA's runtime gets from private tables. Calls are not reported to the observer.
#ifndef TESTS_SIMCUDA_CORE_RUNTIME_BRIDGE_H_
#define TESTS_SIMCUDA_CORE_RUNTIME_BRIDGE_H_

#include <cuda.h>

#include <cstddef>

#include "tests/simcuda/core/api_scope.h"

namespace simcuda {

struct RuntimeBridge {
  ApiGate* gate;
  CUresult (*ready)();
  // The calling thread's context, nullptr without one.
  CUcontext (*current_context)();
  // Makes the device's primary context current in the calling thread; the runtime holds one
  // reference to it.
  CUresult (*use_primary)(int device);
  // The device of a context.
  int (*device_of)(CUcontext context);
  // A kernel or variable that the program registered but the image does not show, because it is
  // compressed.
  CUkernel (*declare_kernel)(CUlibrary library, const char* name);
  bool (*declare_variable)(CUlibrary library, const char* name, size_t bytes);
  // The initial value of a variable, or nullptr when it is zeros.
  const void* (*initial_value)(CUlibrary library, const char* name);
  bool (*is_kernel)(const void* handle);
  // The kernel's name as its next launch will be reported; nullptr for what is no kernel.
  const char* (*launch_symbol)(const void* handle);
  // The descriptor of an array.
  bool (*array_descriptor)(CUarray array, CUDA_ARRAY3D_DESCRIPTOR* descriptor);
};

}  // namespace simcuda

extern "C" const simcuda::RuntimeBridge* simcuda_runtime_bridge();

#endif  // TESTS_SIMCUDA_CORE_RUNTIME_BRIDGE_H_

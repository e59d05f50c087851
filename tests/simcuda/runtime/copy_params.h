// The runtime's descriptions of copies, as the driver has them.
#ifndef TESTS_SIMCUDA_RUNTIME_COPY_PARAMS_H_
#define TESTS_SIMCUDA_RUNTIME_COPY_PARAMS_H_

#include <cuda_runtime_api.h>

#include "tests/simcuda/runtime/driver_api.h"

namespace simcuda::runtime {

// cudaErrorInvalidMemcpyDirection for a kind that is none, cudaErrorInvalidValue for sides that are
// missing.
cudaError_t ToDriver(const DriverApi& driver, const cudaMemcpy3DParms& from, CUDA_MEMCPY3D* to);

// A copy of bytes as a box of one row.
CUDA_MEMCPY3D LinearCopy(void* destination, const void* source, size_t bytes);

CUarray ToDriver(cudaArray_const_t array);

inline bool IsDirection(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

}  // namespace simcuda::runtime

#endif  // TESTS_SIMCUDA_RUNTIME_COPY_PARAMS_H_

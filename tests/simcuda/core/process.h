// The state of CUDA in this process: not begun, running, inherited through fork (useless), or at
// its end.
#ifndef TESTS_SIMCUDA_CORE_PROCESS_H_
#define TESTS_SIMCUDA_CORE_PROCESS_H_

#include <cuda.h>

namespace simcuda {

// cuInit: the first call makes the devices (SIMCUDA_DEVICES, default 1; 0 gives
// CUDA_ERROR_NO_DEVICE) and then loads what CUDA_INJECTION64_PATH names, without holding any lock,
// before any call returns. A library that cannot be loaded changes nothing.
CUresult Initialize();

// CUDA_SUCCESS while calls make sense, else why not: CUDA_ERROR_NOT_INITIALIZED before cuInit and
// in the child of a process that had used CUDA, CUDA_ERROR_DEINITIALIZED at the end of the process.
CUresult Ready();

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_PROCESS_H_

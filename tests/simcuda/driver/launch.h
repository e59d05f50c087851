// What direct launches, graphs and occupancy queries know about kernels in common.
#ifndef TESTS_SIMCUDA_DRIVER_LAUNCH_H_
#define TESTS_SIMCUDA_DRIVER_LAUNCH_H_

#include <cuda.h>

#include <cstddef>

#include "tests/simcuda/core/operation.h"

namespace simcuda {

// The error of a launch that the device cannot do.
CUresult CheckLaunch(const KernelLaunch& launch);

// The name of a kernel as its next launch is reported; nullptr for what is no kernel.
const char* LaunchSymbol(const void* function);

// How many blocks of that size a multiprocessor holds: limited by threads, registers, shared memory
// and 32 blocks.
int BlocksPerMultiprocessor(const Kernel& kernel, int threads_per_block, size_t dynamic_shared);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_DRIVER_LAUNCH_H_

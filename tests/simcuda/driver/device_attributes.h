// The simulated device's attributes: those of a data centre GPU of compute capability 9.0.
#ifndef TESTS_SIMCUDA_DRIVER_DEVICE_ATTRIBUTES_H_
#define TESTS_SIMCUDA_DRIVER_DEVICE_ATTRIBUTES_H_

#include <cuda.h>

namespace simcuda {

// False for an attribute that CUDA 13 does not have. Those that are left out of the table are 0:
// not supported.
bool DeviceAttribute(CUdevice_attribute attribute, CUdevice device, int* value);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_DRIVER_DEVICE_ATTRIBUTES_H_

// Functions that tell the ids of contexts, streams and devices, and what devices can be profiled.

#include <cupti.h>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/driver_link.h"

using simcupti::FindDriver;
using simcupti::Result;

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* context_id) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  if (context_id == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  const uint32_t found = context != nullptr ? FindDriver()->context_id(context) : 0;
  if (found == 0) return Result(CUPTI_ERROR_INVALID_CONTEXT);
  *context_id = found;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                               uint32_t* stream_id) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  if (stream_id == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  const simcuda::Driver* driver = FindDriver();
  void* owner = context != nullptr ? static_cast<void*>(context) : driver->current_context();
  const uint32_t found = driver->stream_id(owner, stream, per_thread != 0);
  if (found == 0) return Result(CUPTI_ERROR_INVALID_STREAM);
  *stream_id = found;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* stream_id) {
  return cuptiGetStreamIdEx(context, stream, 0, stream_id);
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device_id) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  if (device_id == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  const simcuda::Driver* driver = FindDriver();
  void* asked = context != nullptr ? static_cast<void*>(context) : driver->current_context();
  if (asked == nullptr || driver->context_id(asked) == 0) {
    return Result(CUPTI_ERROR_INVALID_DEVICE);
  }
  *device_id = driver->device_of_context(asked);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int* support) {
  SIMCUPTI_ENTER();
  if (support == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  // CUDA 13 begins with Turing.
  *support = major > 7 || (major == 7 && minor >= 5);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceSupported(CUdevice device, int* support) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  if (support == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  if (device < 0 || device >= FindDriver()->device_count()) {
    return Result(CUPTI_ERROR_INVALID_DEVICE);
  }
  *support = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceVirtualizationMode(CUdevice device, CUpti_DeviceVirtualizationMode* mode) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  if (mode == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  if (device < 0 || device >= FindDriver()->device_count()) {
    return Result(CUPTI_ERROR_INVALID_DEVICE);
  }
  *mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
  return CUPTI_SUCCESS;
}

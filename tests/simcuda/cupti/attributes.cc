#include "tests/simcuda/cupti/attributes.h"

#include <cupti.h>

#include <cstring>
#include <mutex>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/client_buffers.h"
#include "tests/simcuda/cupti/device_records.h"
#include "tests/simcuda/cupti/entry_point.h"
#include "tests/simcuda/cupti/lane.h"

namespace simcupti {
namespace {

// Sizes of the device's own buffers: kept and given back, as the simulated device needs none.
struct DeviceBuffers {
  size_t size = 3'200'000;
  size_t size_cdp = 8 << 20;
  size_t size_device_graphs = 16 << 20;
  size_t pool_limit = 250;
  size_t pre_allocated = 3;
  uint8_t host_pinned = 0;
};

std::mutex& AttributesMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

DeviceBuffers device_buffers;

size_t* SizeAttribute(CUpti_ActivityAttribute attribute) {
  switch (attribute) {
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE:
      return &device_buffers.size;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP:
      return &device_buffers.size_cdp;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS:
      return &device_buffers.size_device_graphs;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT:
      return &device_buffers.pool_limit;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE:
      return &device_buffers.pre_allocated;
    default:
      return nullptr;
  }
}

bool IsFlag(CUpti_ActivityAttribute attribute) {
  return attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ||
         attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER ||
         attribute == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED;
}

uint8_t GetFlag(CUpti_ActivityAttribute attribute) {
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) return ClientZeroesBuffers();
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) return LanePerThread();
  return device_buffers.host_pinned;
}

void SetFlag(CUpti_ActivityAttribute attribute, uint8_t value) {
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
    SetClientZeroesBuffers(value != 0);
  } else if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
    SetLanePerThread(value != 0);
  } else {
    device_buffers.host_pinned = value;
  }
}

// How many bytes a value takes; 0 if the attribute is not one, with the reason in `error`.
size_t ValueBytes(CUpti_ActivityAttribute attribute, CUptiResult* error) {
  if (SizeAttribute(attribute) != nullptr) return sizeof(size_t);
  if (IsFlag(attribute)) return sizeof(uint8_t);
  switch (attribute) {
    // "Not supported starting with CUDA 12.3."
    case CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE:
    case CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT:
    case CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE:
      *error = CUPTI_ERROR_NOT_SUPPORTED;
      return 0;
    default:
      *error = CUPTI_ERROR_INVALID_PARAMETER;
      return 0;
  }
}

CUptiResult Check(CUpti_ActivityAttribute attribute, const size_t* value_bytes, const void* value,
                  size_t* needed) {
  if (value_bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  CUptiResult error = CUPTI_SUCCESS;
  *needed = ValueBytes(attribute, &error);
  if (*needed == 0) return error;
  return *value_bytes < *needed ? CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT : CUPTI_SUCCESS;
}

}  // namespace

void ResetAttributes() {
  std::lock_guard lock(AttributesMutex());
  device_buffers = DeviceBuffers();
  SetClientZeroesBuffers(false);
  SetLanePerThread(true);
}

CUptiResult GetAttribute(CUpti_ActivityAttribute attribute, size_t* value_bytes, void* value) {
  std::lock_guard lock(AttributesMutex());
  size_t needed = 0;
  const CUptiResult result = Check(attribute, value_bytes, value, &needed);
  if (result != CUPTI_SUCCESS) return result;
  *value_bytes = needed;
  if (const size_t* size = SizeAttribute(attribute)) {
    std::memcpy(value, size, needed);
  } else {
    const uint8_t flag = GetFlag(attribute);
    std::memcpy(value, &flag, needed);
  }
  return CUPTI_SUCCESS;
}

CUptiResult SetAttribute(CUpti_ActivityAttribute attribute, const size_t* value_bytes,
                         const void* value) {
  std::lock_guard lock(AttributesMutex());
  size_t needed = 0;
  const CUptiResult result = Check(attribute, value_bytes, value, &needed);
  if (result != CUPTI_SUCCESS) return result;
  if (size_t* size = SizeAttribute(attribute)) {
    std::memcpy(size, value, needed);
  } else {
    uint8_t flag = 0;
    std::memcpy(&flag, value, needed);
    SetFlag(attribute, flag);
  }
  return CUPTI_SUCCESS;
}

}  // namespace simcupti

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* value_bytes,
                                      void* value) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::Result(simcupti::GetAttribute(attribute, value_bytes, value));
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* value_bytes,
                                      void* value) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::Result(simcupti::SetAttribute(attribute, value_bytes, value));
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  simcupti::SetLatencyTimestamps(enable != 0);
  return CUPTI_SUCCESS;
}

// The switches below are accepted; the simulated device has nothing that they would show.

CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return CUPTI_SUCCESS;
}

namespace simcupti::entry {

CUptiResult cuptiActivityEnableDeviceGraph(uint8_t) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllocationSource(uint8_t) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return CUPTI_SUCCESS;
}

// What this device cannot do.

CUptiResult cuptiActivityEnableHWTrace(uint8_t) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return Result(CUPTI_ERROR_NOT_SUPPORTED);
}

}  // namespace simcupti::entry

SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableDeviceGraph, 12, 3);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableAllocationSource, 12, 6);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableAllSyncRecords, 12, 8);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableHWTrace, 12, 8);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableCudaEventDeviceTimestamps, 13, 0);

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*,
                                                       uint32_t) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return simcupti::Result(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED);
}

CUptiResult cuptiActivityConfigurePCSampling(CUcontext, CUpti_ActivityPCSamplingConfig*) {
  SIMCUPTI_ENTER();
  return simcupti::Result(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
}

CUptiResult cuptiGetAutoBoostState(CUcontext, CUpti_ActivityAutoBoostState*) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return simcupti::Result(CUPTI_ERROR_NOT_SUPPORTED);
}

#include "tests/simcuda/cupti/device_description.h"

#include <mutex>
#include <set>
#include <string>

#include "tests/simcuda/cupti/driver_link.h"

namespace simcupti {
namespace {

template <class Function>
Function DriverFunction(const char* name) {
  return reinterpret_cast<Function>(DriverSymbol(name));
}

const char* KeepForEver(const std::string& text) {
  static auto* const mutex = new std::mutex;
  static auto* const texts = new std::set<std::string>;
  std::lock_guard lock(*mutex);
  return texts->insert(text).first->c_str();
}

uint32_t Attribute(CUdevice device, CUdevice_attribute attribute) {
  static const auto get =
      DriverFunction<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
  int value = 0;
  if (get == nullptr || get(&value, attribute, device) != CUDA_SUCCESS) return 0;
  return static_cast<uint32_t>(value);
}

}  // namespace

CUpti_ActivityDevice5 DescribeDevice(int device) {
  // The questions below must not show up as the program's own calls.
  const OwnCalls own_calls;
  CUpti_ActivityDevice5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  record.id = static_cast<uint32_t>(device);
  char name[256] = "simulated device";
  if (const auto get = DriverFunction<CUresult (*)(char*, int, CUdevice)>("cuDeviceGetName")) {
    get(name, sizeof name, device);
  }
  record.name = KeepForEver(name);
  size_t memory_bytes = 0;
  if (const auto get = DriverFunction<CUresult (*)(size_t*, CUdevice)>("cuDeviceTotalMem_v2")) {
    get(&memory_bytes, device);
  }
  record.globalMemorySize = memory_bytes;
  CUuuid uuid{};
  if (const auto get = DriverFunction<CUresult (*)(CUuuid*, CUdevice)>("cuDeviceGetUuid_v2")) {
    get(&uuid, device);
  }
  record.uuid = uuid;
  const auto attribute = [&](CUdevice_attribute which) { return Attribute(device, which); };
  record.computeCapabilityMajor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  record.computeCapabilityMinor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  record.numMultiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  record.numThreadsPerWarp = attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  record.coreClockRate = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  record.numMemcpyEngines = attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  record.l2CacheSize = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  record.constantMemorySize = attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  // Double data rate, bits to bytes; in kilobytes per second, as the clock is in kilohertz.
  record.globalMemoryBandwidth = uint64_t{2} * attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                                 attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  record.maxThreadsPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  record.maxBlockDimX = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  record.maxBlockDimY = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  record.maxBlockDimZ = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  record.maxGridDimX = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  record.maxGridDimY = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  record.maxGridDimZ = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  record.maxSharedMemoryPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  record.maxSharedMemoryPerMultiprocessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  record.maxRegistersPerBlock = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  record.maxRegistersPerMultiprocessor =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  record.maxBlocksPerMultiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  if (record.numThreadsPerWarp != 0) {
    record.maxWarpsPerMultiprocessor =
        attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / record.numThreadsPerWarp;
  }
  record.eccEnabled = attribute(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  record.isCudaVisible = 1;
  return record;
}

}  // namespace simcupti

// Initialization, devices and their attributes.
#include <cstdio>
#include <cstring>

#include "tests/simcuda/driver/device_attributes.h"
#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace {

constexpr int kDriverVersion = 13000;
constexpr char kDeviceName[] = "Simulated CUDA device";

CUresult NeedDevice(CUdevice ordinal, Device** device) {
  *device = FindDevice(ordinal);
  return *device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

}  // namespace

DRIVER_ENTRY_ALWAYS(cuInit, (unsigned int flags), (flags)) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return Initialize();
}

DRIVER_ENTRY_ALWAYS(cuDriverGetVersion, (int* driverVersion), (driverVersion)) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = kDriverVersion;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetCount, (int* count), (count)) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(Model::Instance().devices.size());
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal)) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* found;
  RETURN_IF_ERROR(NeedDevice(ordinal, &found));
  *device = ordinal;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetName, (char* name, int len, CUdevice dev), (name, len, dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(name, static_cast<size_t>(len), "%s", kDeviceName);
  return CUDA_SUCCESS;
}

static CUresult GetUuid(CUuuid* uuid, CUdevice dev) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  memset(uuid->bytes, 0, sizeof(uuid->bytes));
  memcpy(uuid->bytes, "simulated gpu", 13);
  uuid->bytes[15] = static_cast<char>(dev);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice dev), (uuid, dev)) {
  return GetUuid(uuid, dev);
}

DRIVER_ENTRY(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice dev), (bytes, dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = Memory::kDeviceBytes;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetAttribute, (int* pi, CUdevice_attribute attrib, CUdevice dev),
             (pi, attrib, dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return DeviceAttribute(attrib, dev, pi) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_ENTRY(cuDeviceComputeCapability, (int* major, int* minor, CUdevice dev),
             (major, minor, dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetPCIBusId, (char* pciBusId, int len, CUdevice dev), (pciBusId, len, dev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  if (pciBusId == nullptr || len < 13) return CUDA_ERROR_INVALID_VALUE;
  snprintf(pciBusId, static_cast<size_t>(len), "0000:%02X:00.0", dev + 1);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetByPCIBusId, (CUdevice * dev, const char* pciBusId), (dev, pciBusId)) {
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned domain = 0, bus = 0;
  if (sscanf(pciBusId, "%x:%x", &domain, &bus) != 2 || bus == 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device;
  RETURN_IF_ERROR(NeedDevice(static_cast<CUdevice>(bus) - 1, &device));
  *dev = static_cast<CUdevice>(bus) - 1;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceCanAccessPeer, (int* canAccessPeer, CUdevice dev, CUdevice peerDev),
             (canAccessPeer, dev, peerDev)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(dev, &device));
  RETURN_IF_ERROR(NeedDevice(peerDev, &device));
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *canAccessPeer = dev != peerDev ? 1 : 0;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetP2PAttribute,
             (int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice),
             (value, attrib, srcDevice, dstDevice)) {
  Device* device;
  RETURN_IF_ERROR(NeedDevice(srcDevice, &device));
  RETURN_IF_ERROR(NeedDevice(dstDevice, &device));
  if (value == nullptr || srcDevice == dstDevice) return CUDA_ERROR_INVALID_VALUE;
  *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : 1;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY_NO_PARAMETERS(cuProfilerStart) { return CUDA_SUCCESS; }
DRIVER_ENTRY_NO_PARAMETERS(cuProfilerStop) { return CUDA_SUCCESS; }

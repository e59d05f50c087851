// Devices, versions and settings.
#include <climits>
#include <cstring>

#include "tests/simcuda/runtime/entry.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace {

constexpr int kRuntimeVersion = 13000;

cudaError_t CheckDevice(const DriverApi& driver, int device) {
  int count = 0;
  driver.cuDeviceGetCount(&count);
  return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

void FillProperties(const DriverApi& driver, int device, cudaDeviceProp* prop) {
  *prop = {};
  auto get = [&](CUdevice_attribute attribute) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, attribute, device);
    return value;
  };
  auto size = [&](CUdevice_attribute attribute) { return static_cast<size_t>(get(attribute)); };
  driver.cuDeviceGetName(prop->name, sizeof(prop->name), device);
  driver.cuDeviceGetUuid_v2(&prop->uuid, device);
  driver.cuDeviceTotalMem_v2(&prop->totalGlobalMem, device);
  prop->sharedMemPerBlock = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  prop->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  prop->warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  prop->memPitch = size(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  prop->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  prop->maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  prop->maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  prop->maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  prop->maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  prop->maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  prop->maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  prop->totalConstMem = size(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  prop->major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  prop->minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  prop->textureAlignment = size(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  prop->texturePitchAlignment = size(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  prop->multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  prop->integrated = get(CU_DEVICE_ATTRIBUTE_INTEGRATED);
  prop->canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  prop->maxTexture1D = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH);
  prop->maxTexture2D[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH);
  prop->maxTexture2D[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT);
  prop->maxTexture3D[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH);
  prop->maxTexture3D[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT);
  prop->maxTexture3D[2] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH);
  prop->surfaceAlignment = size(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
  prop->concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  prop->ECCEnabled = get(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  prop->pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  prop->pciDeviceID = get(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  prop->pciDomainID = get(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  prop->asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  prop->unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  prop->memoryBusWidth = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  prop->l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  prop->persistingL2CacheMaxSize = get(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  prop->maxThreadsPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  prop->streamPrioritiesSupported = get(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  prop->globalL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  prop->localL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
  prop->sharedMemPerMultiprocessor = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  prop->regsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  prop->managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  prop->concurrentManagedAccess = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  prop->computePreemptionSupported = get(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  prop->canUseHostPointerForRegisteredMem =
      get(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  prop->cooperativeLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  prop->sharedMemPerBlockOptin = size(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  prop->maxBlocksPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  prop->accessPolicyMaxWindowSize = get(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
  prop->reservedSharedMemPerBlock = size(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  prop->hostRegisterSupported = get(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  prop->memoryPoolsSupported = get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  prop->clusterLaunch = get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  prop->unifiedFunctionPointers = get(CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS);
}

cudaError_t UseDevice(const DriverApi& driver, int device) {
  RETURN_IF_CUDA_ERROR(CheckDevice(driver, device));
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.bridge->use_primary(device)));
  CurrentThread().device = device;
  return cudaSuccess;
}

// The device's primary context, for peer access.
cudaError_t PrimaryOf(const DriverApi& driver, int device, CUcontext* context) {
  RETURN_IF_CUDA_ERROR(CheckDevice(driver, device));
  unsigned flags = 0;
  int active = 0;
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.cuDevicePrimaryCtxGetState(device, &flags, &active)));
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.cuDevicePrimaryCtxRetain(context, device)));
  // The runtime keeps one reference to a context: the one that makes it.
  if (active == 0) return cudaSuccess;
  return ToRuntime(driver.cuDevicePrimaryCtxRelease_v2(device));
}

}  // namespace

RUNTIME_ENTRY_NO_CONTEXT(cudaDriverGetVersion, v3020, (int* driverVersion), (driverVersion)) {
  return ToRuntime(driver.cuDriverGetVersion(driverVersion));
}

extern "C" cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  if (runtimeVersion == nullptr) return Note(cudaErrorInvalidValue);
  *runtimeVersion = kRuntimeVersion;  // Needs no driver, so there is nobody to report it to.
  return cudaSuccess;
}

RUNTIME_ENTRY_NO_CONTEXT(cudaGetDeviceCount, v3020, (int* count), (count)) {
  return ToRuntime(driver.cuDeviceGetCount(count));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaGetDeviceProperties, v12000, (cudaDeviceProp * prop, int device),
                         (prop, device)) {
  if (prop == nullptr) return cudaErrorInvalidValue;
  RETURN_IF_CUDA_ERROR(CheckDevice(driver, device));
  FillProperties(driver, device, prop);
  return cudaSuccess;
}

RUNTIME_ENTRY_NO_CONTEXT(cudaDeviceGetAttribute, v5000,
                         (int* value, cudaDeviceAttr attr, int device), (value, attr, device)) {
  RETURN_IF_CUDA_ERROR(CheckDevice(driver, device));
  return ToRuntime(
      driver.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attr), device));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaChooseDevice, v3020, (int* device, const cudaDeviceProp* prop),
                         (device, prop)) {
  if (device == nullptr || prop == nullptr) return cudaErrorInvalidValue;
  *device = 0;
  return cudaSuccess;
}

RUNTIME_ENTRY_NO_CONTEXT(cudaSetDevice, v3020, (int device), (device)) {
  return UseDevice(driver, device);
}

RUNTIME_ENTRY_NO_CONTEXT(cudaInitDevice, v12000,
                         (int device, unsigned int deviceFlags, unsigned int flags),
                         (device, deviceFlags, flags)) {
  RETURN_IF_CUDA_ERROR(CheckDevice(driver, device));
  CUcontext context;
  return PrimaryOf(driver, device, &context);
}

RUNTIME_ENTRY_NO_CONTEXT(cudaGetDevice, v3020, (int* device), (device)) {
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = CurrentDevice(driver);
  return cudaSuccess;
}

RUNTIME_ENTRY_NO_CONTEXT(cudaSetValidDevices, v3020, (int* device_arr, int len),
                         (device_arr, len)) {
  for (int i = 0; i < len; ++i) {
    if (device_arr == nullptr) return cudaErrorInvalidValue;
    RETURN_IF_CUDA_ERROR(CheckDevice(driver, device_arr[i]));
  }
  return cudaSuccess;
}

RUNTIME_ENTRY_NO_CONTEXT(cudaSetDeviceFlags, v3020, (unsigned int flags), (flags)) {
  if ((flags & ~unsigned{cudaDeviceMask}) != 0) return cudaErrorInvalidValue;
  return ToRuntime(driver.cuDevicePrimaryCtxSetFlags_v2(CurrentDevice(driver), flags));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaGetDeviceFlags, v7000, (unsigned int* flags), (flags)) {
  int active = 0;
  return ToRuntime(driver.cuDevicePrimaryCtxGetState(CurrentDevice(driver), flags, &active));
}

RUNTIME_ENTRY_NO_PARAMETERS(cudaDeviceReset, v3020) {
  return ToRuntime(driver.cuDevicePrimaryCtxReset_v2(CurrentDevice(driver)));
}

RUNTIME_ENTRY_NO_PARAMETERS(cudaDeviceSynchronize, v3020) {
  return ToRuntime(driver.cuCtxSynchronize());
}

RUNTIME_ENTRY(cudaDeviceSetLimit, v3020, (cudaLimit limit, size_t value), (limit, value)) {
  return ToRuntime(driver.cuCtxSetLimit(static_cast<CUlimit>(limit), value));
}

RUNTIME_ENTRY(cudaDeviceGetLimit, v3020, (size_t * pValue, cudaLimit limit), (pValue, limit)) {
  return ToRuntime(driver.cuCtxGetLimit(pValue, static_cast<CUlimit>(limit)));
}

RUNTIME_ENTRY(cudaDeviceGetCacheConfig, v3020, (cudaFuncCache * pCacheConfig), (pCacheConfig)) {
  if (pCacheConfig == nullptr) return cudaErrorInvalidValue;
  *pCacheConfig = cudaFuncCachePreferNone;
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaDeviceSetCacheConfig, v3020, (cudaFuncCache cacheConfig), (cacheConfig)) {
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaDeviceGetSharedMemConfig, v4020, (cudaSharedMemConfig * pConfig), (pConfig)) {
  if (pConfig == nullptr) return cudaErrorInvalidValue;
  *pConfig = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaDeviceSetSharedMemConfig, v4020, (cudaSharedMemConfig config), (config)) {
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaDeviceGetStreamPriorityRange, v5050, (int* leastPriority, int* greatestPriority),
              (leastPriority, greatestPriority)) {
  return ToRuntime(driver.cuCtxGetStreamPriorityRange(leastPriority, greatestPriority));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaDeviceGetPCIBusId, v4010, (char* pciBusId, int len, int device),
                         (pciBusId, len, device)) {
  return ToRuntime(driver.cuDeviceGetPCIBusId(pciBusId, len, device));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaDeviceGetByPCIBusId, v4010, (int* device, const char* pciBusId),
                         (device, pciBusId)) {
  return ToRuntime(driver.cuDeviceGetByPCIBusId(device, pciBusId));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaDeviceCanAccessPeer, v4000,
                         (int* canAccessPeer, int device, int peerDevice),
                         (canAccessPeer, device, peerDevice)) {
  return ToRuntime(driver.cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaDeviceGetP2PAttribute, v8000,
                         (int* value, cudaDeviceP2PAttr attr, int srcDevice, int dstDevice),
                         (value, attr, srcDevice, dstDevice)) {
  return ToRuntime(driver.cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attr),
                                                  srcDevice, dstDevice));
}

RUNTIME_ENTRY(cudaDeviceEnablePeerAccess, v4000, (int peerDevice, unsigned int flags),
              (peerDevice, flags)) {
  if (peerDevice == CurrentDevice(driver)) return cudaErrorInvalidDevice;
  CUcontext peer;
  RETURN_IF_CUDA_ERROR(PrimaryOf(driver, peerDevice, &peer));
  return ToRuntime(driver.cuCtxEnablePeerAccess(peer, flags));
}

RUNTIME_ENTRY(cudaDeviceDisablePeerAccess, v4000, (int peerDevice), (peerDevice)) {
  CUcontext peer;
  RETURN_IF_CUDA_ERROR(PrimaryOf(driver, peerDevice, &peer));
  return ToRuntime(driver.cuCtxDisablePeerAccess(peer));
}

RUNTIME_ENTRY_NO_PARAMETERS(cudaCtxResetPersistingL2Cache, v11000) {
  return ToRuntime(driver.cuCtxResetPersistingL2Cache());
}

RUNTIME_ENTRY_NO_PARAMETERS(cudaProfilerStart, v4000) {
  return ToRuntime(driver.cuProfilerStart());
}

RUNTIME_ENTRY_NO_PARAMETERS(cudaProfilerStop, v4000) { return ToRuntime(driver.cuProfilerStop()); }

static cudaError_t EntryPoint(const DriverApi& driver, const char* symbol, void** funcPtr,
                              unsigned version, unsigned long long flags,
                              cudaDriverEntryPointQueryResult* driverStatus) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  CUresult result =
      driver.cuGetProcAddress_v2(symbol, funcPtr, static_cast<int>(version), flags, &status);
  if (driverStatus != nullptr) {
    *driverStatus = static_cast<cudaDriverEntryPointQueryResult>(status);
  }
  // A symbol that is not there is a status, not an error.
  return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : ToRuntime(result);
}

RUNTIME_STREAM_ENTRY(cudaGetDriverEntryPoint, v11030, _ptsz, v11030,
                     (const char* symbol, void** funcPtr, unsigned long long flags,
                      cudaDriverEntryPointQueryResult* driverStatus),
                     (symbol, funcPtr, flags, driverStatus)) {
  if (default_stream != nullptr) flags |= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  return EntryPoint(driver, symbol, funcPtr, kRuntimeVersion, flags, driverStatus);
}

RUNTIME_STREAM_ENTRY(cudaGetDriverEntryPointByVersion, v12050, _ptsz, v12050,
                     (const char* symbol, void** funcPtr, unsigned int cudaVersion,
                      unsigned long long flags, cudaDriverEntryPointQueryResult* driverStatus),
                     (symbol, funcPtr, cudaVersion, flags, driverStatus)) {
  if (default_stream != nullptr) flags |= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  return EntryPoint(driver, symbol, funcPtr, cudaVersion, flags, driverStatus);
}

extern "C" cudaError_t cudaGetExportTable(const void** ppExportTable, const cudaUUID_t*) {
  // The private tables that NVIDIA's own libraries ask for do not exist here.
  if (ppExportTable != nullptr) *ppExportTable = nullptr;
  return cudaErrorSymbolNotFound;
}

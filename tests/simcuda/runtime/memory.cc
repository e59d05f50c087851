// Allocation, pools and what pointers are.
#include "tests/simcuda/runtime/entry.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace {

CUdeviceptr* AsDevice(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }
CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUmemLocation ToDriver(const cudaMemLocation& from) {
  CUmemLocation to = {};
  to.type = static_cast<CUmemLocationType>(from.type);
  to.id = from.id;
  return to;
}

CUmemoryPool ToDriver(cudaMemPool_t pool) { return pool; }

}  // namespace

RUNTIME_ENTRY(cudaMalloc, v3020, (void** devPtr, size_t size), (devPtr, size)) {
  if (devPtr == nullptr) return cudaErrorInvalidValue;
  if (size == 0) {
    *devPtr = nullptr;
    return cudaSuccess;
  }
  return ToRuntime(driver.cuMemAlloc_v2(AsDevice(devPtr), size));
}

RUNTIME_ENTRY(cudaFree, v3020, (void* devPtr), (devPtr)) {
  return ToRuntime(driver.cuMemFree_v2(Address(devPtr)));
}

RUNTIME_ENTRY(cudaMallocPitch, v3020, (void** devPtr, size_t* pitch, size_t width, size_t height),
              (devPtr, pitch, width, height)) {
  return ToRuntime(driver.cuMemAllocPitch_v2(AsDevice(devPtr), pitch, width, height, 4));
}

RUNTIME_ENTRY(cudaMalloc3D, v3020, (cudaPitchedPtr * pitchedDevPtr, cudaExtent extent),
              (pitchedDevPtr, extent)) {
  if (pitchedDevPtr == nullptr) return cudaErrorInvalidValue;
  *pitchedDevPtr = {nullptr, 0, extent.width, extent.height};
  return ToRuntime(driver.cuMemAllocPitch_v2(AsDevice(&pitchedDevPtr->ptr), &pitchedDevPtr->pitch,
                                             extent.width, extent.height * extent.depth, 4));
}

RUNTIME_ENTRY(cudaMallocManaged, v6000, (void** devPtr, size_t size, unsigned int flags),
              (devPtr, size, flags)) {
  return ToRuntime(driver.cuMemAllocManaged(AsDevice(devPtr), size, flags));
}

RUNTIME_ENTRY(cudaMallocHost, v3020, (void** ptr, size_t size), (ptr, size)) {
  return ToRuntime(driver.cuMemHostAlloc(ptr, size, 0));
}

RUNTIME_ENTRY(cudaHostAlloc, v3020, (void** pHost, size_t size, unsigned int flags),
              (pHost, size, flags)) {
  return ToRuntime(driver.cuMemHostAlloc(pHost, size, flags));
}

RUNTIME_ENTRY(cudaFreeHost, v3020, (void* ptr), (ptr)) {
  return ptr == nullptr ? cudaSuccess : ToRuntime(driver.cuMemFreeHost(ptr));
}

RUNTIME_ENTRY(cudaHostRegister, v4000, (void* ptr, size_t size, unsigned int flags),
              (ptr, size, flags)) {
  return ToRuntime(driver.cuMemHostRegister_v2(ptr, size, flags));
}

RUNTIME_ENTRY(cudaHostUnregister, v4000, (void* ptr), (ptr)) {
  return ToRuntime(driver.cuMemHostUnregister(ptr));
}

RUNTIME_ENTRY(cudaHostGetDevicePointer, v3020, (void** pDevice, void* pHost, unsigned int flags),
              (pDevice, pHost, flags)) {
  return ToRuntime(driver.cuMemHostGetDevicePointer_v2(AsDevice(pDevice), pHost, flags));
}

RUNTIME_ENTRY(cudaHostGetFlags, v3020, (unsigned int* pFlags, void* pHost), (pFlags, pHost)) {
  return ToRuntime(driver.cuMemHostGetFlags(pFlags, pHost));
}

RUNTIME_ENTRY(cudaMemGetInfo, v3020, (size_t * free, size_t* total), (free, total)) {
  return ToRuntime(driver.cuMemGetInfo_v2(free, total));
}

RUNTIME_ENTRY(cudaPointerGetAttributes, v4000,
              (cudaPointerAttributes * attributes, const void* ptr), (attributes, ptr)) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  unsigned type = 0, managed = 0;
  int device = 0;
  CUdeviceptr device_pointer = 0;
  void* host_pointer = nullptr;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                  CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* values[] = {&type, &managed, &device, &device_pointer, &host_pointer};
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.cuPointerGetAttributes(5, wanted, values, Address(ptr))));
  *attributes = {};
  attributes->device = device;
  if (type == 0) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->hostPointer = const_cast<void*>(ptr);
    return cudaSuccess;
  }
  attributes->type = managed != 0                 ? cudaMemoryTypeManaged
                     : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                  : cudaMemoryTypeDevice;
  attributes->devicePointer = reinterpret_cast<void*>(device_pointer);
  attributes->hostPointer = host_pointer;
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaMemAdvise, v12020,
              (const void* devPtr, size_t count, cudaMemoryAdvise advice, cudaMemLocation location),
              (devPtr, count, advice, location)) {
  return ToRuntime(driver.cuMemAdvise_v2(Address(devPtr), count, static_cast<CUmem_advise>(advice),
                                         ToDriver(location)));
}

RUNTIME_STREAM_ENTRY(cudaMemPrefetchAsync, v12020, _ptsz, v12020,
                     (const void* devPtr, size_t count, cudaMemLocation location,
                      unsigned int flags, cudaStream_t stream),
                     (devPtr, count, location, flags, stream)) {
  return ToRuntime(driver.cuMemPrefetchAsync_v2(Address(devPtr), count, ToDriver(location), flags,
                                                StreamOr(stream, default_stream)));
}

RUNTIME_ENTRY(cudaMemRangeGetAttribute, v8000,
              (void* data, size_t dataSize, cudaMemRangeAttribute attribute, const void* devPtr,
               size_t count),
              (data, dataSize, attribute, devPtr, count)) {
  return ToRuntime(driver.cuMemRangeGetAttribute(
      data, dataSize, static_cast<CUmem_range_attribute>(attribute), Address(devPtr), count));
}

RUNTIME_STREAM_ENTRY(cudaMallocAsync, v11020, _ptsz, v11020,
                     (void** devPtr, size_t size, cudaStream_t hStream), (devPtr, size, hStream)) {
  return ToRuntime(
      driver.cuMemAllocAsync(AsDevice(devPtr), size, StreamOr(hStream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaFreeAsync, v11020, _ptsz, v11020, (void* devPtr, cudaStream_t hStream),
                     (devPtr, hStream)) {
  return ToRuntime(driver.cuMemFreeAsync(Address(devPtr), StreamOr(hStream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaMallocFromPoolAsync, v11020, _ptsz, v11020,
                     (void** ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream),
                     (ptr, size, memPool, stream)) {
  return ToRuntime(driver.cuMemAllocFromPoolAsync(AsDevice(ptr), size, ToDriver(memPool),
                                                  StreamOr(stream, default_stream)));
}

RUNTIME_ENTRY(cudaDeviceGetDefaultMemPool, v11020, (cudaMemPool_t * memPool, int device),
              (memPool, device)) {
  return ToRuntime(driver.cuDeviceGetDefaultMemPool(memPool, device));
}

RUNTIME_ENTRY(cudaDeviceGetMemPool, v11020, (cudaMemPool_t * memPool, int device),
              (memPool, device)) {
  return ToRuntime(driver.cuDeviceGetMemPool(memPool, device));
}

RUNTIME_ENTRY(cudaDeviceSetMemPool, v11020, (int device, cudaMemPool_t memPool),
              (device, memPool)) {
  return ToRuntime(driver.cuDeviceSetMemPool(device, memPool));
}

RUNTIME_ENTRY(cudaMemPoolCreate, v11020,
              (cudaMemPool_t * memPool, const cudaMemPoolProps* poolProps), (memPool, poolProps)) {
  // The structures are laid out alike.
  return ToRuntime(
      driver.cuMemPoolCreate(memPool, reinterpret_cast<const CUmemPoolProps*>(poolProps)));
}

RUNTIME_ENTRY(cudaMemPoolDestroy, v11020, (cudaMemPool_t memPool), (memPool)) {
  return ToRuntime(driver.cuMemPoolDestroy(memPool));
}

RUNTIME_ENTRY(cudaMemPoolTrimTo, v11020, (cudaMemPool_t memPool, size_t minBytesToKeep),
              (memPool, minBytesToKeep)) {
  return ToRuntime(driver.cuMemPoolTrimTo(memPool, minBytesToKeep));
}

RUNTIME_ENTRY(cudaMemPoolSetAttribute, v11020,
              (cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value), (memPool, attr, value)) {
  return ToRuntime(
      driver.cuMemPoolSetAttribute(memPool, static_cast<CUmemPool_attribute>(attr), value));
}

RUNTIME_ENTRY(cudaMemPoolGetAttribute, v11020,
              (cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value), (memPool, attr, value)) {
  return ToRuntime(
      driver.cuMemPoolGetAttribute(memPool, static_cast<CUmemPool_attribute>(attr), value));
}

RUNTIME_ENTRY(cudaMemPoolSetAccess, v11020,
              (cudaMemPool_t memPool, const cudaMemAccessDesc* descList, size_t count),
              (memPool, descList, count)) {
  return ToRuntime(driver.cuMemPoolSetAccess(
      memPool, reinterpret_cast<const CUmemAccessDesc*>(descList), count));
}

RUNTIME_ENTRY(cudaMemPoolGetAccess, v11020,
              (cudaMemAccessFlags * flags, cudaMemPool_t memPool, cudaMemLocation* location),
              (flags, memPool, location)) {
  return ToRuntime(driver.cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), memPool,
                                             reinterpret_cast<CUmemLocation*>(location)));
}

// Allocation of device, pinned and managed memory, and what pointers are.
#include "tests/simcuda/driver/entry.h"

#include <cstring>

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace {

void ReportMemory(bool allocated, const Allocation& allocation, bool async, uint32_t stream_id) {
  if (CurrentObserver() == nullptr) return;
  MemoryEvent event = {};
  event.allocated = allocated;
  event.address = allocation.address;
  event.bytes = allocation.bytes;
  event.time_ns = NowNs();
  event.memory_kind = static_cast<uint32_t>(allocation.kind);
  event.device_id = allocation.device_id;
  event.context_id = allocation.context_id;
  event.stream_id = stream_id;
  event.correlation_id = Thread().correlation_id();
  event.async = async;
  event.from_pool = allocation.from_pool;
  Report(event);
}

CUresult Allocate(uint64_t* address, size_t bytes, MemoryKind kind, unsigned host_flags = 0) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  RETURN_IF_ERROR(CheckUnsafeCall());
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.device_id = context->device->id;
  allocation.context_id = context->id;
  allocation.context = context;
  allocation.host_flags = host_flags;
  allocation.address = Memory::Instance().Allocate(allocation);
  if (allocation.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = allocation.address;
  ReportMemory(true, allocation, false, 0);
  return CUDA_SUCCESS;
}

CUresult Free(uint64_t address, MemoryKind kind) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (address == 0) return kind == MemoryKind::kDevice ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  RETURN_IF_ERROR(CheckUnsafeCall());
  Allocation allocation;
  if (!Memory::Instance().Find(address, &allocation) || allocation.address != address) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Memory is only given back when nothing can be using it any more.
  RETURN_IF_ERROR(WaitForContext(*context));
  if (allocation.of_graph) return CUDA_SUCCESS;
  if (!Memory::Instance().Free(address, kind, &allocation)) return CUDA_ERROR_INVALID_VALUE;
  ReportMemory(false, allocation, false, 0);
  return CUDA_SUCCESS;
}

CUresult AllocateHost(void** pp, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (pp == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  uint64_t address = 0;
  RETURN_IF_ERROR(Allocate(&address, bytes, MemoryKind::kPinned, flags));
  *pp = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

CUresult Attribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Allocation allocation;
  bool known = Memory::Instance().Find(ptr, &allocation);
  auto put = [&](auto value) {
    memcpy(data, &value, sizeof(value));
    return CUDA_SUCCESS;
  };
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  bool pinned = allocation.kind == MemoryKind::kPinned;
  bool managed = allocation.kind == MemoryKind::kManaged;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(allocation.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(static_cast<unsigned>(pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(ptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return pinned || managed ? put(ptr) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(static_cast<unsigned long long>(allocation.buffer_id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(static_cast<unsigned>(managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(static_cast<int>(allocation.device_id));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(static_cast<CUdeviceptr>(allocation.address));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(allocation.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(1u);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(0u);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

DRIVER_ENTRY(cuMemGetInfo_v2, (size_t * free, size_t* total), (free, total)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (free == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *free = Memory::Instance().FreeBytes(context->device->id);
  *total = Memory::kDeviceBytes;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemAlloc_v2, (CUdeviceptr * dptr, size_t bytesize), (dptr, bytesize)) {
  uint64_t address = 0;
  RETURN_IF_ERROR(Allocate(dptr == nullptr ? nullptr : &address, bytesize, MemoryKind::kDevice));
  *dptr = address;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemAllocPitch_v2,
             (CUdeviceptr * dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
              unsigned int ElementSizeBytes),
             (dptr, pPitch, WidthInBytes, Height, ElementSizeBytes)) {
  if (dptr == nullptr || pPitch == nullptr || WidthInBytes == 0 || Height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t pitch = (WidthInBytes + Memory::kAlignment - 1) / Memory::kAlignment * Memory::kAlignment;
  uint64_t address = 0;
  RETURN_IF_ERROR(Allocate(&address, pitch * Height, MemoryKind::kDevice));
  *dptr = address;
  *pPitch = pitch;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemFree_v2, (CUdeviceptr dptr), (dptr)) { return Free(dptr, MemoryKind::kDevice); }

DRIVER_ENTRY(cuMemGetAddressRange_v2, (CUdeviceptr * pbase, size_t* psize, CUdeviceptr dptr),
             (pbase, psize, dptr)) {
  Allocation allocation;
  if (!Memory::Instance().Find(dptr, &allocation)) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = allocation.address;
  if (psize != nullptr) *psize = allocation.bytes;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags),
             (dptr, bytesize, flags)) {
  if (dptr == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t address = 0;
  RETURN_IF_ERROR(Allocate(&address, bytesize, MemoryKind::kManaged));
  *dptr = address;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemAllocHost_v2, (void** pp, size_t bytesize), (pp, bytesize)) {
  return AllocateHost(pp, bytesize, 0);
}

DRIVER_ENTRY(cuMemHostAlloc, (void** pp, size_t bytesize, unsigned int Flags),
             (pp, bytesize, Flags)) {
  return AllocateHost(pp, bytesize, Flags);
}

DRIVER_ENTRY(cuMemFreeHost, (void* p), (p)) {
  return Free(reinterpret_cast<uint64_t>(p), MemoryKind::kPinned);
}

DRIVER_ENTRY(cuMemHostGetDevicePointer_v2, (CUdeviceptr * pdptr, void* p, unsigned int Flags),
             (pdptr, p, Flags)) {
  if (pdptr == nullptr || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (Memory::Instance().KindOf(reinterpret_cast<uint64_t>(p)) != MemoryKind::kPinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pdptr = reinterpret_cast<CUdeviceptr>(p);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemHostGetFlags, (unsigned int* pFlags, void* p), (pFlags, p)) {
  Allocation allocation;
  if (pFlags == nullptr || !Memory::Instance().Find(reinterpret_cast<uint64_t>(p), &allocation) ||
      allocation.kind != MemoryKind::kPinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pFlags = allocation.host_flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemHostRegister_v2, (void* p, size_t bytesize, unsigned int Flags),
             (p, bytesize, Flags)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (p == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation allocation;
  allocation.address = reinterpret_cast<uint64_t>(p);
  allocation.bytes = bytesize;
  allocation.kind = MemoryKind::kPinned;
  allocation.device_id = context->device->id;
  allocation.context_id = context->id;
  allocation.context = context;
  allocation.host_flags = Flags;
  return Memory::Instance().Register(allocation) ? CUDA_SUCCESS
                                                 : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

DRIVER_ENTRY(cuMemHostUnregister, (void* p), (p)) {
  return Memory::Instance().Unregister(reinterpret_cast<uint64_t>(p))
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

DRIVER_ENTRY(cuPointerGetAttribute, (void* data, CUpointer_attribute attribute, CUdeviceptr ptr),
             (data, attribute, ptr)) {
  return Attribute(data, attribute, ptr);
}

DRIVER_ENTRY(cuPointerGetAttributes,
             (unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
              CUdeviceptr ptr),
             (numAttributes, attributes, data, ptr)) {
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Allocation allocation;
  bool known = Memory::Instance().Find(ptr, &allocation);
  for (unsigned i = 0; i < numAttributes; ++i) {
    // Unlike the function for one attribute, this one answers zeros for memory that CUDA does not
    // know.
    bool wide = attributes[i] == CU_POINTER_ATTRIBUTE_CONTEXT ||
                attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
                attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
                attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
                attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE ||
                attributes[i] == CU_POINTER_ATTRIBUTE_BUFFER_ID;
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    memset(data[i], 0, wide ? 8 : 4);
    if (known) Attribute(data[i], attributes[i], ptr);
    if (!known && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
      int none = -2;
      memcpy(data[i], &none, sizeof(none));
    }
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuPointerSetAttribute,
             (const void* value, CUpointer_attribute attribute, CUdeviceptr ptr),
             (value, attribute, ptr)) {
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Allocation allocation;
  return Memory::Instance().Find(ptr, &allocation) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_ENTRY(cuMemAdvise_v2,
             (CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location),
             (devPtr, count, advice, location)) {
  return Memory::Instance().KindOf(devPtr) == MemoryKind::kManaged ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_STREAM_ENTRY(cuMemPrefetchAsync_v2, _ptsz,
                    (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
                     CUstream hStream),
                    (devPtr, count, location, flags, hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (flags != 0 || Memory::Instance().KindOf(devPtr) != MemoryKind::kManaged) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemRangeGetAttribute,
             (void* data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr,
              size_t count),
             (data, dataSize, attribute, devPtr, count)) {
  if (data == nullptr || Memory::Instance().KindOf(devPtr) != MemoryKind::kManaged) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  memset(data, 0, dataSize);
  return CUDA_SUCCESS;
}

// Stream-ordered allocation. Pools are names only: all memory comes from the device's one range,
// and all pools of a device show what is allocated from any of them.
namespace {

struct Pool {
  CUdevice device = 0;
  uint64_t release_threshold = 0;
};

HandleTable<Pool, 1 << 12>& Pools() {
  static auto* pools = new HandleTable<Pool, 1 << 12>;
  return *pools;
}

CUmemoryPool& CurrentPool(CUdevice device, bool standard) {
  static auto* pools = new CUmemoryPool[64][2]();
  CUmemoryPool& usual = pools[device][0];
  if (usual == nullptr) {
    Pool pool;
    pool.device = device;
    usual = reinterpret_cast<CUmemoryPool>(Pools().Create(pool));
  }
  CUmemoryPool& current = pools[device][1];
  if (current == nullptr) current = usual;
  return standard ? usual : current;
}

CUresult AllocateAsync(CUdeviceptr* dptr, size_t bytes, Stream& stream) {
  if (dptr == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const Context& context = *stream.context;
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::kDevice;
  allocation.device_id = context.device->id;
  allocation.context_id = context.id;
  allocation.context = stream.context;
  allocation.from_pool = true;
  allocation.of_graph = IsCapturing(stream);
  allocation.address = Memory::Instance().Allocate(allocation);
  if (allocation.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *dptr = allocation.address;
  ReportMemory(true, allocation, true, stream.id);
  // In a capture the address is fixed now; the node only marks the place.
  return allocation.of_graph ? Submit(stream, Operation()) : CUDA_SUCCESS;
}

}  // namespace

DRIVER_STREAM_ENTRY(cuMemAllocAsync, _ptsz, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream),
                    (dptr, bytesize, hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  return AllocateAsync(dptr, bytesize, *stream);
}

DRIVER_STREAM_ENTRY(cuMemAllocFromPoolAsync, _ptsz,
                    (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),
                    (dptr, bytesize, pool, hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (Pools().Get(pool) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AllocateAsync(dptr, bytesize, *stream);
}

DRIVER_STREAM_ENTRY(cuMemFreeAsync, _ptsz, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (dptr == 0) return CUDA_SUCCESS;
  Allocation allocation;
  if (!Memory::Instance().Find(dptr, &allocation) || allocation.address != dptr ||
      allocation.kind != MemoryKind::kDevice) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Operation operation;
  if (!allocation.of_graph && !IsCapturing(*stream)) operation.what = FreeMemory{dptr};
  ReportMemory(false, allocation, true, stream->id);
  return Submit(*stream, operation);
}

DRIVER_ENTRY(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool_out, CUdevice dev), (pool_out, dev)) {
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (pool_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  *pool_out = CurrentPool(dev, true);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice dev), (pool, dev)) {
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  *pool = CurrentPool(dev, false);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceSetMemPool, (CUdevice dev, CUmemoryPool pool), (dev, pool)) {
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (Pools().Get(pool) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  CurrentPool(dev, false) = pool;
  return CUDA_SUCCESS;
}

namespace {

void ReportPool(PoolChange change, CUmemoryPool pool, const Pool& found, size_t keep = 0) {
  if (CurrentObserver() == nullptr) return;
  MemoryPoolEvent event = {};
  event.change = change;
  event.address = reinterpret_cast<uint64_t>(pool);
  event.time_ns = NowNs();
  event.used_bytes = Memory::Instance().PoolBytes(static_cast<uint32_t>(found.device));
  event.release_threshold = found.release_threshold;
  event.min_bytes_to_keep = keep;
  event.device_id = static_cast<uint32_t>(found.device);
  event.correlation_id = Thread().correlation_id();
  Report(event);
}

}  // namespace

DRIVER_ENTRY(cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps* poolProps),
             (pool, poolProps)) {
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (FindDevice(poolProps->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Pool made;
  made.device = poolProps->location.id;
  *pool = reinterpret_cast<CUmemoryPool>(Pools().Create(made));
  ReportPool(PoolChange::kCreated, *pool, made);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemPoolDestroy, (CUmemoryPool pool), (pool)) {
  Pool* found = Pools().Get(pool);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Pool ended = *found;
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    if (CurrentPool(found->device, true) == pool) return CUDA_ERROR_INVALID_VALUE;
    CUmemoryPool& current = CurrentPool(found->device, false);
    if (current == pool) current = CurrentPool(found->device, true);
    Pools().Destroy(found);
  }
  ReportPool(PoolChange::kDestroyed, pool, ended);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemPoolTrimTo, (CUmemoryPool pool, size_t minBytesToKeep), (pool, minBytesToKeep)) {
  const Pool* found = Pools().Get(pool);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ReportPool(PoolChange::kTrimmed, pool, *found, minBytesToKeep);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemPoolSetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void* value),
             (pool, attr, value)) {
  Pool* found = Pools().Get(pool);
  if (found == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
    found->release_threshold = *static_cast<cuuint64_t*>(value);
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemPoolGetAttribute, (CUmemoryPool pool, CUmemPool_attribute attr, void* value),
             (pool, attr, value)) {
  const Pool* found = Pools().Get(pool);
  if (found == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) = 1;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<cuuint64_t*>(value) = found->release_threshold;
      return CUDA_SUCCESS;
    default:
      *static_cast<cuuint64_t*>(value) =
          Memory::Instance().PoolBytes(static_cast<uint32_t>(found->device));
      return CUDA_SUCCESS;
  }
}

DRIVER_ENTRY(cuMemPoolSetAccess, (CUmemoryPool pool, const CUmemAccessDesc* map, size_t count),
             (pool, map, count)) {
  return Pools().Get(pool) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemPoolGetAccess,
             (CUmemAccess_flags * flags, CUmemoryPool memPool, CUmemLocation* location),
             (flags, memPool, location)) {
  if (Pools().Get(memPool) == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

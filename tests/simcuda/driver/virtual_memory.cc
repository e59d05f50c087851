// Virtual memory management: address ranges apart from the memory that is mapped there. A piece of
// physical memory is a memory file, so that it keeps its bytes wherever it is mapped.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace {

constexpr size_t kGranularity = size_t{2} << 20;

struct Physical {
  int file = -1;
  size_t bytes = 0;
  CUmemAllocationProp properties = {};
  int references = 1;  // The handle, and mappings.
};

HandleTable<Physical, 1 << 16>& Pieces() {
  static auto* pieces = new HandleTable<Physical, 1 << 16>;
  return *pieces;
}

struct Mappings {
  std::mutex mutex;
  std::unordered_map<CUdeviceptr, Physical*> pieces;
};

Mappings& AllMappings() {
  static auto* mappings = new Mappings;
  return *mappings;
}

// Under the mutex of the mappings.
void Release(Physical* piece) {
  if (--piece->references > 0) return;
  close(piece->file);
  Memory::Instance().ChargePhysical(static_cast<uint32_t>(piece->properties.location.id),
                                    -static_cast<int64_t>(piece->bytes));
  Pieces().Free(piece);
}

Physical* Find(CUmemGenericAllocationHandle handle) {
  return Pieces().Get(reinterpret_cast<const void*>(handle));
}

}  // namespace

DRIVER_ENTRY(cuMemGetAllocationGranularity,
             (size_t * granularity, const CUmemAllocationProp* prop,
              CUmemAllocationGranularity_flags option),
             (granularity, prop, option)) {
  if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemAddressReserve,
             (CUdeviceptr * ptr, size_t size, size_t alignment, CUdeviceptr addr,
              unsigned long long flags),
             (ptr, size, alignment, addr, flags)) {
  if (ptr == nullptr || size == 0 || size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  *ptr = Memory::Instance().ReserveRange(size);
  return *ptr == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemAddressFree, (CUdeviceptr ptr, size_t size), (ptr, size)) {
  return Memory::Instance().ReleaseRange(ptr, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_ENTRY(cuMemCreate,
             (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp* prop,
              unsigned long long flags),
             (handle, size, prop, flags)) {
  if (handle == nullptr || prop == nullptr || size == 0 || size % kGranularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (FindDevice(prop->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  uint32_t device = static_cast<uint32_t>(prop->location.id);
  if (size > Memory::Instance().FreeBytes(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  Physical piece;
  piece.file = memfd_create("simcuda", MFD_CLOEXEC);
  if (piece.file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (ftruncate(piece.file, static_cast<off_t>(size)) != 0) {
    close(piece.file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  piece.bytes = size;
  piece.properties = *prop;
  Memory::Instance().ChargePhysical(device, static_cast<int64_t>(size));
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(Pieces().Create(piece));
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle)) {
  Physical* piece = Find(handle);
  if (piece == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(AllMappings().mutex);
  Pieces().Retire(piece);
  Release(piece);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemMap,
             (CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
              unsigned long long flags),
             (ptr, size, offset, handle, flags)) {
  Physical* piece = Find(handle);
  if (piece == nullptr || size == 0 || offset + size > piece->bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Allocation allocation;
  allocation.address = ptr;
  allocation.bytes = size;
  allocation.kind = MemoryKind::kDevice;
  allocation.device_id = static_cast<uint32_t>(piece->properties.location.id);
  Context* context = CurrentContext();
  allocation.context_id = context == nullptr ? 0 : context->id;
  if (!Memory::Instance().MapFile(allocation, piece->file, offset)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::lock_guard<std::mutex> lock(AllMappings().mutex);
  ++piece->references;
  AllMappings().pieces[ptr] = piece;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemSetAccess,
             (CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count),
             (ptr, size, desc, count)) {
  if (desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  bool read = false, write = false;
  for (size_t i = 0; i < count; ++i) {
    read |= desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    write |= desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  return Memory::Instance().SetAccess(ptr, size, read, write) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_ENTRY(cuMemUnmap, (CUdeviceptr ptr, size_t size), (ptr, size)) {
  std::lock_guard<std::mutex> lock(AllMappings().mutex);
  auto& pieces = AllMappings().pieces;
  // The range may be made of several mappings, one behind the other.
  for (CUdeviceptr at = ptr; at < ptr + size;) {
    auto found = pieces.find(at);
    Allocation allocation;
    if (found == pieces.end() || !Memory::Instance().Find(at, &allocation)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Memory::Instance().UnmapFile(at, allocation.bytes);
    Release(found->second);
    pieces.erase(found);
    at += allocation.bytes;
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMemGetAllocationPropertiesFromHandle,
             (CUmemAllocationProp * prop, CUmemGenericAllocationHandle handle), (prop, handle)) {
  const Physical* piece = Find(handle);
  if (piece == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = piece->properties;
  return CUDA_SUCCESS;
}

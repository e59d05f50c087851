// Arrays, and texture and surface objects, which are only numbers here: no kernel reads through
// them.
#include "tests/simcuda/driver/array.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace simcuda {
namespace {

struct MipmappedArray {
  uint64_t address = 0;
  std::vector<Array*> levels;
};

struct TextureObject {
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC texture = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
  bool surface = false;
};

HandleTable<Array, 1 << 16>& Arrays() {
  static auto* arrays = new HandleTable<Array, 1 << 16>;
  return *arrays;
}

HandleTable<MipmappedArray, 1 << 14>& MipmappedArrays() {
  static auto* arrays = new HandleTable<MipmappedArray, 1 << 14>;
  return *arrays;
}

struct TextureObjects {
  std::mutex mutex;
  std::unordered_map<unsigned long long, TextureObject> objects;
  unsigned long long next = 1;
};

TextureObjects& Textures() {
  static auto* objects = new TextureObjects;
  return *objects;
}

uint64_t AllocateArrayMemory(const Context& context, size_t bytes) {
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.kind = MemoryKind::kArray;
  allocation.device_id = context.device->id;
  allocation.context_id = context.id;
  allocation.context = const_cast<Context*>(&context);
  return Memory::Instance().Allocate(allocation);
}

CUresult Create(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  unsigned channels = descriptor.NumChannels;
  if (handle == nullptr || descriptor.Width == 0 ||
      (channels != 1 && channels != 2 && channels != 4)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Array array;
  array.descriptor = descriptor;
  if (array.element_bytes() == 0) return CUDA_ERROR_INVALID_VALUE;
  array.address = AllocateArrayMemory(*context, array.bytes());
  if (array.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = reinterpret_cast<CUarray>(Arrays().Create(array));
  return CUDA_SUCCESS;
}

CUDA_ARRAY3D_DESCRIPTOR Widen(const CUDA_ARRAY_DESCRIPTOR& flat) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = flat.Width;
  descriptor.Height = flat.Height;
  descriptor.Format = flat.Format;
  descriptor.NumChannels = flat.NumChannels;
  return descriptor;
}

CUresult CreateObject(unsigned long long* handle, const TextureObject& object) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (object.resource.resType == CU_RESOURCE_TYPE_ARRAY &&
      FindArray(object.resource.res.array.hArray) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  TextureObjects& textures = Textures();
  std::lock_guard<std::mutex> lock(textures.mutex);
  *handle = textures.next++;
  textures.objects[*handle] = object;
  return CUDA_SUCCESS;
}

CUresult DestroyObject(unsigned long long handle) {
  TextureObjects& textures = Textures();
  std::lock_guard<std::mutex> lock(textures.mutex);
  return textures.objects.erase(handle) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

template <typename Description>
CUresult Describe(unsigned long long handle, Description* description,
                  Description TextureObject::*member) {
  TextureObjects& textures = Textures();
  std::lock_guard<std::mutex> lock(textures.mutex);
  auto at = textures.objects.find(handle);
  if (at == textures.objects.end() || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *description = at->second.*member;
  return CUDA_SUCCESS;
}

}  // namespace

size_t Array::element_bytes() const {
  size_t channel = 0;
  switch (descriptor.Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      channel = 1;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      channel = 2;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      channel = 4;
      break;
    default:
      break;
  }
  return channel * descriptor.NumChannels;
}

Array* FindArray(CUarray handle) { return Arrays().Get(handle); }

}  // namespace simcuda

DRIVER_ENTRY(cuArrayCreate_v2, (CUarray * pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray),
             (pHandle, pAllocateArray)) {
  if (pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Create(pHandle, Widen(*pAllocateArray));
}

DRIVER_ENTRY(cuArray3DCreate_v2, (CUarray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray),
             (pHandle, pAllocateArray)) {
  if (pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Create(pHandle, *pAllocateArray);
}

DRIVER_ENTRY(cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR * pArrayDescriptor, CUarray hArray),
             (pArrayDescriptor, hArray)) {
  const Array* array = FindArray(hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = {array->descriptor.Width, array->descriptor.Height, array->descriptor.Format,
                       array->descriptor.NumChannels};
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuArray3DGetDescriptor_v2,
             (CUDA_ARRAY3D_DESCRIPTOR * pArrayDescriptor, CUarray hArray),
             (pArrayDescriptor, hArray)) {
  const Array* array = FindArray(hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = array->descriptor;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuArrayDestroy, (CUarray hArray), (hArray)) {
  Array* array = FindArray(hArray);
  if (array == nullptr || !array->owns_memory) return CUDA_ERROR_INVALID_HANDLE;
  Allocation freed;
  Memory::Instance().Free(array->address, MemoryKind::kArray, &freed);
  Arrays().Destroy(array);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMipmappedArrayCreate,
             (CUmipmappedArray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
              unsigned int numMipmapLevels),
             (pHandle, pMipmappedArrayDesc, numMipmapLevels)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr || numMipmapLevels == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<Array> levels;
  size_t bytes = 0;
  Array level;
  level.owns_memory = false;
  level.descriptor = *pMipmappedArrayDesc;
  if (level.element_bytes() == 0 || level.bytes() == 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < numMipmapLevels; ++i) {
    level.address = bytes;
    bytes += level.bytes();
    levels.push_back(level);
    auto& size = level.descriptor;
    size.Width = std::max<size_t>(size.Width / 2, 1);
    if (size.Height > 1) size.Height /= 2;
    if (size.Depth > 1) size.Depth /= 2;
  }
  MipmappedArray mipmapped;
  mipmapped.address = AllocateArrayMemory(*context, bytes);
  if (mipmapped.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  for (Array& one : levels) {
    one.address += mipmapped.address;
    mipmapped.levels.push_back(Arrays().Create(one));
  }
  *pHandle = reinterpret_cast<CUmipmappedArray>(MipmappedArrays().Create(mipmapped));
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMipmappedArrayGetLevel,
             (CUarray * pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level),
             (pLevelArray, hMipmappedArray, level)) {
  const MipmappedArray* array = MipmappedArrays().Get(hMipmappedArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pLevelArray == nullptr || level >= array->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *pLevelArray = reinterpret_cast<CUarray>(array->levels[level]);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuMipmappedArrayDestroy, (CUmipmappedArray hMipmappedArray), (hMipmappedArray)) {
  MipmappedArray* array = MipmappedArrays().Get(hMipmappedArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (Array* level : array->levels) Arrays().Destroy(level);
  Allocation freed;
  Memory::Instance().Free(array->address, MemoryKind::kArray, &freed);
  MipmappedArrays().Destroy(array);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuTexObjectCreate,
             (CUtexObject * pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
              const CUDA_TEXTURE_DESC* pTexDesc, const CUDA_RESOURCE_VIEW_DESC* pResViewDesc),
             (pTexObject, pResDesc, pTexDesc, pResViewDesc)) {
  if (pResDesc == nullptr || pTexDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TextureObject object;
  object.resource = *pResDesc;
  object.texture = *pTexDesc;
  if (pResViewDesc != nullptr) object.view = *pResViewDesc;
  return CreateObject(pTexObject, object);
}

DRIVER_ENTRY(cuTexObjectDestroy, (CUtexObject texObject), (texObject)) {
  return DestroyObject(texObject);
}

DRIVER_ENTRY(cuTexObjectGetResourceDesc, (CUDA_RESOURCE_DESC * pResDesc, CUtexObject texObject),
             (pResDesc, texObject)) {
  return Describe(texObject, pResDesc, &TextureObject::resource);
}

DRIVER_ENTRY(cuTexObjectGetTextureDesc, (CUDA_TEXTURE_DESC * pTexDesc, CUtexObject texObject),
             (pTexDesc, texObject)) {
  return Describe(texObject, pTexDesc, &TextureObject::texture);
}

DRIVER_ENTRY(cuTexObjectGetResourceViewDesc,
             (CUDA_RESOURCE_VIEW_DESC * pResViewDesc, CUtexObject texObject),
             (pResViewDesc, texObject)) {
  return Describe(texObject, pResViewDesc, &TextureObject::view);
}

DRIVER_ENTRY(cuSurfObjectCreate, (CUsurfObject * pSurfObject, const CUDA_RESOURCE_DESC* pResDesc),
             (pSurfObject, pResDesc)) {
  if (pResDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TextureObject object;
  object.resource = *pResDesc;
  object.surface = true;
  return CreateObject(pSurfObject, object);
}

DRIVER_ENTRY(cuSurfObjectDestroy, (CUsurfObject surfObject), (surfObject)) {
  return DestroyObject(surfObject);
}

DRIVER_ENTRY(cuSurfObjectGetResourceDesc, (CUDA_RESOURCE_DESC * pResDesc, CUsurfObject surfObject),
             (pResDesc, surfObject)) {
  return Describe(surfObject, pResDesc, &TextureObject::resource);
}

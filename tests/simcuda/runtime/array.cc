// Arrays, textures, surfaces and libraries.
#include "tests/simcuda/runtime/copy_params.h"
#include "tests/simcuda/runtime/entry.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace {

cudaError_t Format(const cudaChannelFormatDesc& from, CUDA_ARRAY3D_DESCRIPTOR* to) {
  to->NumChannels = (from.x > 0) + (from.y > 0) + (from.z > 0) + (from.w > 0);
  bool is_float = from.f == cudaChannelFormatKindFloat;
  bool is_signed = from.f == cudaChannelFormatKindSigned;
  switch (from.x) {
    case 8:
      to->Format = is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
      return cudaSuccess;
    case 16:
      to->Format = is_float    ? CU_AD_FORMAT_HALF
                   : is_signed ? CU_AD_FORMAT_SIGNED_INT16
                               : CU_AD_FORMAT_UNSIGNED_INT16;
      return cudaSuccess;
    case 32:
      to->Format = is_float    ? CU_AD_FORMAT_FLOAT
                   : is_signed ? CU_AD_FORMAT_SIGNED_INT32
                               : CU_AD_FORMAT_UNSIGNED_INT32;
      return cudaSuccess;
    default:
      return cudaErrorInvalidChannelDescriptor;
  }
}

cudaChannelFormatDesc Format(const CUDA_ARRAY3D_DESCRIPTOR& from) {
  int bits = 32;
  cudaChannelFormatKind kind = cudaChannelFormatKindFloat;
  switch (from.Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      bits = 8;
      kind = cudaChannelFormatKindUnsigned;
      break;
    case CU_AD_FORMAT_SIGNED_INT8:
      bits = 8;
      kind = cudaChannelFormatKindSigned;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
      bits = 16;
      kind = cudaChannelFormatKindUnsigned;
      break;
    case CU_AD_FORMAT_SIGNED_INT16:
      bits = 16;
      kind = cudaChannelFormatKindSigned;
      break;
    case CU_AD_FORMAT_HALF:
      bits = 16;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT32:
      kind = cudaChannelFormatKindUnsigned;
      break;
    case CU_AD_FORMAT_SIGNED_INT32:
      kind = cudaChannelFormatKindSigned;
      break;
    default:
      break;
  }
  unsigned channels = from.NumChannels;
  return {bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind};
}

cudaError_t Create(const DriverApi& driver, cudaArray_t* array, const cudaChannelFormatDesc* desc,
                   cudaExtent extent, unsigned flags) {
  if (array == nullptr || desc == nullptr) return cudaErrorInvalidValue;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  RETURN_IF_CUDA_ERROR(Format(*desc, &descriptor));
  descriptor.Width = extent.width;
  descriptor.Height = extent.height;
  descriptor.Depth = extent.depth;
  descriptor.Flags = flags;
  return ToRuntime(driver.cuArray3DCreate_v2(reinterpret_cast<CUarray*>(array), &descriptor));
}

// Only the kind of resource and the array matter: no kernel reads through the object.
cudaError_t Resource(const cudaResourceDesc* from, CUDA_RESOURCE_DESC* to) {
  if (from == nullptr) return cudaErrorInvalidValue;
  *to = {};
  to->resType = static_cast<CUresourcetype>(from->resType);
  if (from->resType == cudaResourceTypeArray) {
    to->res.array.hArray = ToDriver(from->res.array.array);
  }
  return cudaSuccess;
}

}  // namespace

extern "C" cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

RUNTIME_ENTRY(cudaMallocArray, v3020,
              (cudaArray_t * array, const cudaChannelFormatDesc* desc, size_t width, size_t height,
               unsigned int flags),
              (array, desc, width, height, flags)) {
  return Create(driver, array, desc, {width, height, 0}, flags);
}

RUNTIME_ENTRY(cudaMalloc3DArray, v3020,
              (cudaArray_t * array, const cudaChannelFormatDesc* desc, cudaExtent extent,
               unsigned int flags),
              (array, desc, extent, flags)) {
  return Create(driver, array, desc, extent, flags);
}

RUNTIME_ENTRY(cudaFreeArray, v3020, (cudaArray_t array), (array)) {
  return array == nullptr ? cudaSuccess : ToRuntime(driver.cuArrayDestroy(ToDriver(array)));
}

RUNTIME_ENTRY(cudaArrayGetInfo, v4010,
              (cudaChannelFormatDesc * desc, cudaExtent* extent, unsigned int* flags,
               cudaArray_t array),
              (desc, extent, flags, array)) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (!driver.bridge->array_descriptor(ToDriver(array), &descriptor)) {
    return cudaErrorInvalidResourceHandle;
  }
  if (desc != nullptr) *desc = Format(descriptor);
  if (extent != nullptr) *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
  if (flags != nullptr) *flags = descriptor.Flags;
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaGetChannelDesc, v3020, (cudaChannelFormatDesc * desc, cudaArray_const_t array),
              (desc, array)) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  if (desc == nullptr) return cudaErrorInvalidValue;
  if (!driver.bridge->array_descriptor(ToDriver(array), &descriptor)) {
    return cudaErrorInvalidResourceHandle;
  }
  *desc = Format(descriptor);
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaMallocMipmappedArray, v5000,
              (cudaMipmappedArray_t * mipmappedArray, const cudaChannelFormatDesc* desc,
               cudaExtent extent, unsigned int numLevels, unsigned int flags),
              (mipmappedArray, desc, extent, numLevels, flags)) {
  if (mipmappedArray == nullptr || desc == nullptr) return cudaErrorInvalidValue;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  RETURN_IF_CUDA_ERROR(Format(*desc, &descriptor));
  descriptor.Width = extent.width;
  descriptor.Height = extent.height;
  descriptor.Depth = extent.depth;
  descriptor.Flags = flags;
  return ToRuntime(driver.cuMipmappedArrayCreate(
      reinterpret_cast<CUmipmappedArray*>(mipmappedArray), &descriptor, numLevels));
}

RUNTIME_ENTRY(cudaGetMipmappedArrayLevel, v5000,
              (cudaArray_t * levelArray, cudaMipmappedArray_const_t mipmappedArray,
               unsigned int level),
              (levelArray, mipmappedArray, level)) {
  return ToRuntime(driver.cuMipmappedArrayGetLevel(
      reinterpret_cast<CUarray*>(levelArray),
      reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray_t>(mipmappedArray)), level));
}

RUNTIME_ENTRY(cudaFreeMipmappedArray, v5000, (cudaMipmappedArray_t mipmappedArray),
              (mipmappedArray)) {
  return ToRuntime(
      driver.cuMipmappedArrayDestroy(reinterpret_cast<CUmipmappedArray>(mipmappedArray)));
}

RUNTIME_ENTRY(cudaCreateTextureObject, v5000,
              (cudaTextureObject_t * pTexObject, const cudaResourceDesc* pResDesc,
               const cudaTextureDesc* pTexDesc, const cudaResourceViewDesc* pResViewDesc),
              (pTexObject, pResDesc, pTexDesc, pResViewDesc)) {
  CUDA_RESOURCE_DESC resource;
  RETURN_IF_CUDA_ERROR(Resource(pResDesc, &resource));
  if (pTexDesc == nullptr) return cudaErrorInvalidValue;
  CUDA_TEXTURE_DESC texture = {};
  return ToRuntime(driver.cuTexObjectCreate(pTexObject, &resource, &texture, nullptr));
}

RUNTIME_ENTRY(cudaDestroyTextureObject, v5000, (cudaTextureObject_t texObject), (texObject)) {
  return ToRuntime(driver.cuTexObjectDestroy(texObject));
}

RUNTIME_ENTRY(cudaCreateSurfaceObject, v5000,
              (cudaSurfaceObject_t * pSurfObject, const cudaResourceDesc* pResDesc),
              (pSurfObject, pResDesc)) {
  CUDA_RESOURCE_DESC resource;
  RETURN_IF_CUDA_ERROR(Resource(pResDesc, &resource));
  return ToRuntime(driver.cuSurfObjectCreate(pSurfObject, &resource));
}

RUNTIME_ENTRY(cudaDestroySurfaceObject, v5000, (cudaSurfaceObject_t surfObject), (surfObject)) {
  return ToRuntime(driver.cuSurfObjectDestroy(surfObject));
}

// Copies and fills.
#include "tests/simcuda/runtime/copy_params.h"
#include "tests/simcuda/runtime/entry.h"
#include "tests/simcuda/runtime/registration.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace simcuda::runtime {
namespace {

CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

size_t ElementBytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  switch (array.Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return array.NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return size_t{2} * array.NumChannels;
    default:
      return size_t{4} * array.NumChannels;
  }
}

}  // namespace

CUarray ToDriver(cudaArray_const_t array) {
  return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array));
}

cudaError_t ToDriver(const DriverApi& driver, const cudaMemcpy3DParms& from, CUDA_MEMCPY3D* to) {
  if (!IsDirection(from.kind)) return cudaErrorInvalidMemcpyDirection;
  *to = {};
  // With an array in the copy, widths and offsets count its elements.
  size_t element = 1;
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  for (cudaArray_t array : {from.srcArray, from.dstArray}) {
    if (array == nullptr) continue;
    if (!driver.bridge->array_descriptor(ToDriver(array), &descriptor)) {
      return cudaErrorInvalidResourceHandle;
    }
    element = ElementBytes(descriptor);
  }
  if (from.srcArray != nullptr) {
    to->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    to->srcArray = ToDriver(from.srcArray);
    to->srcXInBytes = from.srcPos.x * element;
  } else {
    if (from.srcPtr.ptr == nullptr) return cudaErrorInvalidValue;
    to->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    to->srcDevice = Address(from.srcPtr.ptr);
    to->srcPitch = from.srcPtr.pitch;
    to->srcHeight = from.srcPtr.ysize;
    to->srcXInBytes = from.srcPos.x;
  }
  to->srcY = from.srcPos.y;
  to->srcZ = from.srcPos.z;
  if (from.dstArray != nullptr) {
    to->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    to->dstArray = ToDriver(from.dstArray);
    to->dstXInBytes = from.dstPos.x * element;
  } else {
    if (from.dstPtr.ptr == nullptr) return cudaErrorInvalidValue;
    to->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    to->dstDevice = Address(from.dstPtr.ptr);
    to->dstPitch = from.dstPtr.pitch;
    to->dstHeight = from.dstPtr.ysize;
    to->dstXInBytes = from.dstPos.x;
  }
  to->dstY = from.dstPos.y;
  to->dstZ = from.dstPos.z;
  to->WidthInBytes = from.extent.width * element;
  to->Height = from.extent.height;
  to->Depth = from.extent.depth;
  return cudaSuccess;
}

CUDA_MEMCPY3D LinearCopy(void* destination, const void* source, size_t bytes) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = Address(source);
  copy.dstDevice = Address(destination);
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

namespace {

cudaError_t Copy(const DriverApi& driver, cudaStream_t default_stream, void* dst, const void* src,
                 size_t count, cudaMemcpyKind kind) {
  if (!IsDirection(kind)) return cudaErrorInvalidMemcpyDirection;
  if (count == 0) return cudaSuccess;
  if (dst == nullptr || src == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr to = Address(dst), from = Address(src);
  bool own = default_stream != nullptr;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return ToRuntime(
          (own ? driver.cuMemcpyHtoD_v2_ptds : driver.cuMemcpyHtoD_v2)(to, src, count));
    case cudaMemcpyDeviceToHost:
      return ToRuntime(
          (own ? driver.cuMemcpyDtoH_v2_ptds : driver.cuMemcpyDtoH_v2)(dst, from, count));
    case cudaMemcpyDeviceToDevice:
      return ToRuntime(
          (own ? driver.cuMemcpyDtoD_v2_ptds : driver.cuMemcpyDtoD_v2)(to, from, count));
    default:
      return ToRuntime((own ? driver.cuMemcpy_ptds : driver.cuMemcpy)(to, from, count));
  }
}

cudaError_t CopyAsync(const DriverApi& driver, cudaStream_t stream, void* dst, const void* src,
                      size_t count, cudaMemcpyKind kind) {
  if (!IsDirection(kind)) return cudaErrorInvalidMemcpyDirection;
  if (count == 0) return cudaSuccess;
  if (dst == nullptr || src == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr to = Address(dst), from = Address(src);
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return ToRuntime(driver.cuMemcpyHtoDAsync_v2(to, src, count, stream));
    case cudaMemcpyDeviceToHost:
      return ToRuntime(driver.cuMemcpyDtoHAsync_v2(dst, from, count, stream));
    case cudaMemcpyDeviceToDevice:
      return ToRuntime(driver.cuMemcpyDtoDAsync_v2(to, from, count, stream));
    default:
      return ToRuntime(driver.cuMemcpyAsync(to, from, count, stream));
  }
}

cudaError_t Box(const DriverApi& driver, cudaStream_t default_stream,
                const cudaMemcpy3DParms* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  RETURN_IF_CUDA_ERROR(ToDriver(driver, *params, &copy));
  return ToRuntime(
      (default_stream != nullptr ? driver.cuMemcpy3D_v2_ptds : driver.cuMemcpy3D_v2)(&copy));
}

cudaError_t BoxAsync(const DriverApi& driver, cudaStream_t stream,
                     const cudaMemcpy3DParms* params) {
  if (params == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  RETURN_IF_CUDA_ERROR(ToDriver(driver, *params, &copy));
  return ToRuntime(driver.cuMemcpy3DAsync_v2(&copy, stream));
}

// One side of a flat copy.
struct Flat {
  const void* pointer = nullptr;
  size_t pitch = 0;
  cudaArray_const_t array = nullptr;
  size_t x_bytes = 0, y = 0;
};

cudaError_t MakeFlat(const Flat& to, const Flat& from, size_t width, size_t height,
                     cudaMemcpyKind kind, CUDA_MEMCPY2D* copy) {
  if (!IsDirection(kind)) return cudaErrorInvalidMemcpyDirection;
  *copy = {};
  if (from.array != nullptr) {
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = ToDriver(from.array);
  } else {
    if (height > 1 && from.pitch < width) return cudaErrorInvalidPitchValue;
    copy->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->srcDevice = Address(from.pointer);
    copy->srcPitch = from.pitch;
  }
  copy->srcXInBytes = from.x_bytes;
  copy->srcY = from.y;
  if (to.array != nullptr) {
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = ToDriver(to.array);
  } else {
    if (height > 1 && to.pitch < width) return cudaErrorInvalidPitchValue;
    copy->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->dstDevice = Address(to.pointer);
    copy->dstPitch = to.pitch;
  }
  copy->dstXInBytes = to.x_bytes;
  copy->dstY = to.y;
  copy->WidthInBytes = width;
  copy->Height = height;
  return cudaSuccess;
}

cudaError_t CopyFlat(const DriverApi& driver, cudaStream_t default_stream, const Flat& to,
                     const Flat& from, size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy;
  RETURN_IF_CUDA_ERROR(MakeFlat(to, from, width, height, kind, &copy));
  return ToRuntime((default_stream != nullptr ? driver.cuMemcpy2DUnaligned_v2_ptds
                                              : driver.cuMemcpy2DUnaligned_v2)(&copy));
}

cudaError_t CopyFlatAsync(const DriverApi& driver, cudaStream_t stream, const Flat& to,
                          const Flat& from, size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy;
  RETURN_IF_CUDA_ERROR(MakeFlat(to, from, width, height, kind, &copy));
  return ToRuntime(driver.cuMemcpy2DAsync_v2(&copy, stream));
}

Flat Pointer(const void* pointer, size_t pitch) { return {pointer, pitch, nullptr, 0, 0}; }
Flat InArray(cudaArray_const_t array, size_t x_bytes, size_t y) {
  return {nullptr, 0, array, x_bytes, y};
}

// A part of a registered variable.
cudaError_t InSymbol(const DriverApi& driver, const void* symbol, size_t count, size_t offset,
                     void** pointer) {
  CUdeviceptr address;
  size_t bytes;
  RETURN_IF_CUDA_ERROR(FindSymbol(driver, symbol, &address, &bytes));
  if (offset > bytes || count > bytes - offset) return cudaErrorInvalidValue;
  *pointer = reinterpret_cast<void*>(address + offset);
  return cudaSuccess;
}

cudaError_t FillBox(const DriverApi& driver, cudaStream_t default_stream, cudaPitchedPtr to,
                    int value, cudaExtent extent, const cudaStream_t* stream) {
  auto byte = static_cast<unsigned char>(value);
  size_t slice = to.pitch * to.ysize;
  for (size_t z = 0; z < extent.depth; ++z) {
    CUdeviceptr address = Address(to.ptr) + z * slice;
    CUresult result;
    if (stream != nullptr) {
      result =
          driver.cuMemsetD2D8Async(address, to.pitch, byte, extent.width, extent.height, *stream);
    } else {
      result = (default_stream != nullptr ? driver.cuMemsetD2D8_v2_ptds : driver.cuMemsetD2D8_v2)(
          address, to.pitch, byte, extent.width, extent.height);
    }
    if (result != CUDA_SUCCESS) return ToRuntime(result);
  }
  return cudaSuccess;
}

}  // namespace
}  // namespace simcuda::runtime

RUNTIME_STREAM_ENTRY(cudaMemcpy, v3020, _ptds, v7000,
                     (void* dst, const void* src, size_t count, cudaMemcpyKind kind),
                     (dst, src, count, kind)) {
  return Copy(driver, default_stream, dst, src, count, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyAsync, v3020, _ptsz, v7000,
                     (void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                      cudaStream_t stream),
                     (dst, src, count, kind, stream)) {
  return CopyAsync(driver, StreamOr(stream, default_stream), dst, src, count, kind);
}

RUNTIME_ENTRY(cudaMemcpyPeer, v4000,
              (void* dst, int dstDevice, const void* src, int srcDevice, size_t count),
              (dst, dstDevice, src, srcDevice, count)) {
  return ToRuntime(driver.cuMemcpyPeer(Address(dst), nullptr, Address(src), nullptr, count));
}

RUNTIME_ENTRY(cudaMemcpyPeerAsync, v4000,
              (void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
               cudaStream_t stream),
              (dst, dstDevice, src, srcDevice, count, stream)) {
  return ToRuntime(
      driver.cuMemcpyPeerAsync(Address(dst), nullptr, Address(src), nullptr, count, stream));
}

RUNTIME_STREAM_ENTRY(cudaMemcpy2D, v3020, _ptds, v7000,
                     (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                      size_t height, cudaMemcpyKind kind),
                     (dst, dpitch, src, spitch, width, height, kind)) {
  return CopyFlat(driver, default_stream, Pointer(dst, dpitch), Pointer(src, spitch), width, height,
                  kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy2DAsync, v3020, _ptsz, v7000,
                     (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                      size_t height, cudaMemcpyKind kind, cudaStream_t stream),
                     (dst, dpitch, src, spitch, width, height, kind, stream)) {
  return CopyFlatAsync(driver, StreamOr(stream, default_stream), Pointer(dst, dpitch),
                       Pointer(src, spitch), width, height, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy2DToArray, v3020, _ptds, v7000,
                     (cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                      size_t spitch, size_t width, size_t height, cudaMemcpyKind kind),
                     (dst, wOffset, hOffset, src, spitch, width, height, kind)) {
  return CopyFlat(driver, default_stream, InArray(dst, wOffset, hOffset), Pointer(src, spitch),
                  width, height, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy2DToArrayAsync, v3020, _ptsz, v7000,
                     (cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                      size_t spitch, size_t width, size_t height, cudaMemcpyKind kind,
                      cudaStream_t stream),
                     (dst, wOffset, hOffset, src, spitch, width, height, kind, stream)) {
  return CopyFlatAsync(driver, StreamOr(stream, default_stream), InArray(dst, wOffset, hOffset),
                       Pointer(src, spitch), width, height, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy2DFromArray, v3020, _ptds, v7000,
                     (void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                      size_t hOffset, size_t width, size_t height, cudaMemcpyKind kind),
                     (dst, dpitch, src, wOffset, hOffset, width, height, kind)) {
  return CopyFlat(driver, default_stream, Pointer(dst, dpitch), InArray(src, wOffset, hOffset),
                  width, height, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy2DFromArrayAsync, v3020, _ptsz, v7000,
                     (void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                      size_t hOffset, size_t width, size_t height, cudaMemcpyKind kind,
                      cudaStream_t stream),
                     (dst, dpitch, src, wOffset, hOffset, width, height, kind, stream)) {
  return CopyFlatAsync(driver, StreamOr(stream, default_stream), Pointer(dst, dpitch),
                       InArray(src, wOffset, hOffset), width, height, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy2DArrayToArray, v3020, _ptds, v7000,
                     (cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
                      size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height,
                      cudaMemcpyKind kind),
                     (dst, wOffsetDst, hOffsetDst, src, wOffsetSrc, hOffsetSrc, width, height,
                      kind)) {
  return CopyFlat(driver, default_stream, InArray(dst, wOffsetDst, hOffsetDst),
                  InArray(src, wOffsetSrc, hOffsetSrc), width, height, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyToArray, v3020, _ptds, v7000,
                     (cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                      size_t count, cudaMemcpyKind kind),
                     (dst, wOffset, hOffset, src, count, kind)) {
  return CopyFlat(driver, default_stream, InArray(dst, wOffset, hOffset), Pointer(src, count),
                  count, 1, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyFromArray, v3020, _ptds, v7000,
                     (void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                      size_t count, cudaMemcpyKind kind),
                     (dst, src, wOffset, hOffset, count, kind)) {
  return CopyFlat(driver, default_stream, Pointer(dst, count), InArray(src, wOffset, hOffset),
                  count, 1, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyToArrayAsync, v3020, _ptsz, v7000,
                     (cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src,
                      size_t count, cudaMemcpyKind kind, cudaStream_t stream),
                     (dst, wOffset, hOffset, src, count, kind, stream)) {
  return CopyFlatAsync(driver, StreamOr(stream, default_stream), InArray(dst, wOffset, hOffset),
                       Pointer(src, count), count, 1, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyFromArrayAsync, v3020, _ptsz, v7000,
                     (void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                      size_t count, cudaMemcpyKind kind, cudaStream_t stream),
                     (dst, src, wOffset, hOffset, count, kind, stream)) {
  return CopyFlatAsync(driver, StreamOr(stream, default_stream), Pointer(dst, count),
                       InArray(src, wOffset, hOffset), count, 1, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy3D, v3020, _ptds, v7000, (const cudaMemcpy3DParms* p), (p)) {
  return Box(driver, default_stream, p);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy3DAsync, v3020, _ptsz, v7000,
                     (const cudaMemcpy3DParms* p, cudaStream_t stream), (p, stream)) {
  return BoxAsync(driver, StreamOr(stream, default_stream), p);
}

static cudaMemcpy3DParms WithoutDevices(const cudaMemcpy3DPeerParms& from) {
  cudaMemcpy3DParms to = {};
  to.srcArray = from.srcArray;
  to.srcPos = from.srcPos;
  to.srcPtr = from.srcPtr;
  to.dstArray = from.dstArray;
  to.dstPos = from.dstPos;
  to.dstPtr = from.dstPtr;
  to.extent = from.extent;
  to.kind = cudaMemcpyDefault;
  return to;
}

RUNTIME_STREAM_ENTRY(cudaMemcpy3DPeer, v4000, _ptds, v7000, (const cudaMemcpy3DPeerParms* p), (p)) {
  if (p == nullptr) return cudaErrorInvalidValue;
  cudaMemcpy3DParms plain = WithoutDevices(*p);
  return Box(driver, default_stream, &plain);
}

RUNTIME_STREAM_ENTRY(cudaMemcpy3DPeerAsync, v4000, _ptsz, v7000,
                     (const cudaMemcpy3DPeerParms* p, cudaStream_t stream), (p, stream)) {
  if (p == nullptr) return cudaErrorInvalidValue;
  cudaMemcpy3DParms plain = WithoutDevices(*p);
  return BoxAsync(driver, StreamOr(stream, default_stream), &plain);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyToSymbol, v3020, _ptds, v7000,
                     (const void* symbol, const void* src, size_t count, size_t offset,
                      cudaMemcpyKind kind),
                     (symbol, src, count, offset, kind)) {
  void* to;
  RETURN_IF_CUDA_ERROR(InSymbol(driver, symbol, count, offset, &to));
  return Copy(driver, default_stream, to, src, count, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyFromSymbol, v3020, _ptds, v7000,
                     (void* dst, const void* symbol, size_t count, size_t offset,
                      cudaMemcpyKind kind),
                     (dst, symbol, count, offset, kind)) {
  void* from;
  RETURN_IF_CUDA_ERROR(InSymbol(driver, symbol, count, offset, &from));
  return Copy(driver, default_stream, dst, from, count, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyToSymbolAsync, v3020, _ptsz, v7000,
                     (const void* symbol, const void* src, size_t count, size_t offset,
                      cudaMemcpyKind kind, cudaStream_t stream),
                     (symbol, src, count, offset, kind, stream)) {
  void* to;
  RETURN_IF_CUDA_ERROR(InSymbol(driver, symbol, count, offset, &to));
  return CopyAsync(driver, StreamOr(stream, default_stream), to, src, count, kind);
}

RUNTIME_STREAM_ENTRY(cudaMemcpyFromSymbolAsync, v3020, _ptsz, v7000,
                     (void* dst, const void* symbol, size_t count, size_t offset,
                      cudaMemcpyKind kind, cudaStream_t stream),
                     (dst, symbol, count, offset, kind, stream)) {
  void* from;
  RETURN_IF_CUDA_ERROR(InSymbol(driver, symbol, count, offset, &from));
  return CopyAsync(driver, StreamOr(stream, default_stream), dst, from, count, kind);
}

RUNTIME_ENTRY(cudaGetSymbolAddress, v3020, (void** devPtr, const void* symbol), (devPtr, symbol)) {
  if (devPtr == nullptr) return cudaErrorInvalidValue;
  return InSymbol(driver, symbol, 0, 0, devPtr);
}

RUNTIME_ENTRY(cudaGetSymbolSize, v3020, (size_t * size, const void* symbol), (size, symbol)) {
  if (size == nullptr) return cudaErrorInvalidValue;
  CUdeviceptr address;
  return FindSymbol(driver, symbol, &address, size);
}

RUNTIME_STREAM_ENTRY(cudaMemset, v3020, _ptds, v7000, (void* devPtr, int value, size_t count),
                     (devPtr, value, count)) {
  return ToRuntime((default_stream != nullptr ? driver.cuMemsetD8_v2_ptds : driver.cuMemsetD8_v2)(
      Address(devPtr), static_cast<unsigned char>(value), count));
}

RUNTIME_STREAM_ENTRY(cudaMemsetAsync, v3020, _ptsz, v7000,
                     (void* devPtr, int value, size_t count, cudaStream_t stream),
                     (devPtr, value, count, stream)) {
  return ToRuntime(driver.cuMemsetD8Async(Address(devPtr), static_cast<unsigned char>(value), count,
                                          StreamOr(stream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaMemset2D, v3020, _ptds, v7000,
                     (void* devPtr, size_t pitch, int value, size_t width, size_t height),
                     (devPtr, pitch, value, width, height)) {
  return ToRuntime(
      (default_stream != nullptr ? driver.cuMemsetD2D8_v2_ptds : driver.cuMemsetD2D8_v2)(
          Address(devPtr), pitch, static_cast<unsigned char>(value), width, height));
}

RUNTIME_STREAM_ENTRY(cudaMemset2DAsync, v3020, _ptsz, v7000,
                     (void* devPtr, size_t pitch, int value, size_t width, size_t height,
                      cudaStream_t stream),
                     (devPtr, pitch, value, width, height, stream)) {
  return ToRuntime(driver.cuMemsetD2D8Async(Address(devPtr), pitch,
                                            static_cast<unsigned char>(value), width, height,
                                            StreamOr(stream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaMemset3D, v3020, _ptds, v7000,
                     (cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent),
                     (pitchedDevPtr, value, extent)) {
  return FillBox(driver, default_stream, pitchedDevPtr, value, extent, nullptr);
}

RUNTIME_STREAM_ENTRY(cudaMemset3DAsync, v3020, _ptsz, v7000,
                     (cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                      cudaStream_t stream),
                     (pitchedDevPtr, value, extent, stream)) {
  cudaStream_t chosen = StreamOr(stream, default_stream);
  return FillBox(driver, default_stream, pitchedDevPtr, value, extent, &chosen);
}

// Copies of memory.
#include "tests/simcuda/driver/copy.h"

#include "tests/simcuda/driver/array.h"
#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace simcuda {
namespace {

bool OnHost(MemoryKind kind) {
  return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned;
}

// The kind of memory of one side, and where it is.
CUresult LookUp(uint64_t address, size_t bytes, MemoryKind* kind, uint32_t* device,
                uint32_t* context) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = Memory::Instance();
  Allocation allocation;
  if (!memory.Find(address, &allocation)) {
    if (memory.IsDangling(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    *kind = MemoryKind::kPageable;
    return CUDA_SUCCESS;
  }
  if (!OnHost(allocation.kind) && memory.IsDangling(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *kind = allocation.kind;
  *device = allocation.device_id;
  *context = allocation.context_id;
  return CUDA_SUCCESS;
}

CUresult LookUpBoth(Copy* copy) {
  auto extent = [&](size_t pitch, size_t slice) {
    return copy->width + pitch * (copy->height - 1) + slice * (copy->depth - 1);
  };
  RETURN_IF_ERROR(LookUp(copy->source, extent(copy->source_pitch, copy->source_slice),
                         &copy->source_kind, &copy->source_device, &copy->source_context));
  RETURN_IF_ERROR(
      LookUp(copy->destination, extent(copy->destination_pitch, copy->destination_slice),
             &copy->destination_kind, &copy->destination_device, &copy->destination_context));
  copy->peer = !OnHost(copy->source_kind) && !OnHost(copy->destination_kind) &&
               copy->source_device != copy->destination_device;
  return CUDA_SUCCESS;
}

// One side of a 2D or 3D description: its first byte and its pitches.
struct Side {
  uint64_t address = 0;
  size_t pitch = 0, slice = 0;
};

CUresult Resolve(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array_handle,
                 size_t pitch, size_t rows, size_t x_bytes, size_t y, size_t z, Side* side) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      side->address = reinterpret_cast<uint64_t>(host);
      break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      side->address = device;
      break;
    case CU_MEMORYTYPE_ARRAY: {
      const Array* array = FindArray(array_handle);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      side->address = array->address;
      pitch = array->row_bytes();
      rows = array->rows();
      break;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (side->address == 0) return CUDA_ERROR_INVALID_VALUE;
  side->pitch = pitch;
  side->slice = pitch * rows;
  side->address += x_bytes + y * side->pitch + z * side->slice;
  return CUDA_SUCCESS;
}

CUresult MakeBox(const Side& source, const Side& destination, size_t width, size_t height,
                 size_t depth, Copy* copy) {
  if ((height > 1 && (source.pitch < width || destination.pitch < width))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  copy->source = source.address;
  copy->source_pitch = source.pitch;
  copy->source_slice = source.slice;
  copy->destination = destination.address;
  copy->destination_pitch = destination.pitch;
  copy->destination_slice = destination.slice;
  copy->width = width;
  copy->height = height;
  copy->depth = depth;
  if (copy->bytes() == 0) return CUDA_SUCCESS;
  return LookUpBoth(copy);
}

}  // namespace

CUresult MakeCopy(uint64_t destination, uint64_t source, size_t bytes, Copy* copy) {
  copy->destination = destination;
  copy->source = source;
  copy->width = bytes;
  return bytes == 0 ? CUDA_SUCCESS : LookUpBoth(copy);
}

CUresult MakeCopy(const CUDA_MEMCPY2D& from, Copy* copy) {
  Side source, destination;
  // A pitch of 0 stands for rows without a gap.
  size_t source_pitch = from.srcPitch == 0 ? from.WidthInBytes : from.srcPitch;
  size_t destination_pitch = from.dstPitch == 0 ? from.WidthInBytes : from.dstPitch;
  RETURN_IF_ERROR(Resolve(from.srcMemoryType, from.srcHost, from.srcDevice, from.srcArray,
                          source_pitch, 1, from.srcXInBytes, from.srcY, 0, &source));
  RETURN_IF_ERROR(Resolve(from.dstMemoryType, from.dstHost, from.dstDevice, from.dstArray,
                          destination_pitch, 1, from.dstXInBytes, from.dstY, 0, &destination));
  return MakeBox(source, destination, from.WidthInBytes, from.Height, 1, copy);
}

CUresult MakeCopy(const CUDA_MEMCPY3D& from, Copy* copy) {
  Side source, destination;
  size_t source_pitch = from.srcPitch == 0 ? from.WidthInBytes : from.srcPitch;
  size_t destination_pitch = from.dstPitch == 0 ? from.WidthInBytes : from.dstPitch;
  size_t source_rows = from.srcHeight == 0 ? from.Height : from.srcHeight;
  size_t destination_rows = from.dstHeight == 0 ? from.Height : from.dstHeight;
  RETURN_IF_ERROR(Resolve(from.srcMemoryType, from.srcHost, from.srcDevice, from.srcArray,
                          source_pitch, source_rows, from.srcXInBytes, from.srcY, from.srcZ,
                          &source));
  RETURN_IF_ERROR(Resolve(from.dstMemoryType, from.dstHost, from.dstDevice, from.dstArray,
                          destination_pitch, destination_rows, from.dstXInBytes, from.dstY,
                          from.dstZ, &destination));
  return MakeBox(source, destination, from.WidthInBytes, from.Height, from.Depth, copy);
}

}  // namespace simcuda

namespace {

enum class Manner { kSynchronous, kAsynchronous };

CUresult Submit(CUstream handle, CUstream default_stream, Manner manner, Copy copy) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(handle, default_stream, &stream));
  if (copy.bytes() == 0) return CUDA_SUCCESS;
  copy.async = manner == Manner::kAsynchronous;
  bool capturing = IsCapturing(*stream);
  if (capturing && !copy.async) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  RETURN_IF_ERROR(Submit(*stream, MakeOperation(copy)));
  bool to_pageable = copy.destination_kind == MemoryKind::kPageable;
  // The caller gets control back at once from an asynchronous copy, except into pageable memory,
  // and from a copy within devices.
  bool wait = copy.async ? to_pageable && !capturing
                         : OnHost(copy.source_kind) || OnHost(copy.destination_kind);
  return wait ? WaitForStream(*stream) : CUDA_SUCCESS;
}

CUresult Linear(CUstream handle, CUstream default_stream, Manner manner, uint64_t destination,
                uint64_t source, size_t bytes) {
  Copy copy;
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  RETURN_IF_ERROR(MakeCopy(destination, source, bytes, &copy));
  return Submit(handle, default_stream, manner, copy);
}

// The device side of a directed copy has to be memory that CUDA knows.
CUresult NeedDeviceAddress(CUdeviceptr address, size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  return Memory::Instance().KindOf(address) == MemoryKind::kPageable ? CUDA_ERROR_INVALID_VALUE
                                                                     : CUDA_SUCCESS;
}

uint64_t Address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// A part of an array as plain memory.
CUresult InArray(CUarray handle, size_t offset, size_t bytes, uint64_t* address) {
  const Array* array = FindArray(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (offset > array->bytes() || bytes > array->bytes() - offset) return CUDA_ERROR_INVALID_VALUE;
  *address = array->address + offset;
  return CUDA_SUCCESS;
}

template <typename Description>
CUresult Described(CUstream handle, CUstream default_stream, Manner manner,
                   const Description* description) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Copy copy;
  RETURN_IF_ERROR(MakeCopy(*description, &copy));
  return Submit(handle, default_stream, manner, copy);
}

CUDA_MEMCPY3D WithoutContexts(const CUDA_MEMCPY3D_PEER& from) {
  CUDA_MEMCPY3D to = {};
  to.srcXInBytes = from.srcXInBytes;
  to.srcY = from.srcY;
  to.srcZ = from.srcZ;
  to.srcMemoryType = from.srcMemoryType;
  to.srcHost = from.srcHost;
  to.srcDevice = from.srcDevice;
  to.srcArray = from.srcArray;
  to.srcPitch = from.srcPitch;
  to.srcHeight = from.srcHeight;
  to.dstXInBytes = from.dstXInBytes;
  to.dstY = from.dstY;
  to.dstZ = from.dstZ;
  to.dstMemoryType = from.dstMemoryType;
  to.dstHost = from.dstHost;
  to.dstDevice = from.dstDevice;
  to.dstArray = from.dstArray;
  to.dstPitch = from.dstPitch;
  to.dstHeight = from.dstHeight;
  to.WidthInBytes = from.WidthInBytes;
  to.Height = from.Height;
  to.Depth = from.Depth;
  return to;
}

}  // namespace

DRIVER_STREAM_ENTRY(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount),
                    (dst, src, ByteCount)) {
  return Linear(nullptr, default_stream, Manner::kSynchronous, dst, src, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyAsync, _ptsz,
                    (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
                    (dst, src, ByteCount, hStream)) {
  return Linear(hStream, default_stream, Manner::kAsynchronous, dst, src, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyHtoD_v2, _ptds,
                    (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount),
                    (dstDevice, srcHost, ByteCount)) {
  RETURN_IF_ERROR(NeedDeviceAddress(dstDevice, ByteCount));
  return Linear(nullptr, default_stream, Manner::kSynchronous, dstDevice, Address(srcHost),
                ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyHtoDAsync_v2, _ptsz,
                    (CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                     CUstream hStream),
                    (dstDevice, srcHost, ByteCount, hStream)) {
  RETURN_IF_ERROR(NeedDeviceAddress(dstDevice, ByteCount));
  return Linear(hStream, default_stream, Manner::kAsynchronous, dstDevice, Address(srcHost),
                ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyDtoH_v2, _ptds,
                    (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount),
                    (dstHost, srcDevice, ByteCount)) {
  RETURN_IF_ERROR(NeedDeviceAddress(srcDevice, ByteCount));
  return Linear(nullptr, default_stream, Manner::kSynchronous, Address(dstHost), srcDevice,
                ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyDtoHAsync_v2, _ptsz,
                    (void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
                    (dstHost, srcDevice, ByteCount, hStream)) {
  RETURN_IF_ERROR(NeedDeviceAddress(srcDevice, ByteCount));
  return Linear(hStream, default_stream, Manner::kAsynchronous, Address(dstHost), srcDevice,
                ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyDtoD_v2, _ptds,
                    (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
                    (dstDevice, srcDevice, ByteCount)) {
  RETURN_IF_ERROR(NeedDeviceAddress(dstDevice, ByteCount));
  RETURN_IF_ERROR(NeedDeviceAddress(srcDevice, ByteCount));
  return Linear(nullptr, default_stream, Manner::kSynchronous, dstDevice, srcDevice, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyDtoDAsync_v2, _ptsz,
                    (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                     CUstream hStream),
                    (dstDevice, srcDevice, ByteCount, hStream)) {
  RETURN_IF_ERROR(NeedDeviceAddress(dstDevice, ByteCount));
  RETURN_IF_ERROR(NeedDeviceAddress(srcDevice, ByteCount));
  return Linear(hStream, default_stream, Manner::kAsynchronous, dstDevice, srcDevice, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyPeer, _ptds,
                    (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                     CUcontext srcContext, size_t ByteCount),
                    (dstDevice, dstContext, srcDevice, srcContext, ByteCount)) {
  return Linear(nullptr, default_stream, Manner::kSynchronous, dstDevice, srcDevice, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyPeerAsync, _ptsz,
                    (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                     CUcontext srcContext, size_t ByteCount, CUstream hStream),
                    (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream)) {
  return Linear(hStream, default_stream, Manner::kAsynchronous, dstDevice, srcDevice, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* pCopy), (pCopy)) {
  return Described(nullptr, default_stream, Manner::kSynchronous, pCopy);
}

DRIVER_STREAM_ENTRY(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* pCopy), (pCopy)) {
  return Described(nullptr, default_stream, Manner::kSynchronous, pCopy);
}

DRIVER_STREAM_ENTRY(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* pCopy, CUstream hStream),
                    (pCopy, hStream)) {
  return Described(hStream, default_stream, Manner::kAsynchronous, pCopy);
}

DRIVER_STREAM_ENTRY(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* pCopy), (pCopy)) {
  return Described(nullptr, default_stream, Manner::kSynchronous, pCopy);
}

DRIVER_STREAM_ENTRY(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* pCopy, CUstream hStream),
                    (pCopy, hStream)) {
  return Described(hStream, default_stream, Manner::kAsynchronous, pCopy);
}

DRIVER_STREAM_ENTRY(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* pCopy), (pCopy)) {
  if (pCopy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D plain = WithoutContexts(*pCopy);
  return Described(nullptr, default_stream, Manner::kSynchronous, &plain);
}

DRIVER_STREAM_ENTRY(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream),
                    (pCopy, hStream)) {
  if (pCopy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D plain = WithoutContexts(*pCopy);
  return Described(hStream, default_stream, Manner::kAsynchronous, &plain);
}

DRIVER_STREAM_ENTRY(cuMemcpyDtoA_v2, _ptds,
                    (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount),
                    (dstArray, dstOffset, srcDevice, ByteCount)) {
  uint64_t to;
  RETURN_IF_ERROR(InArray(dstArray, dstOffset, ByteCount, &to));
  return Linear(nullptr, default_stream, Manner::kSynchronous, to, srcDevice, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyAtoD_v2, _ptds,
                    (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount),
                    (dstDevice, srcArray, srcOffset, ByteCount)) {
  uint64_t from;
  RETURN_IF_ERROR(InArray(srcArray, srcOffset, ByteCount, &from));
  return Linear(nullptr, default_stream, Manner::kSynchronous, dstDevice, from, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyHtoA_v2, _ptds,
                    (CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount),
                    (dstArray, dstOffset, srcHost, ByteCount)) {
  uint64_t to;
  RETURN_IF_ERROR(InArray(dstArray, dstOffset, ByteCount, &to));
  return Linear(nullptr, default_stream, Manner::kSynchronous, to, Address(srcHost), ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyAtoH_v2, _ptds,
                    (void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount),
                    (dstHost, srcArray, srcOffset, ByteCount)) {
  uint64_t from;
  RETURN_IF_ERROR(InArray(srcArray, srcOffset, ByteCount, &from));
  return Linear(nullptr, default_stream, Manner::kSynchronous, Address(dstHost), from, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyAtoA_v2, _ptds,
                    (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                     size_t ByteCount),
                    (dstArray, dstOffset, srcArray, srcOffset, ByteCount)) {
  uint64_t to, from;
  RETURN_IF_ERROR(InArray(dstArray, dstOffset, ByteCount, &to));
  RETURN_IF_ERROR(InArray(srcArray, srcOffset, ByteCount, &from));
  return Linear(nullptr, default_stream, Manner::kSynchronous, to, from, ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyHtoAAsync_v2, _ptsz,
                    (CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount,
                     CUstream hStream),
                    (dstArray, dstOffset, srcHost, ByteCount, hStream)) {
  uint64_t to;
  RETURN_IF_ERROR(InArray(dstArray, dstOffset, ByteCount, &to));
  return Linear(hStream, default_stream, Manner::kAsynchronous, to, Address(srcHost), ByteCount);
}

DRIVER_STREAM_ENTRY(cuMemcpyAtoHAsync_v2, _ptsz,
                    (void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                     CUstream hStream),
                    (dstHost, srcArray, srcOffset, ByteCount, hStream)) {
  uint64_t from;
  RETURN_IF_ERROR(InArray(srcArray, srcOffset, ByteCount, &from));
  return Linear(hStream, default_stream, Manner::kAsynchronous, Address(dstHost), from, ByteCount);
}

// Fills of memory.
#include "tests/simcuda/driver/copy.h"
#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace simcuda {

CUresult MakeFill(uint64_t destination, size_t pitch, uint32_t value, uint32_t element_bytes,
                  size_t width, size_t height, Fill* fill) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  fill->destination = destination;
  fill->pitch = pitch;
  fill->value = value;
  fill->element_bytes = element_bytes;
  fill->width = width;
  fill->height = height;
  if (fill->bytes() == 0) return CUDA_SUCCESS;
  if (destination % element_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (height > 1 && pitch < width * element_bytes) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = Memory::Instance();
  fill->kind = memory.KindOf(destination);
  size_t extent = pitch * (height - 1) + width * element_bytes;
  if (fill->kind == MemoryKind::kPageable || memory.IsDangling(destination, extent)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace simcuda

namespace {

// Fills of device memory never make the caller wait; fills of pinned memory do.
CUresult Submit(CUstream handle, CUstream default_stream, bool async, uint64_t destination,
                size_t pitch, uint32_t value, uint32_t element_bytes, size_t width, size_t height) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(handle, default_stream, &stream));
  Fill fill;
  RETURN_IF_ERROR(MakeFill(destination, pitch, value, element_bytes, width, height, &fill));
  if (fill.bytes() == 0) return CUDA_SUCCESS;
  fill.async = async;
  if (!async && IsCapturing(*stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  RETURN_IF_ERROR(Submit(*stream, MakeOperation(fill)));
  return !async && fill.kind == MemoryKind::kPinned ? WaitForStream(*stream) : CUDA_SUCCESS;
}

}  // namespace

DRIVER_STREAM_ENTRY(cuMemsetD8_v2, _ptds, (CUdeviceptr dstDevice, unsigned char uc, size_t N),
                    (dstDevice, uc, N)) {
  return Submit(nullptr, default_stream, false, dstDevice, 0, uc, 1, N, 1);
}

DRIVER_STREAM_ENTRY(cuMemsetD16_v2, _ptds, (CUdeviceptr dstDevice, unsigned short us, size_t N),
                    (dstDevice, us, N)) {
  return Submit(nullptr, default_stream, false, dstDevice, 0, us, 2, N, 1);
}

DRIVER_STREAM_ENTRY(cuMemsetD32_v2, _ptds, (CUdeviceptr dstDevice, unsigned int ui, size_t N),
                    (dstDevice, ui, N)) {
  return Submit(nullptr, default_stream, false, dstDevice, 0, ui, 4, N, 1);
}

DRIVER_STREAM_ENTRY(cuMemsetD2D8_v2, _ptds,
                    (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                     size_t Height),
                    (dstDevice, dstPitch, uc, Width, Height)) {
  return Submit(nullptr, default_stream, false, dstDevice, dstPitch, uc, 1, Width, Height);
}

DRIVER_STREAM_ENTRY(cuMemsetD2D16_v2, _ptds,
                    (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                     size_t Height),
                    (dstDevice, dstPitch, us, Width, Height)) {
  return Submit(nullptr, default_stream, false, dstDevice, dstPitch, us, 2, Width, Height);
}

DRIVER_STREAM_ENTRY(cuMemsetD2D32_v2, _ptds,
                    (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                     size_t Height),
                    (dstDevice, dstPitch, ui, Width, Height)) {
  return Submit(nullptr, default_stream, false, dstDevice, dstPitch, ui, 4, Width, Height);
}

DRIVER_STREAM_ENTRY(cuMemsetD8Async, _ptsz,
                    (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream),
                    (dstDevice, uc, N, hStream)) {
  return Submit(hStream, default_stream, true, dstDevice, 0, uc, 1, N, 1);
}

DRIVER_STREAM_ENTRY(cuMemsetD16Async, _ptsz,
                    (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream),
                    (dstDevice, us, N, hStream)) {
  return Submit(hStream, default_stream, true, dstDevice, 0, us, 2, N, 1);
}

DRIVER_STREAM_ENTRY(cuMemsetD32Async, _ptsz,
                    (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream),
                    (dstDevice, ui, N, hStream)) {
  return Submit(hStream, default_stream, true, dstDevice, 0, ui, 4, N, 1);
}

DRIVER_STREAM_ENTRY(cuMemsetD2D8Async, _ptsz,
                    (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                     size_t Height, CUstream hStream),
                    (dstDevice, dstPitch, uc, Width, Height, hStream)) {
  return Submit(hStream, default_stream, true, dstDevice, dstPitch, uc, 1, Width, Height);
}

DRIVER_STREAM_ENTRY(cuMemsetD2D16Async, _ptsz,
                    (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                     size_t Height, CUstream hStream),
                    (dstDevice, dstPitch, us, Width, Height, hStream)) {
  return Submit(hStream, default_stream, true, dstDevice, dstPitch, us, 2, Width, Height);
}

DRIVER_STREAM_ENTRY(cuMemsetD2D32Async, _ptsz,
                    (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                     size_t Height, CUstream hStream),
                    (dstDevice, dstPitch, ui, Width, Height, hStream)) {
  return Submit(hStream, default_stream, true, dstDevice, dstPitch, ui, 4, Width, Height);
}

// Streams and events.
#include "tests/simcuda/runtime/entry.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

RUNTIME_ENTRY(cudaStreamCreate, v3020, (cudaStream_t * pStream), (pStream)) {
  return ToRuntime(driver.cuStreamCreate(pStream, CU_STREAM_DEFAULT));
}

RUNTIME_ENTRY(cudaStreamCreateWithFlags, v5000, (cudaStream_t * pStream, unsigned int flags),
              (pStream, flags)) {
  return ToRuntime(driver.cuStreamCreate(pStream, flags));
}

RUNTIME_ENTRY(cudaStreamCreateWithPriority, v5050,
              (cudaStream_t * pStream, unsigned int flags, int priority),
              (pStream, flags, priority)) {
  return ToRuntime(driver.cuStreamCreateWithPriority(pStream, flags, priority));
}

RUNTIME_ENTRY(cudaStreamDestroy, v5050, (cudaStream_t stream), (stream)) {
  return ToRuntime(driver.cuStreamDestroy_v2(stream));
}

RUNTIME_STREAM_ENTRY(cudaStreamSynchronize, v3020, _ptsz, v7000, (cudaStream_t stream), (stream)) {
  return ToRuntime(driver.cuStreamSynchronize(StreamOr(stream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaStreamQuery, v3020, _ptsz, v7000, (cudaStream_t stream), (stream)) {
  return ToRuntime(driver.cuStreamQuery(StreamOr(stream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaStreamWaitEvent, v3020, _ptsz, v7000,
                     (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
                     (stream, event, flags)) {
  return ToRuntime(driver.cuStreamWaitEvent(StreamOr(stream, default_stream), event, flags));
}

RUNTIME_STREAM_ENTRY(cudaStreamAddCallback, v5000, _ptsz, v7000,
                     (cudaStream_t stream, cudaStreamCallback_t callback, void* userData,
                      unsigned int flags),
                     (stream, callback, userData, flags)) {
  // The two kinds of callback differ in the enumeration of the status alone.
  return ToRuntime(driver.cuStreamAddCallback(StreamOr(stream, default_stream),
                                              reinterpret_cast<CUstreamCallback>(callback),
                                              userData, flags));
}

RUNTIME_STREAM_ENTRY(cudaStreamGetPriority, v5050, _ptsz, v7000,
                     (cudaStream_t hStream, int* priority), (hStream, priority)) {
  return ToRuntime(driver.cuStreamGetPriority(StreamOr(hStream, default_stream), priority));
}

RUNTIME_STREAM_ENTRY(cudaStreamGetFlags, v5050, _ptsz, v7000,
                     (cudaStream_t hStream, unsigned int* flags), (hStream, flags)) {
  return ToRuntime(driver.cuStreamGetFlags(StreamOr(hStream, default_stream), flags));
}

RUNTIME_STREAM_ENTRY(cudaStreamGetId, v12000, _ptsz, v12000,
                     (cudaStream_t hStream, unsigned long long* streamId), (hStream, streamId)) {
  return ToRuntime(driver.cuStreamGetId(StreamOr(hStream, default_stream), streamId));
}

RUNTIME_STREAM_ENTRY(cudaStreamGetDevice, v12080, _ptsz, v12080,
                     (cudaStream_t hStream, int* device), (hStream, device)) {
  return ToRuntime(driver.cuStreamGetDevice(StreamOr(hStream, default_stream), device));
}

RUNTIME_STREAM_ENTRY(cudaStreamAttachMemAsync, v6000, _ptsz, v7000,
                     (cudaStream_t stream, void* devPtr, size_t length, unsigned int flags),
                     (stream, devPtr, length, flags)) {
  return ToRuntime(driver.cuStreamAttachMemAsync(
      StreamOr(stream, default_stream), reinterpret_cast<CUdeviceptr>(devPtr), length, flags));
}

RUNTIME_STREAM_ENTRY(cudaStreamSetAttribute, v11000, _ptsz, v11000,
                     (cudaStream_t hStream, cudaLaunchAttributeID attr,
                      const cudaLaunchAttributeValue* value),
                     (hStream, attr, value)) {
  return ToRuntime(driver.cuStreamSetAttribute(
      StreamOr(hStream, default_stream), static_cast<CUlaunchAttributeID>(attr),
      reinterpret_cast<const CUlaunchAttributeValue*>(value)));
}

RUNTIME_STREAM_ENTRY(cudaStreamGetAttribute, v11000, _ptsz, v11000,
                     (cudaStream_t hStream, cudaLaunchAttributeID attr,
                      cudaLaunchAttributeValue* value_out),
                     (hStream, attr, value_out)) {
  return ToRuntime(driver.cuStreamGetAttribute(
      StreamOr(hStream, default_stream), static_cast<CUlaunchAttributeID>(attr),
      reinterpret_cast<CUlaunchAttributeValue*>(value_out)));
}

RUNTIME_STREAM_ENTRY(cudaStreamCopyAttributes, v11000, _ptsz, v11000,
                     (cudaStream_t dst, cudaStream_t src), (dst, src)) {
  return ToRuntime(
      driver.cuStreamCopyAttributes(StreamOr(dst, default_stream), StreamOr(src, default_stream)));
}

RUNTIME_ENTRY(cudaEventCreate, v3020, (cudaEvent_t * event), (event)) {
  return ToRuntime(driver.cuEventCreate(event, CU_EVENT_DEFAULT));
}

RUNTIME_ENTRY(cudaEventCreateWithFlags, v3020, (cudaEvent_t * event, unsigned int flags),
              (event, flags)) {
  return ToRuntime(driver.cuEventCreate(event, flags));
}

RUNTIME_ENTRY(cudaEventDestroy, v3020, (cudaEvent_t event), (event)) {
  return ToRuntime(driver.cuEventDestroy_v2(event));
}

RUNTIME_STREAM_ENTRY(cudaEventRecord, v3020, _ptsz, v7000, (cudaEvent_t event, cudaStream_t stream),
                     (event, stream)) {
  return ToRuntime(driver.cuEventRecord(event, StreamOr(stream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaEventRecordWithFlags, v11010, _ptsz, v11010,
                     (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
                     (event, stream, flags)) {
  return ToRuntime(driver.cuEventRecordWithFlags(event, StreamOr(stream, default_stream), flags));
}

RUNTIME_ENTRY(cudaEventQuery, v3020, (cudaEvent_t event), (event)) {
  return ToRuntime(driver.cuEventQuery(event));
}

RUNTIME_ENTRY(cudaEventSynchronize, v3020, (cudaEvent_t event), (event)) {
  return ToRuntime(driver.cuEventSynchronize(event));
}

RUNTIME_ENTRY(cudaEventElapsedTime, v12080, (float* ms, cudaEvent_t start, cudaEvent_t end),
              (ms, start, end)) {
  return ToRuntime(driver.cuEventElapsedTime_v2(ms, start, end));
}

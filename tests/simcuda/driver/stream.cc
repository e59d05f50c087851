// Streams, and waiting for them.
#include "tests/simcuda/driver/entry.h"

#include <cupti_activity.h>

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace simcuda {
namespace {

Synchronization Begin(SyncKind kind, const Context& context) {
  Synchronization synchronization = {};
  synchronization.kind = kind;
  synchronization.context_id = context.id;
  synchronization.stream_id = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  synchronization.event_id = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  synchronization.correlation_id = Thread().correlation_id();
  synchronization.start_ns = NowNs();
  return synchronization;
}

void End(Synchronization& synchronization) {
  synchronization.end_ns = NowNs();
  Report(synchronization);
}

}  // namespace

CUresult SynchronizeStream(Stream& stream) {
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    if (stream.capture != nullptr) {
      InvalidateCapture(stream);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  Synchronization synchronization = Begin(SyncKind::kStreamSynchronize, *stream.context);
  synchronization.stream_id = stream.id;
  CUresult result = WaitForStream(stream);
  End(synchronization);
  return result;
}

CUresult SynchronizeContext(Context& context) {
  Synchronization synchronization = Begin(SyncKind::kContextSynchronize, context);
  CUresult result = WaitForContext(context);
  End(synchronization);
  return result;
}

}  // namespace simcuda

namespace {

CUresult Create(CUstream* phStream, unsigned flags, int priority) {
  constexpr int kHighest = -5, kLowest = 0;
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (phStream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  if (priority < kHighest) priority = kHighest;
  if (priority > kLowest) priority = kLowest;
  Stream* stream = CreateStream(*context, flags, priority);
  if (stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *phStream = stream->handle();
  return CUDA_SUCCESS;
}

CUresult BadEvent(CUevent handle, Event** event) {
  *event = FindEvent(handle);
  return *event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult Record(CUevent hEvent, CUstream hStream, CUstream default_stream, unsigned flags) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  Event* event;
  RETURN_IF_ERROR(BadEvent(hEvent, &event));
  if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  EventRecord record;
  record.event = event;
  Operation operation;
  operation.what = record;
  return Submit(*stream, operation);
}

}  // namespace

DRIVER_ENTRY(cuStreamCreate, (CUstream * phStream, unsigned int Flags), (phStream, Flags)) {
  return Create(phStream, Flags, 0);
}

DRIVER_ENTRY(cuStreamCreateWithPriority, (CUstream * phStream, unsigned int flags, int priority),
             (phStream, flags, priority)) {
  return Create(phStream, flags, priority);
}

DRIVER_ENTRY(cuStreamDestroy_v2, (CUstream hStream), (hStream)) {
  Stream* stream = Model::Instance().streams.Get(hStream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  DestroyStream(stream);
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamSynchronize, _ptsz, (CUstream hStream), (hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  return SynchronizeStream(*stream);
}

DRIVER_STREAM_ENTRY(cuStreamQuery, _ptsz, (CUstream hStream), (hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    if (stream->capture != nullptr) {
      InvalidateCapture(*stream);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  return QueryStream(*stream);
}

DRIVER_STREAM_ENTRY(cuStreamGetPriority, _ptsz, (CUstream hStream, int* priority),
                    (hStream, priority)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamGetFlags, _ptsz, (CUstream hStream, unsigned int* flags),
                    (hStream, flags)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamGetId, _ptsz, (CUstream hStream, unsigned long long* streamId),
                    (hStream, streamId)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (streamId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *streamId = stream->id;
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamGetDevice, _ptsz, (CUstream hStream, CUdevice* device),
                    (hStream, device)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = static_cast<CUdevice>(stream->context->device->id);
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamGetCtx, _ptsz, (CUstream hStream, CUcontext* pctx), (hStream, pctx)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = reinterpret_cast<CUcontext>(stream->context);
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamWaitEvent, _ptsz,
                    (CUstream hStream, CUevent hEvent, unsigned int Flags),
                    (hStream, hEvent, Flags)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  Event* event;
  RETURN_IF_ERROR(BadEvent(hEvent, &event));
  if (Flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    if (event->capture != nullptr || stream->capture != nullptr) {
      return JoinCapture(*stream, *event);
    }
  }
  Synchronization synchronization = Begin(SyncKind::kStreamWaitEvent, *stream->context);
  synchronization.stream_id = stream->id;
  synchronization.event_id = event->id;
  EventWait wait;
  wait.event = event;
  Operation operation;
  operation.what = wait;
  CUresult result = Submit(*stream, operation);
  End(synchronization);
  return result;
}

DRIVER_STREAM_ENTRY(cuStreamAttachMemAsync, _ptsz,
                    (CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags),
                    (hStream, dptr, length, flags)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  return Memory::Instance().KindOf(dptr) == MemoryKind::kManaged ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_STREAM_ENTRY(cuStreamSetAttribute, _ptsz,
                    (CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* value),
                    (hStream, attr, value)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    stream->priority = value->priority;
  }
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamGetAttribute, _ptsz,
                    (CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value_out),
                    (hStream, attr, value_out)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (value_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value_out = {};
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) value_out->priority = stream->priority;
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamCopyAttributes, _ptsz, (CUstream dst, CUstream src), (dst, src)) {
  Stream* to;
  Stream* from;
  RETURN_IF_ERROR(NeedStream(dst, default_stream, &to));
  RETURN_IF_ERROR(NeedStream(src, default_stream, &from));
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  to->priority = from->priority;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuEventCreate, (CUevent * phEvent, unsigned int Flags), (phEvent, Flags)) {
  constexpr unsigned kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (phEvent == nullptr || (Flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  Event* event = CreateEvent(*context, Flags);
  if (event == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *phEvent = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuEventDestroy_v2, (CUevent hEvent), (hEvent)) {
  Event* event;
  RETURN_IF_ERROR(BadEvent(hEvent, &event));
  DestroyEvent(event);
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuEventRecord, _ptsz, (CUevent hEvent, CUstream hStream), (hEvent, hStream)) {
  return Record(hEvent, hStream, default_stream, 0);
}

DRIVER_STREAM_ENTRY(cuEventRecordWithFlags, _ptsz,
                    (CUevent hEvent, CUstream hStream, unsigned int flags),
                    (hEvent, hStream, flags)) {
  return Record(hEvent, hStream, default_stream, flags);
}

DRIVER_ENTRY(cuEventQuery, (CUevent hEvent), (hEvent)) {
  Event* event;
  RETURN_IF_ERROR(BadEvent(hEvent, &event));
  return QueryEvent(*event);
}

DRIVER_ENTRY(cuEventSynchronize, (CUevent hEvent), (hEvent)) {
  Event* event;
  RETURN_IF_ERROR(BadEvent(hEvent, &event));
  Synchronization synchronization = Begin(SyncKind::kEventSynchronize, *event->context);
  synchronization.event_id = event->id;
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    if (event->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
  }
  CUresult result = WaitForEvent(*event);
  End(synchronization);
  return result;
}

DRIVER_ENTRY(cuEventElapsedTime_v2, (float* pMilliseconds, CUevent hStart, CUevent hEnd),
             (pMilliseconds, hStart, hEnd)) {
  Event* start;
  Event* end;
  RETURN_IF_ERROR(BadEvent(hStart, &start));
  RETURN_IF_ERROR(BadEvent(hEnd, &end));
  if (pMilliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 ||
      start->context != end->context) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  RETURN_IF_ERROR(QueryEvent(*start));
  RETURN_IF_ERROR(QueryEvent(*end));
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  if (start->completion == nullptr || end->completion == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  int64_t ns = static_cast<int64_t>(end->completion->end_ns - start->completion->end_ns);
  *pMilliseconds = static_cast<float>(static_cast<double>(ns) / 1e6);
  return CUDA_SUCCESS;
}

// The functions of cupti_activity.h that switch recording on and off, hand buffers over, and end it
// all.

#include <cupti.h>

#include "tests/simcuda/cupti/activity_api.h"
#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/attributes.h"
#include "tests/simcuda/cupti/client_buffers.h"
#include "tests/simcuda/cupti/device_records.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/dropped_records.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/entry_point.h"
#include "tests/simcuda/cupti/external_correlation.h"
#include "tests/simcuda/cupti/graph_trace.h"
#include "tests/simcuda/cupti/host_records.h"
#include "tests/simcuda/cupti/lane.h"
#include "tests/simcuda/cupti/names.h"
#include "tests/simcuda/cupti/nvtx_records.h"
#include "tests/simcuda/cupti/overhead_records.h"
#include "tests/simcuda/cupti/record_layout.h"
#include "tests/simcuda/cupti/subscriber.h"
#include "tests/simcuda/cupti/thread_ids.h"

namespace simcupti {
namespace {

// Whether a kind can be switched on and off: as the header says for each.
CUptiResult Switchable(CUpti_ActivityKind kind) {
  switch (static_cast<int>(kind)) {
    case CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR:
    case CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS:
    case CUPTI_ACTIVITY_KIND_BRANCH:
    case CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION:
    case CUPTI_ACTIVITY_KIND_SHARED_ACCESS:
    case CUPTI_ACTIVITY_KIND_PC_SAMPLING:
    case CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO:
    case CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION:
      return CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED;
    case CUPTI_ACTIVITY_KIND_EVENT:
    case CUPTI_ACTIVITY_KIND_METRIC:
    case CUPTI_ACTIVITY_KIND_EVENT_INSTANCE:
    case CUPTI_ACTIVITY_KIND_METRIC_INSTANCE:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE:
    case CUPTI_ACTIVITY_KIND_CDP_KERNEL:
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
    case CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE:
      return CUPTI_ERROR_INVALID_KIND;
    default:
      return RecordBytes(kind) != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
  }
}

}  // namespace

CUptiResult Switch(CUpti_ActivityKind kind, bool enabled) {
  if (const CUptiResult result = Switchable(kind); result != CUPTI_SUCCESS) return Result(result);
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE && enabled) ForgetRecordedDevices();
  // What was opened and closed in between is not known.
  if (kind == CUPTI_ACTIVITY_KIND_MARKER && enabled && !MarkersEnabled()) ForgetOpenRanges();
  SetKindEnabled(kind, enabled);
  return CUPTI_SUCCESS;
}

CUptiResult SwitchFunction(simcuda::ApiDomain domain, CUpti_CallbackId id, bool enabled) {
  if (id == 0 || id >= CallbackIdEnd(static_cast<CUpti_CallbackDomain>(domain))) {
    return Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  SetApiFlag(domain, id, kApiRecorded, enabled);
  return CUPTI_SUCCESS;
}

CUptiResult SwitchAndDump(CUpti_ActivityKind kind) {
  const CUptiResult result = Switch(kind, true);
  if (result == CUPTI_SUCCESS && BufferCallbacksRegistered()) RecordExisting(kind);
  return result;
}

void ForgetClient() {
  ResetEnabledKinds();
  // What was not flushed before is lost, as documented.
  ForgetGraphs();
  DiscardLanes();
  StopReturning();
  ForgetExternalCorrelations();
  ForgetNotedOverheads();
  ForgetOpenRanges();
  ForgetRecordedDevices();
  TakeDroppedRecords();
  ResetAttributes();
  ResetThreadIdType();
  SetLatencyTimestamps(false);
}

namespace {

CUptiResult SwitchInContext(CUcontext context, CUpti_ActivityKind kind, bool enabled) {
  if (const CUptiResult result = Switchable(kind); result != CUPTI_SUCCESS) return Result(result);
  const uint32_t context_id = context != nullptr ? FindDriver()->context_id(context) : 0;
  if (context_id == 0) return Result(CUPTI_ERROR_INVALID_CONTEXT);
  SetKindEnabledInContext(kind, context_id, enabled);
  return CUPTI_SUCCESS;
}

// Of all clients: there is no other way.
CUptiResult Flush(uint32_t flag) {
  bool registered = false;
  ForEachClient([&] { registered = registered || BufferCallbacksRegistered(); });
  if (!registered) return Result(CUPTI_ERROR_INVALID_OPERATION);
  const bool forced = (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
  const uint64_t start_ns = NowNs();
  DeliverWork(false);
  ForEachClient([&] {
    if (forced) EndAllGraphs();
    FlushLanes(forced);
    NoteOverhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start_ns, NowNs());
  });
  return CUPTI_SUCCESS;
}

}  // namespace
}  // namespace simcupti

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  SIMCUPTI_ENTER();
  SIMCUPTI_OLDER_FAMILY();
  if (request == nullptr || complete == nullptr) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  simcupti::RegisterBufferCallbacks({.request = request, .complete = complete});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::Switch(kind, true);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::Switch(kind, false);
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::SwitchAndDump(kind);
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::SwitchInContext(context, kind, true);
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::SwitchInContext(context, kind, false);
}

namespace simcupti::entry {

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return SwitchFunction(simcuda::ApiDomain::kDriver, id, enable != 0);
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return SwitchFunction(simcuda::ApiDomain::kRuntime, id, enable != 0);
}

}  // namespace simcupti::entry

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  return simcupti::Flush(flag);
}

CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  // Buffers are of no context or stream: all are given back.
  return simcupti::Flush(flag);
}

namespace simcupti::entry {

CUptiResult cuptiActivityFlushPeriod(uint32_t period_ms) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SetFlushPeriod(period_ms);
  return CUPTI_SUCCESS;
}

}  // namespace simcupti::entry

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  SIMCUPTI_ENTER();
  if (callback == nullptr) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  SIMCUPTI_ENTER_WITH_DRIVER();
  simcupti::SetTimestampCallback(callback);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize() {
  SIMCUPTI_ENTER();
  // One of several must not take it away from the others.
  if (simcupti::SubscribersOfNewerFamily() > 1) return CUPTI_SUCCESS;
  // Nothing new comes from here on.
  simcupti::ForEachClient([] {
    simcupti::ResetEnabledKinds();
    simcupti::RemoveSubscriber();
  });
  simcupti::DetachFromDriver();
  simcupti::ForEachClient([] { simcupti::ForgetClient(); });
  simcupti::SetTimestampCallback(nullptr);
  return CUPTI_SUCCESS;
}

SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableDriverApi, 12, 5);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableRuntimeApi, 12, 5);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityFlushPeriod, 11, 1);

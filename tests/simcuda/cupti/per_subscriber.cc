// The newer family of functions: what they do, they do for one subscriber.

#include "collector/cupti/per_subscriber_api.h"

#include <cupti.h>

#include <cstring>

#include "tests/simcuda/cupti/activity_api.h"
#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/attributes.h"
#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/client_buffers.h"
#include "tests/simcuda/cupti/device_records.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/dropped_records.h"
#include "tests/simcuda/cupti/entry_point.h"
#include "tests/simcuda/cupti/external_correlation.h"
#include "tests/simcuda/cupti/record_layout.h"
#include "tests/simcuda/cupti/subscriber.h"
#include "tests/simcuda/cupti/thread_ids.h"

// A driver is needed, but so it was for subscribing.
#define SIMCUPTI_ENTER_FOR(subscriber)                          \
  SIMCUPTI_ENTER();                                             \
  const int client = ClientOf(subscriber);                      \
  if (client < 0) return Result(CUPTI_ERROR_INVALID_PARAMETER); \
  const ActingFor scope(client)

namespace simcupti {
namespace {

using tp::collect::CompleteBufferForSubscriber;
using tp::collect::RequestBufferForSubscriber;

template <class Value>
CUptiResult CopyIn(const size_t* bytes, const void* from, Value* value) {
  if (bytes == nullptr || from == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (*bytes < sizeof(Value)) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::memcpy(value, from, sizeof(Value));
  return CUPTI_SUCCESS;
}

}  // namespace
}  // namespace simcupti

namespace simcupti::entry {

CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                   void*) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return Switch(kind, true);
}

CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                    void*) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return Switch(kind, false);
}

CUptiResult cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber,
                                          CUpti_ActivityKind kind, void*) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return SwitchAndDump(kind);
}

CUptiResult cuptiActivityEnableDriverApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId id,
                                            uint8_t enable) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return SwitchFunction(simcuda::ApiDomain::kDriver, id, enable != 0);
}

CUptiResult cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle subscriber, CUpti_CallbackId id,
                                             uint8_t enable) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return SwitchFunction(simcuda::ApiDomain::kRuntime, id, enable != 0);
}

CUptiResult cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle subscriber,
                                              RequestBufferForSubscriber request,
                                              CompleteBufferForSubscriber complete) {
  SIMCUPTI_ENTER_FOR(subscriber);
  if (request == nullptr || complete == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  RegisterBufferCallbacks({.request_for_subscriber = request, .complete_for_subscriber = complete});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                         CUpti_ActivityAttribute attribute, size_t* bytes,
                                         void* value) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return Result(GetAttribute(attribute, bytes, value));
}

CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber,
                                         CUpti_ActivityAttribute attribute, size_t* bytes,
                                         void* value) {
  SIMCUPTI_ENTER_FOR(subscriber);
  if (attribute == tp::collect::kThreadIdTypeAttribute) {
    CUpti_ActivityThreadIdType type{};
    const CUptiResult result = CopyIn(bytes, value, &type);
    if (result != CUPTI_SUCCESS) return Result(result);
    return Result(SetThreadIdType(type) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
  }
  if (attribute == tp::collect::kLatencyTimestampsAttribute) {
    uint8_t enable = 0;
    const CUptiResult result = CopyIn(bytes, value, &enable);
    if (result != CUPTI_SUCCESS) return Result(result);
    SetLatencyTimestamps(enable != 0);
    return CUPTI_SUCCESS;
  }
  return Result(SetAttribute(attribute, bytes, value));
}

CUptiResult cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle subscriber, uint8_t* buffer,
                                          size_t valid_bytes, CUpti_Activity** record) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return NextRecord(buffer, valid_bytes, record);
}

CUptiResult cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle subscriber, CUcontext,
                                                 uint32_t, size_t* dropped) {
  SIMCUPTI_ENTER_FOR(subscriber);
  if (dropped == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  *dropped = TakeDroppedRecords();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                      CUpti_ExternalCorrelationKind kind,
                                                      uint64_t id) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return Result(PushExternalCorrelation(kind, id));
}

CUptiResult cuptiActivityPopExternalCorrelationId_v2(CUpti_SubscriberHandle subscriber,
                                                     CUpti_ExternalCorrelationKind kind,
                                                     uint64_t* last_id) {
  SIMCUPTI_ENTER_FOR(subscriber);
  return Result(PopExternalCorrelation(kind, last_id));
}

CUptiResult cuptiGetTimestamp_v2(CUpti_SubscriberHandle subscriber, uint64_t* timestamp) {
  SIMCUPTI_ENTER_FOR(subscriber);
  if (timestamp == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  *timestamp = NowNs();
  return CUPTI_SUCCESS;
}

}  // namespace simcupti::entry

SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnable_v2, 13, 2);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityDisable_v2, 13, 2);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableAndDump_v2, 13, 2);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityRegisterCallbacks_v2, 13, 2);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityGetAttribute_v2, 13, 2);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivitySetAttribute_v2, 13, 2);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableDriverApi_v2, 13, 3);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityEnableRuntimeApi_v2, 13, 3);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityGetNextRecord_v2, 13, 3);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityGetNumDroppedRecords_v2, 13, 3);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityPushExternalCorrelationId_v2, 13, 3);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiActivityPopExternalCorrelationId_v2, 13, 3);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiGetTimestamp_v2, 13, 3);

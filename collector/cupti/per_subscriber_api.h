// CUPTI's newer family of functions, which act for one subscriber: cuptiActivityEnable_v2 and so
// on. The headers of the toolkit that this is built with may not have them, so their types are
// given here in our own words; a test compares them with the headers that have them.
//
// The whole family is there since CUPTI 13.3; 13.0 brought cuptiSubscribe_v2, for the sake of the
// names, and 13.2 some of the others.
#ifndef COLLECTOR_CUPTI_PER_SUBSCRIBER_API_H_
#define COLLECTOR_CUPTI_PER_SUBSCRIBER_API_H_

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace tp::collect {

// CUpti_SubscriberParams.
struct SubscriberParams {
  size_t struct_bytes;  // How much of this CUPTI may use.
  const char* name;     // Others see "CUPTI for NAME".
  char* holder;         // Where the name of who is there already is written; at least 64 bytes.
  size_t holder_bytes;
  uint8_t allow_several;  // Since 13.2. All subscribers must say the same.
  uint8_t padding[7];
};
inline constexpr size_t kSubscriberParamsBytes = sizeof(SubscriberParams);
inline constexpr size_t kSubscriberParamsBytesBefore13_2 =
    offsetof(SubscriberParams, allow_several);
inline constexpr size_t kMostHolderBytes = 64;

// Of CUpti_ActivityAttribute, values that are younger than the family of functions.
inline constexpr auto kLatencyTimestampsAttribute = static_cast<CUpti_ActivityAttribute>(15);
inline constexpr auto kThreadIdTypeAttribute = static_cast<CUpti_ActivityAttribute>(21);

// The last argument is a struct of CUPTI's that we have no use for.
using RequestBufferForSubscriber = void(CUPTIAPI*)(uint8_t** buffer, size_t* bytes,
                                                   size_t* most_records, void* info);
using CompleteBufferForSubscriber = void(CUPTIAPI*)(uint8_t* buffer, size_t bytes,
                                                    size_t valid_bytes, void* info);

// By name without "cupti" and "_v2". `config` may be nullptr: whole records.
struct PerSubscriberFunctions {
  using Subscribe = CUptiResult(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void* user,
                                SubscriberParams*);
  using ActivityDisable = CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityKind, void* config);
  using ActivityEnable = CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityKind, void* config);
  using ActivityEnableAndDump = CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityKind,
                                            void* config);
  using ActivityEnableDriverApi = CUptiResult(CUpti_SubscriberHandle, CUpti_CallbackId,
                                              uint8_t enable);
  using ActivityEnableRuntimeApi = CUptiResult(CUpti_SubscriberHandle, CUpti_CallbackId,
                                               uint8_t enable);
  using ActivityGetAttribute = CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityAttribute,
                                           size_t* bytes, void* value);
  using ActivitySetAttribute = CUptiResult(CUpti_SubscriberHandle, CUpti_ActivityAttribute,
                                           size_t* bytes, void* value);
  using ActivityGetNextRecord = CUptiResult(CUpti_SubscriberHandle, uint8_t* buffer,
                                            size_t valid_bytes, CUpti_Activity** record);
  using ActivityGetNumDroppedRecords = CUptiResult(CUpti_SubscriberHandle, CUcontext,
                                                   uint32_t stream, size_t* dropped);
  using ActivityPopExternalCorrelationId = CUptiResult(CUpti_SubscriberHandle,
                                                       CUpti_ExternalCorrelationKind, uint64_t* id);
  using ActivityPushExternalCorrelationId = CUptiResult(CUpti_SubscriberHandle,
                                                        CUpti_ExternalCorrelationKind, uint64_t id);
  using ActivityRegisterCallbacks = CUptiResult(CUpti_SubscriberHandle, RequestBufferForSubscriber,
                                                CompleteBufferForSubscriber);
  using GetTimestamp = CUptiResult(CUpti_SubscriberHandle, uint64_t* ns);
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_PER_SUBSCRIBER_API_H_

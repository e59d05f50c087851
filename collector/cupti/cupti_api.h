// The functions of CUPTI that we use, looked up in the library that is found at run time: nothing
// is linked, and the headers' version need not be the library's.
#ifndef COLLECTOR_CUPTI_CUPTI_API_H_
#define COLLECTOR_CUPTI_CUPTI_API_H_

#include <cupti.h>

#include <cstdint>
#include <string>

namespace tp::collect {

// Functions that every CUPTI since 11.0 has.
#define TP_CUPTI_REQUIRED(APPLY)           \
  APPLY(ActivityDisable)                   \
  APPLY(ActivityEnable)                    \
  APPLY(ActivityFlushAll)                  \
  APPLY(ActivityGetNextRecord)             \
  APPLY(ActivityGetNumDroppedRecords)      \
  APPLY(ActivityPopExternalCorrelationId)  \
  APPLY(ActivityPushExternalCorrelationId) \
  APPLY(ActivityRegisterCallbacks)         \
  APPLY(GetCallbackName)                   \
  APPLY(GetResultString)                   \
  APPLY(GetTimestamp)                      \
  APPLY(GetVersion)                        \
  APPLY(Subscribe)                         \
  APPLY(Unsubscribe)

// Functions that are missing in some: nullptr there.
#define TP_CUPTI_OPTIONAL(APPLY) \
  APPLY(ActivityGetAttribute)    \
  APPLY(ActivitySetAttribute)    \
  APPLY(Finalize)                \
  APPLY(SetThreadIdType)         \
  TP_CUPTI_SINCE_13(APPLY)

#ifdef CUpti_SubscriberParams_STRUCT_SIZE
#define TP_CUPTI_SINCE_13(APPLY) APPLY(Subscribe_v2)
#else
#define TP_CUPTI_SINCE_13(APPLY)
#endif

struct CuptiApi {
#define TP_DECLARE(name) decltype(&::cupti##name) name = nullptr;
  TP_CUPTI_REQUIRED(TP_DECLARE)
  TP_CUPTI_OPTIONAL(TP_DECLARE)
#undef TP_DECLARE

  uint32_t version = 0;  // cuptiGetVersion.
  std::string path;      // Of the library, as the loader knows it.
};

// Finds libcupti: the one that is in the process already, else the one that TP_CUPTI names, else
// the loader's and the usual places. False if there is none or it lacks a function: `reason` then
// says in one line what to do. The library stays loaded.
bool LoadCupti(CuptiApi* api, std::string* reason);

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_CUPTI_API_H_

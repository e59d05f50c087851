// The functions of CUPTI that we use, looked up in the library that is found at run time: nothing
// is linked, and the headers' version need not be the library's.
#ifndef COLLECTOR_CUPTI_CUPTI_API_H_
#define COLLECTOR_CUPTI_CUPTI_API_H_

#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <string>

#include "collector/cupti/per_subscriber_api.h"

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
#define TP_CUPTI_OPTIONAL(APPLY)         \
  APPLY(ActivityEnableAndDump)           \
  APPLY(ActivityEnableDriverApi)         \
  APPLY(ActivityEnableLatencyTimestamps) \
  APPLY(ActivityEnableRuntimeApi)        \
  APPLY(ActivityGetAttribute)            \
  APPLY(ActivitySetAttribute)            \
  APPLY(EnableCallback)                  \
  APPLY(EnableDomain)                    \
  APPLY(Finalize)                        \
  APPLY(GetGraphNodeId)                  \
  APPLY(SetThreadIdType)

// Of the newer family; nullptr in a library that has not got all of it, but for Subscribe.
#define TP_CUPTI_PER_SUBSCRIBER(APPLY)     \
  APPLY(ActivityDisable)                   \
  APPLY(ActivityEnable)                    \
  APPLY(ActivityEnableAndDump)             \
  APPLY(ActivityEnableDriverApi)           \
  APPLY(ActivityEnableRuntimeApi)          \
  APPLY(ActivityGetAttribute)              \
  APPLY(ActivityGetNextRecord)             \
  APPLY(ActivityGetNumDroppedRecords)      \
  APPLY(ActivityPopExternalCorrelationId)  \
  APPLY(ActivityPushExternalCorrelationId) \
  APPLY(ActivityRegisterCallbacks)         \
  APPLY(ActivitySetAttribute)              \
  APPLY(GetTimestamp)                      \
  APPLY(Subscribe)

struct CuptiApi {
#define TP_DECLARE(name) decltype(&::cupti##name) name = nullptr;
  TP_CUPTI_REQUIRED(TP_DECLARE)
  TP_CUPTI_OPTIONAL(TP_DECLARE)
#undef TP_DECLARE
  struct {
#define TP_DECLARE(name) PerSubscriberFunctions::name* name = nullptr;
    TP_CUPTI_PER_SUBSCRIBER(TP_DECLARE)
#undef TP_DECLARE
  } per_subscriber;

  // CUPTI as a tool of NVTX; nullptr where it is none.
  int (*InitializeNvtx)(NvtxGetExportTableFunc_t) = nullptr;

  uint32_t version = 0;         // cuptiGetVersion.
  std::string path;             // Of the library, as the loader knows it.
  uint32_t driver_version = 0;  // cuDriverGetVersion; 0: unknown.

  bool has_per_subscriber() const { return per_subscriber.ActivityEnable != nullptr; }
};

// Fills in the functions of a library that is open, its version and its path. False if it lacks
// one that is required: `reason` then says which.
bool LookUpCupti(void* library, CuptiApi* api, std::string* reason);

// Finds and opens libcupti (see cupti_library.h). False if there is none that will do: `reason`
// then says in one line where it was looked for, or what was wrong with it, and what to do. The
// library stays loaded.
bool LoadCupti(CuptiApi* api, std::string* reason);

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_CUPTI_API_H_

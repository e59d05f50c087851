// What a client wants recorded or called back: by kind, by kind and context, and by API function.
//
// The questions are asked at every API call and by every piece of device work, and cost an atomic
// load where nothing is switched on. Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_ENABLED_KINDS_H_
#define TESTS_SIMCUDA_CUPTI_ENABLED_KINDS_H_

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "tests/simcuda/core/observer.h"

namespace simcupti {

// By kind. Context id 0: no context.
bool KindEnabled(CUpti_ActivityKind kind, uint32_t context_id);
bool AnyKindEnabled();
void SetKindEnabled(CUpti_ActivityKind kind, bool enabled);
// Supersedes the setting for all contexts.
void SetKindEnabledInContext(CUpti_ActivityKind kind, uint32_t context_id, bool enabled);

// By API function, one byte of flags for each.
enum ApiFlag : uint8_t {
  kApiRecorded = 1,
  kApiEnterAndExitCalled = 2,
};

// The flags of one function: of a place that is always 0 for an id out of range.
std::atomic<uint8_t>& ApiFlags(simcuda::ApiDomain domain, uint32_t callback_id);
void SetApiFlag(simcuda::ApiDomain domain, uint32_t callback_id, ApiFlag flag, bool on);
void SetApiFlagOfAll(simcuda::ApiDomain domain, ApiFlag flag, bool on);

// Whether a call whose function has these flags, made in this context, is recorded.
bool ApiCallRecorded(simcuda::ApiDomain domain, uint8_t flags, uint32_t context_id);
// True if a context has settings of its own, so that flags of 0 do not settle the matter.
bool AnyContextSettings();

// Forgets everything that the client wanted.
void ResetEnabledKinds();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_ENABLED_KINDS_H_

// What both families of functions do for the current client.
#ifndef TESTS_SIMCUDA_CUPTI_ACTIVITY_API_H_
#define TESTS_SIMCUDA_CUPTI_ACTIVITY_API_H_

#include <cupti.h>

#include "tests/simcuda/core/observer.h"

namespace simcupti {

CUptiResult Switch(CUpti_ActivityKind kind, bool enabled);
CUptiResult SwitchAndDump(CUpti_ActivityKind kind);
CUptiResult SwitchFunction(simcuda::ApiDomain domain, CUpti_CallbackId id, bool enabled);

// As if it had never been there.
void ForgetClient();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_ACTIVITY_API_H_

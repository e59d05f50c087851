// The subscriber's callbacks in the resource and synchronize domains.
#ifndef TESTS_SIMCUDA_CUPTI_RESOURCE_CALLBACKS_H_
#define TESTS_SIMCUDA_CUPTI_RESOURCE_CALLBACKS_H_

#include "tests/simcuda/core/observer.h"

namespace simcupti {

void CallBackForResource(const simcuda::ResourceEvent& event);
void CallBackForSynchronization(const simcuda::Synchronization& synchronization);
void CallBackForDriverStart();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_RESOURCE_CALLBACKS_H_

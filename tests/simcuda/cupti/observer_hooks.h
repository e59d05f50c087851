// The functions that the simulated driver calls, in one table. They hand each event on to the
// records and to the subscriber.
#ifndef TESTS_SIMCUDA_CUPTI_OBSERVER_HOOKS_H_
#define TESTS_SIMCUDA_CUPTI_OBSERVER_HOOKS_H_

#include "tests/simcuda/core/observer.h"

namespace simcupti {

const simcuda::Observer& ObserverHooks();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_OBSERVER_HOOKS_H_

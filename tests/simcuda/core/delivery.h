// Hands completed work to the observer, each piece once, per stream in the order of completion.
//
// The observer's own locks must not be held when Deliver is called if device_work takes them:
// deliveries wait for each other.
#ifndef TESTS_SIMCUDA_CORE_DELIVERY_H_
#define TESTS_SIMCUDA_CORE_DELIVERY_H_

#include <cstdint>

#include "tests/simcuda/core/observer.h"

namespace simcuda {

const Observer* CurrentObserver();

// Delivers the work of all streams that has ended by now. With `wait`, first waits for all that was
// submitted.
void Deliver(bool wait);

// Reports to the observer if there is one.
void Report(const ResourceEvent& event);
void Report(const MemoryEvent& event);
void Report(const MemoryPoolEvent& event);
void Report(const Synchronization& synchronization);

// For resource events found under Model::mutex, where no observer may be called: kept, and reported
// by the same thread at the end of its API call.
void ReportLater(const ResourceEvent& event);
void ReportKept();

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_DELIVERY_H_

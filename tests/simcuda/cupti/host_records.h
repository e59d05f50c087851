// Records of what happens on the host: API calls, synchronizations, memory, contexts, streams,
// modules, devices.
//
// Each is written into the lane of the calling thread if its kind is enabled.
#ifndef TESTS_SIMCUDA_CUPTI_HOST_RECORDS_H_
#define TESTS_SIMCUDA_CUPTI_HOST_RECORDS_H_

#include <cupti.h>

#include "tests/simcuda/core/observer.h"

namespace simcupti {

void RecordApiCall(const simcuda::ApiCall& call);
void RecordSynchronization(const simcuda::Synchronization& synchronization);
void RecordMemory(const simcuda::MemoryEvent& event);
void RecordMemoryPool(const simcuda::MemoryPoolEvent& event);
// Contexts, streams and modules that are created.
void RecordResource(const simcuda::ResourceEvent& event);

// Once after DEVICE records have been enabled, when the driver is up.
void RecordDevicesOnce();
// All devices, or all contexts or streams that there are.
void RecordExisting(CUpti_ActivityKind kind);

// DEVICE records are to be written again when the next occasion comes.
void ForgetRecordedDevices();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_HOST_RECORDS_H_

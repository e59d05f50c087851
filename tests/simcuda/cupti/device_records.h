// Records of what ran on a device: kernels, copies, fills, and whole graphs.
#ifndef TESTS_SIMCUDA_CUPTI_DEVICE_RECORDS_H_
#define TESTS_SIMCUDA_CUPTI_DEVICE_RECORDS_H_

#include "tests/simcuda/core/observer.h"

namespace simcupti {

// The kinds of device work that the current client has enabled in a context, as bits of its own
// among those of all clients. Whether a piece of work gets a
// record is settled when it is submitted; what is switched on or off afterwards does not matter.
uint64_t EnabledDeviceKinds(uint32_t context_id);

// Writes the record of a piece of work, if its kind was enabled when it was submitted (then
// EnabledDeviceKinds gave its observer_data). An end of 0 says that it has started and still runs:
// it is then expected once more, when it has ended.
void RecordDeviceWork(const simcuda::DeviceWork& work);

// Whether kernels' records tell when they were queued and submitted.
void SetLatencyTimestamps(bool enabled);

// Whether a launch must wait for its kernel (only KIND_KERNEL is enabled, not
// KIND_CONCURRENT_KERNEL).
bool KernelsAreSerialized(uint32_t context_id);

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_DEVICE_RECORDS_H_

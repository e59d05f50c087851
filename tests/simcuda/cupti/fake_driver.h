// A driver without a device, for tests of the simulated CUPTI: it tells its observer what a test
// wants it to tell.
//
// It is a libcuda.so.1 of its own, which a test program links. One per process. A test says what
// contexts and streams there are, makes API calls and completes device work; times count up by
// themselves.
//
// Threads: calls and work may come from any thread; what describes the driver is set up by one
// thread.
#ifndef TESTS_SIMCUDA_CUPTI_FAKE_DRIVER_H_
#define TESTS_SIMCUDA_CUPTI_FAKE_DRIVER_H_

#include <cstdint>
#include <functional>

#include "tests/simcuda/core/observer.h"

namespace fake_driver {

// No contexts, no waiting work, counters at 0. The observer stays.
void Reset();

bool HasObserver();

// Nanoseconds, one more at every call.
uint64_t Now();

// A context or stream that is there, without an event about it. Handles are made up from the ids.
void AddContext(uint32_t context_id, uint32_t device_id);
void AddStream(uint32_t context_id, uint32_t stream_id);
void* ContextHandle(uint32_t context_id);
void* StreamHandle(uint32_t stream_id);
void SetCurrentContext(uint32_t context_id);  // 0: none.
void SetDeviceCount(int count);

// An API call of the calling thread in context 1, from enter to exit, with `inside` in between.
// Times and thread ids are filled in, and the correlation id too where it is 0. Returns the
// correlation id.
uint32_t Call(simcuda::ApiDomain domain, uint32_t callback_id,
              const std::function<void()>& inside = nullptr);
uint32_t Call(simcuda::ApiCall call, const std::function<void()>& inside = nullptr);

// Tells of work (as submitted just now), synchronization, resources and memory at once.
void Complete(const simcuda::DeviceWork& work);
void Synchronize(const simcuda::Synchronization& synchronization);
void Change(const simcuda::ResourceEvent& event);
void ChangeMemory(const simcuda::MemoryEvent& event);
void ChangeMemoryPool(const simcuda::MemoryPoolEvent& event);

// Submits the work now, and tells of it when the observer asks for what has completed.
void CompleteWhenAsked(const simcuda::DeviceWork& work);

// How often the observer has asked, without and with waiting.
int TimesAsked();
int TimesAskedToWait();

// A kernel in context 1 on stream 7 of device 0, started and ended now.
simcuda::DeviceWork Kernel(uint32_t correlation_id);

}  // namespace fake_driver

#endif  // TESTS_SIMCUDA_CUPTI_FAKE_DRIVER_H_

// Making, finding and ending contexts, streams and events. Each takes Model::mutex itself and
// reports to the observer.
#ifndef TESTS_SIMCUDA_CORE_CONTEXT_H_
#define TESTS_SIMCUDA_CORE_CONTEXT_H_

#include <cuda.h>

#include "tests/simcuda/core/model.h"

namespace simcuda {

// nullptr when there is no such device.
Device* FindDevice(CUdevice ordinal);

Context* CreateContext(Device& device, unsigned flags, bool primary);
// Waits for its work, then ends its streams, events, memory and loaded code.
void DestroyContext(Context* context);

// The device's primary context, made at the first call; counts a reference.
Context* RetainPrimary(Device& device);
CUresult ReleasePrimary(Device& device);
void ResetPrimary(Device& device);

Stream* CreateStream(Context& context, unsigned flags, int priority);
// From now on the handle is dead; work that was submitted still runs.
void DestroyStream(Stream* stream);
// The calling thread's own default stream in a context.
Stream* PerThreadStream(Context& context);

// The stream that a handle means for `context` (nullptr and CU_STREAM_LEGACY: the legacy one).
// nullptr: no such stream.
Stream* FindStream(Context* context, CUstream handle);

Event* CreateEvent(Context& context, unsigned flags);
void DestroyEvent(Event* event);
Event* FindEvent(CUevent handle);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_CONTEXT_H_

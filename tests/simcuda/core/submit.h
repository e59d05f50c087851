// The rules of time: when an operation that was submitted to a stream runs, and waiting for it.
//
// Times are computed at submission. Work starts no earlier than the present plus the launch
// latency, the end of what is before it in its stream, the legacy default stream's work (for a
// blocking stream) or that of all blocking streams (for the legacy one), the events that its stream
// waits for, and a free copy engine or kernel slot. It is complete when the clock passes its end.
// Only a host function's end cannot be known beforehand: what depends on one is kept as pending and
// scheduled when it has run. Bytes move when the work is scheduled.
#ifndef TESTS_SIMCUDA_CORE_SUBMIT_H_
#define TESTS_SIMCUDA_CORE_SUBMIT_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/simcuda/core/model.h"

namespace simcuda {

// Submits to a stream, or adds to the graph that the stream captures. May wait until the stream has
// room.
CUresult Submit(Stream& stream, Operation operation);

// Waiting. Each also delivers what has completed to the observer, unless nothing observes. The
// result is the context's fault, if any.
CUresult WaitForStream(Stream& stream);
CUresult WaitForContext(Context& context);
CUresult WaitForEvent(Event& event);

// CUDA_SUCCESS when complete, else CUDA_ERROR_NOT_READY.
CUresult QueryStream(Stream& stream);
CUresult QueryEvent(Event& event);

// The following are for use under Model::mutex.

// What was submitted to the stream and not scheduled yet has ended when these are known.
std::vector<std::shared_ptr<Completion>> PendingTails(const Stream& stream);

// Schedules whatever can be, after a host function has returned.
void ScheduleUnblocked();

// The context's sticky error, CUDA_SUCCESS while it has none.
CUresult Fault(const Context& context);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_SUBMIT_H_

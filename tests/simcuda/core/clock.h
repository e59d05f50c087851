// The simulated clock: CLOCK_REALTIME as it was when the process first asked, carried on by
// CLOCK_MONOTONIC so that it never goes back, plus the constant SIMCUDA_CLOCK_OFFSET_NS
// (nanoseconds, may be negative, default 0).
//
// SIMCUDA_SPEED (default 1) says how fast waits pass: waiting for a moment that is `d` ahead sleeps
// d / speed, and then the clock stands at that moment or later. With 0 nothing sleeps: a wait moves
// the clock forward at once. All functions are thread safe.
#ifndef TESTS_SIMCUDA_CORE_CLOCK_H_
#define TESTS_SIMCUDA_CORE_CLOCK_H_

#include <cstdint>

namespace simcuda {

uint64_t NowNs();

// How long a thread has to sleep, in real nanoseconds, for the clock to reach `time_ns`: 0 when it
// has, or when nothing sleeps.
uint64_t RealNsUntil(uint64_t time_ns);

// Makes the clock stand at `time_ns` or later without sleeping. For whoever has slept RealNsUntil.
void AdvanceTo(uint64_t time_ns);

// Sleeps until the clock stands at `time_ns` or later.
void WaitUntil(uint64_t time_ns);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_CLOCK_H_

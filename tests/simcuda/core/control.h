// How a test or a trace replayer steers what the simulated CUDA does next. Exported by the
// simulated libcuda.so.1.
//
// Each call holds for one next piece of device work (a kernel, copy or fill; not a whole graph)
// that the calling thread asks for. Environment variables steer the rest; tests/simcuda/README.md
// lists them.
#ifndef TESTS_SIMCUDA_CORE_CONTROL_H_
#define TESTS_SIMCUDA_CORE_CONTROL_H_

#include <cstdint>

extern "C" {

// The next kernel, copy or fill of this thread takes `ns` on the device.
void simcuda_next_duration_ns(uint64_t ns);

// The next kernel of this thread is reported under `name` (copied). Its duration still goes by its
// own name.
void simcuda_next_kernel_name(const char* name);

// The next kernel, copy or fill of this thread takes `ns` from the present to its earliest start,
// instead of the launch latency.
void simcuda_next_delay_ns(uint64_t ns);

// Gives `stream` (a CUstream; nullptr: nothing happens) the id that activities will show. Ids are
// the caller's to keep apart.
void simcuda_set_stream_id(void* stream, uint32_t id);

}  // extern "C"

#endif  // TESTS_SIMCUDA_CORE_CONTROL_H_

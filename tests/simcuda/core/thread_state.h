// What the driver keeps for each thread.
#ifndef TESTS_SIMCUDA_CORE_THREAD_STATE_H_
#define TESTS_SIMCUDA_CORE_THREAD_STATE_H_

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "tests/simcuda/core/model.h"

namespace simcuda {

struct ThreadState {
  uint64_t system_thread_id;
  std::vector<Context*>
      contexts;  // The current one is the last. May hold contexts that were destroyed.
  std::vector<ApiCall*> calls;  // Reported calls that this thread is in.
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

  ThreadState();
  ~ThreadState();  // Ends the thread's own default streams.

  // The correlation id for work that the thread asks for now; 0 when nobody observes.
  uint32_t correlation_id() const { return calls.empty() ? 0 : calls.front()->correlation_id; }
};

ThreadState& Thread();

// The current context if it is alive, else nullptr.
Context* CurrentContext();

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_THREAD_STATE_H_

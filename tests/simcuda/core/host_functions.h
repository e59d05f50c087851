// The thread that runs host functions and stream callbacks at their place in a stream. Started when
// the first one comes.
#ifndef TESTS_SIMCUDA_CORE_HOST_FUNCTIONS_H_
#define TESTS_SIMCUDA_CORE_HOST_FUNCTIONS_H_

#include <cstdint>
#include <memory>

#include "tests/simcuda/core/model.h"
#include "tests/simcuda/core/operation.h"

namespace simcuda {

// Runs `function` when the clock reaches `start_ns`; then marks `done` as known, ended at that
// moment, and schedules what waited. Called under Model::mutex.
void RunHostFunction(uint64_t start_ns, const HostFunction& function,
                     std::shared_ptr<Completion> done);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_HOST_FUNCTIONS_H_

// Whether a process is still there, told from a later one with the same number.
#ifndef ANALYZER_SERVE_TRACED_PROCESS_H_
#define ANALYZER_SERVE_TRACED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace tp {

// When the process was started (/proc/PID/stat, field 22, clock ticks since boot); nullopt if there
// is none, or only its exit status is left.
std::optional<uint64_t> ProcessStartTicks(pid_t pid);

}  // namespace tp

#endif  // ANALYZER_SERVE_TRACED_PROCESS_H_

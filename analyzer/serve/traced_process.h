// Whether a process is still there, and still runs the same program.
#ifndef ANALYZER_SERVE_TRACED_PROCESS_H_
#define ANALYZER_SERVE_TRACED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace tp {

struct TracedProcess {
  // When it was started, in clock ticks since boot: tells it from a later one with its number.
  uint64_t start_ticks = 0;
  // Where its stack begins: each exec has another one (as long as addresses are random). 0: the
  // system does not say.
  uint64_t stack_start = 0;

  bool operator==(const TracedProcess&) const = default;
};

// From /proc/PID/stat, fields 22 and 28; nullopt if there is no such process, or only its exit
// status is left.
std::optional<TracedProcess> FindProcess(pid_t pid);

// Whether `ancestor` is the process itself, its parent, the parent's parent and so on. Of a process
// that has ended nobody knows: false.
bool DescendsFrom(pid_t process, pid_t ancestor);

}  // namespace tp

#endif  // ANALYZER_SERVE_TRACED_PROCESS_H_

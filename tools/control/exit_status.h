// What tpctl's exit status says, and the one line on stderr that goes with a failure.
#ifndef TOOLS_CONTROL_EXIT_STATUS_H_
#define TOOLS_CONTROL_EXIT_STATUS_H_

#include <ostream>

#include "absl/status/status.h"

namespace tp {

inline constexpr int kDone = 0;
inline constexpr int kWorkFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kNoDaemon = 3;
// As shells say it of a command that could not be started.
inline constexpr int kCommandNotExecutable = 126;
inline constexpr int kCommandNotFound = 127;
inline constexpr int kKilledBySignal = 128;  // Plus the signal's number.

// InvalidArgument is bad input, Unavailable a missing daemon, every other error failed work.
int ExitStatus(const absl::Status& status);

// Writes "tpctl: MESSAGE" as one line, safe for a terminal, and returns ExitStatus(status).
int Fail(const absl::Status& status, std::ostream& errors);

}  // namespace tp

#endif  // TOOLS_CONTROL_EXIT_STATUS_H_

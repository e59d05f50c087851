// Whether a process that runs can be captured, and if it is not, why: what the system tells of it
// (/proc), without touching it.
#ifndef TOOLS_DOCTOR_PROCESS_H_
#define TOOLS_DOCTOR_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "tools/doctor/finding.h"

namespace tp {

struct ExaminedProcess {
  std::string command;
  bool has_collector = false;  // Its library is in the process.
  bool has_driver = false;     // CUDA's is.
  Findings findings;
};

// `socket`: where the daemon listens that is to know of the process. NotFound if there is no such
// process, PermissionDenied if it is not ours to look at.
absl::StatusOr<ExaminedProcess> ExamineProcess(pid_t pid, const std::string& socket);

}  // namespace tp

#endif  // TOOLS_DOCTOR_PROCESS_H_

// What a check of the machine or of a process has found, for `tpctl doctor`.
#ifndef TOOLS_DOCTOR_FINDING_H_
#define TOOLS_DOCTOR_FINDING_H_

#include <string>
#include <vector>

namespace tp {

struct Finding {
  enum class Level {
    kFine,
    kNote,     // Something will be missing, or is to be known.
    kProblem,  // Nothing can be captured like this.
  };
  Level level = Level::kFine;
  std::string subject;  // "CUDA driver".
  std::string text;     // One line; may hold text that others chose, as it is.
  std::string remedy;   // What to do, one line; empty where there is nothing to do.
};

using Findings = std::vector<Finding>;

}  // namespace tp

#endif  // TOOLS_DOCTOR_FINDING_H_

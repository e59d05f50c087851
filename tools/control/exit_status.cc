#include "tools/control/exit_status.h"

#include "tools/control/terminal_text.h"

namespace tp {

int ExitStatus(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kInvalidArgument:
      return kBadInput;
    case absl::StatusCode::kUnavailable:
      return kNoDaemon;
    default:
      return kWorkFailed;
  }
}

int Fail(const absl::Status& status, std::ostream& errors) {
  errors << "tpctl: " << EscapeForTerminal({status.message().data(), status.message().size()})
         << "\n";
  return ExitStatus(status);
}

}  // namespace tp

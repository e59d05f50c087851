// Runs a command with our terminal as if the shell had started it, and waits for it.
#ifndef TOOLS_CONTROL_CHILD_PROCESS_H_
#define TOOLS_CONTROL_CHILD_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tp {

struct ChildEnd {
  pid_t pid = -1;
  int exit_status =
      0;  // As a shell says it: 128 + N if signal N killed it, 127 not found, 126 not executable.
  int start_error = 0;  // errno, if it could not be started.
};

// `environment`: variables to set, beside ours. Signals that reach us alone (from `kill`) are
// handed on; those that the terminal sends reach the command by themselves, and we wait for what it
// makes of them.
//
// `started` is called once it runs, with those signals blocked: threads begun there leave them to
// us.
ChildEnd RunChild(const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& environment,
                  const std::function<void()>& started = {});

}  // namespace tp

#endif  // TOOLS_CONTROL_CHILD_PROCESS_H_

// The steps of bringing the collector into a process, for tests: TP_INJECT_DIE_AT names one at
// which we end by SIGKILL, as anybody may end us at any moment.
#ifndef TOOLS_INJECT_STEPS_H_
#define TOOLS_INJECT_STEPS_H_

#include <signal.h>
#include <stdlib.h>

#include <string_view>

namespace tp {

// In their order.
inline constexpr const char* kSteps[] = {"seized",   "stopped",  "framed",   "library", "sockets",
                                         "written",  "mapped",   "prepared", "called",  "made",
                                         "restored", "detached", "greeted"};

inline void Step(std::string_view name) {
  const char* last = getenv("TP_INJECT_DIE_AT");
  if (last != nullptr && name == last) raise(SIGKILL);
}

}  // namespace tp

#endif  // TOOLS_INJECT_STEPS_H_

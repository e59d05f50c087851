// The live screen on a real terminal (ncurses): draws what RenderScreen makes, feeds keys to
// HandleKey and snapshots to the state.
#ifndef TOOLS_CONTROL_TERMINAL_SCREEN_H_
#define TOOLS_CONTROL_TERMINAL_SCREEN_H_

#include <chrono>

#include "absl/status/statusor.h"
#include "tools/control/screen.h"

namespace tp {

// OK if stdin and stdout are a terminal that can show a screen; else FailedPrecondition, with what
// to do instead.
absl::Status CheckTerminal();

// Shows the screen until the user quits. Returns 0, or the number of the signal that ended it; the
// terminal is as before in any case.
absl::StatusOr<int> ShowScreen(ScreenState state, std::chrono::milliseconds interval);

}  // namespace tp

#endif  // TOOLS_CONTROL_TERMINAL_SCREEN_H_

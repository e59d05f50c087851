// tpctl's command line: its commands, what they have in common, and how a mistake in it is told.
#ifndef TOOLS_CONTROL_COMMAND_LINE_H_
#define TOOLS_CONTROL_COMMAND_LINE_H_

#include <ostream>
#include <string>
#include <vector>

namespace tp {

// Does what `tpctl ARGUMENTS...` asks for and returns its exit status. A mistake in the arguments
// is one line on `errors` and kBadInput.
int RunCommandLine(std::vector<std::string> arguments, std::ostream& out, std::ostream& errors);

}  // namespace tp

#endif  // TOOLS_CONTROL_COMMAND_LINE_H_

// A process's command line as tables show it.
#ifndef ANALYZER_PRESENT_COMMAND_H_
#define ANALYZER_PRESENT_COMMAND_H_

#include <string>
#include <string_view>

namespace tp {

// Without the folders of the program: "/opt/venv/bin/python3 train.py" is "python3 train.py".
std::string ShortCommand(std::string_view command);

}  // namespace tp

#endif  // ANALYZER_PRESENT_COMMAND_H_

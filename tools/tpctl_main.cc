// The command line tool.
#include <iostream>
#include <string>
#include <vector>

#include "tools/control/command_line.h"

int main(int argc, char** argv) {
  return tp::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}

// The command line tool.
#include <iostream>
#include <string>
#include <vector>

#include "tools/control/command_line.h"
#include "tools/standard_descriptors.h"

int main(int argc, char** argv) {
  tp::OccupyStandardDescriptors();
  return tp::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}

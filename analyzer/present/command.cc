#include "analyzer/present/command.h"

namespace tp {

std::string ShortCommand(std::string_view command) {
  size_t slash = command.substr(0, command.find(' ')).rfind('/');
  // A folder alone has no other name.
  if (slash == command.npos || slash + 1 == command.size()) return std::string(command);
  return std::string(command.substr(slash + 1));
}

}  // namespace tp

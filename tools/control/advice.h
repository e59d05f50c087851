// What to do next, for a reader in front of an empty table.
#ifndef TOOLS_CONTROL_ADVICE_H_
#define TOOLS_CONTROL_ADVICE_H_

#include <string>
#include <vector>

#include "proto/query.pb.h"

namespace tp {

// How a program comes to be traced. An empty path stands for a library whose place is not known.
std::vector<std::string> HowToBegin(const std::string& collector_path);

// Why `table`, of traced processes, has no rows, and what would bring some.
std::vector<std::string> WhyEmpty(const query::Table& table, const std::string& collector_path);

// The same for a table of the file `path`.
std::string WhyEmptyFile(const query::Table& table, const std::string& path);

}  // namespace tp

#endif  // TOOLS_CONTROL_ADVICE_H_

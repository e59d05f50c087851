// A table on stdout, and on stderr what its reader has to know beside it.
#ifndef TOOLS_CONTROL_OUTPUT_H_
#define TOOLS_CONTROL_OUTPUT_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/control/table_arguments.h"

namespace tp {

// The table in the format asked for. What goes to a terminal, and every table for people, is
// escaped; files get the names as they are.
absl::StatusOr<std::string> TableText(const query::Table& table, const TextOptions& options,
                                      Format format, bool to_terminal);

// Losses, notes and what else belongs to a table, a line each; nothing when there is nothing to
// say.
std::vector<std::string> Notices(const query::Table& table);

// TableText to `out`, and unless the format carries them inside, Notices to `errors`.
absl::Status PrintTable(const query::Table& table, const TextOptions& options, Format format,
                        std::ostream& out, std::ostream& errors);

}  // namespace tp

#endif  // TOOLS_CONTROL_OUTPUT_H_

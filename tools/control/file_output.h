// Writes a file as a command's whole work: with the part that is done on a terminal, and so that
// Ctrl-C leaves no half of it.
#ifndef TOOLS_CONTROL_FILE_OUTPUT_H_
#define TOOLS_CONTROL_FILE_OUTPUT_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "analyzer/export/output_file.h"
#include "tools/control/progress_line.h"

namespace tp {

// Has `write` fill the file at `path` ("-": standard output). A signal that ends a program
// (interrupt, termination, hangup) ends this one after what was written is removed.
absl::Status WriteFile(const std::string& path, std::ostream& errors,
                       const std::function<absl::Status(OutputFile*, const Progress&)>& write);

}  // namespace tp

#endif  // TOOLS_CONTROL_FILE_OUTPUT_H_

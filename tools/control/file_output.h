// Writes a file as a command's whole work: with the part that is done on a terminal, and so that
// Ctrl-C leaves no half of it.
#ifndef TOOLS_CONTROL_FILE_OUTPUT_H_
#define TOOLS_CONTROL_FILE_OUTPUT_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "analyzer/export/output_file.h"

namespace tp {

// To be told now and then which part is done, up to 1. May be empty.
using Progress = std::function<void(double part)>;

// Has `write` fill the file at `path` ("-": standard output). A signal that ends a program
// (interrupt, termination, hangup) ends this one after what was written is removed.
absl::Status WriteFile(const std::string& path, std::ostream& errors,
                       const std::function<absl::Status(OutputFile*, const Progress&)>& write);

}  // namespace tp

#endif  // TOOLS_CONTROL_FILE_OUTPUT_H_

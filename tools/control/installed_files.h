// Where the other parts of the installation are: beside tpctl, as built or as installed.
#ifndef TOOLS_CONTROL_INSTALLED_FILES_H_
#define TOOLS_CONTROL_INSTALLED_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace tp {

// The absolute path of the library to preload: $TP_COLLECTOR, else collector/ or lib/ beside
// tpctl's folder, else the system's library folders. NotFound says where it was looked for.
absl::StatusOr<std::string> FindCollector();

// The library that goes with it to tell operations of cuBLAS's calls: beside the collector.
// NotFound says where it was looked for.
absl::StatusOr<std::string> FindCublasShim(const std::string& collector);

// The daemon's program: $TPD, else tpd beside tpctl, else on the PATH.
absl::StatusOr<std::string> FindDaemonProgram();

}  // namespace tp

#endif  // TOOLS_CONTROL_INSTALLED_FILES_H_

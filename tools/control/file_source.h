// Tables of files, instead of the daemon's.
#ifndef TOOLS_CONTROL_FILE_SOURCE_H_
#define TOOLS_CONTROL_FILE_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/query.pb.h"
#include "tools/control/progress_line.h"

namespace tp {

// What `request` asks for, of the recording in the file. InvalidArgument in one line if it is none.
// `progress` is told which part of the file is read; may be empty.
absl::StatusOr<query::Table> ReadTable(const std::string& path, const query::TableRequest& request,
                                       const Progress& progress = {});

}  // namespace tp

#endif  // TOOLS_CONTROL_FILE_SOURCE_H_

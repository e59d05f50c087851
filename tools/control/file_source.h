// Tables of files that others made, instead of the daemon's.
#ifndef TOOLS_CONTROL_FILE_SOURCE_H_
#define TOOLS_CONTROL_FILE_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/query.pb.h"

namespace tp {

// What `request` asks for, of the recording in the file. InvalidArgument in one line if it is none.
absl::StatusOr<query::Table> ReadTable(const std::string& path, const query::TableRequest& request);

}  // namespace tp

#endif  // TOOLS_CONTROL_FILE_SOURCE_H_

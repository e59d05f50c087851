// A capture file as a recording that is wholly in memory, for exports. (Tables are made without:
// replay.h.)
#ifndef ANALYZER_CAPTURE_IMPORT_CAPTURE_H_
#define ANALYZER_CAPTURE_IMPORT_CAPTURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/import/import_limits.h"
#include "analyzer/model/whole_recording.h"

namespace tp {

// Errors are those of ReplayCapture(). Notes say what tables of the capture say beside the rows,
// losses included, and what has no place in a recording.
absl::StatusOr<WholeRecording> ImportCapture(const std::string& path,
                                             const ImportLimits& limits = {},
                                             const ImportProgress& progress = {});

}  // namespace tp

#endif  // ANALYZER_CAPTURE_IMPORT_CAPTURE_H_

// Reads recordings: our own captures, and those made by others: PyTorch's (Kineto) traces and
// Nsight Systems' SQLite exports, plain or gzipped, told apart by what is in them.
#ifndef ANALYZER_IMPORT_IMPORT_H_
#define ANALYZER_IMPORT_IMPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "analyzer/import/import_limits.h"
#include "analyzer/model/whole_recording.h"

namespace tp {

enum class FileKind { kKineto, kNsight, kCapture };

// By what is in the file: one that is none of the others may be a trace. InvalidArgument if it
// cannot be read.
absl::StatusOr<FileKind> KindOf(const std::string& path);

// InvalidArgument with one line if the file is no recording that is known; a broken one gives what
// it holds, and notes that say what was left out.
absl::StatusOr<WholeRecording> ImportFile(const std::string& path,
                                          const ImportProgress& progress = {});

// What a kind of file is read by. `path` may end with .gz.
absl::StatusOr<WholeRecording> ImportKineto(const std::string& path,
                                            const ImportLimits& limits = {},
                                            const ImportProgress& progress = {});
absl::StatusOr<WholeRecording> ImportNsight(const std::string& path);

}  // namespace tp

#endif  // ANALYZER_IMPORT_IMPORT_H_

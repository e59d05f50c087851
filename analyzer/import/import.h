// Reads recordings made by others: PyTorch's (Kineto) traces and Nsight Systems' SQLite exports,
// plain or gzipped, told apart by what is in them.
#ifndef ANALYZER_IMPORT_IMPORT_H_
#define ANALYZER_IMPORT_IMPORT_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "analyzer/model/whole_recording.h"

namespace tp {

// InvalidArgument with one line if the file is no recording that is known; a broken one gives what
// it holds, and notes that say what was left out.
absl::StatusOr<WholeRecording> ImportFile(const std::string& path);

// What a recording takes in memory: a small file can be unpacked to more than any machine has. What
// comes behind is left out, and told.
struct ImportLimits {
  size_t records = size_t{1} << 26;
  size_t text_bytes = size_t{2} << 30;
};

// What a kind of file is read by. `path` may end with .gz.
absl::StatusOr<WholeRecording> ImportKineto(const std::string& path,
                                            const ImportLimits& limits = {});
absl::StatusOr<WholeRecording> ImportNsight(const std::string& path);

}  // namespace tp

#endif  // ANALYZER_IMPORT_IMPORT_H_

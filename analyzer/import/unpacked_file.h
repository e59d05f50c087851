// A file that can be read at any place, also if it was gzipped.
#ifndef ANALYZER_IMPORT_UNPACKED_FILE_H_
#define ANALYZER_IMPORT_UNPACKED_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analyzer/serve/file_descriptor.h"

namespace tp {

struct UnpackedFile {
  FileDescriptor file;
  std::string damage;  // "" unless the gzipped data could not be read to their end: why.
};

// Opens the file, or what is unpacked from it: a temporary file in $TMPDIR, else /tmp, that has no
// name and goes with its descriptor. Only if its first `beginning_bytes` are what `begins_right`
// wants: a file that is something else is InvalidArgument, "PATH is no `what`", before anything is
// unpacked. Other errors: in one line that names the file and what could not be done.
absl::StatusOr<UnpackedFile> OpenUnpacked(const std::string& path, size_t beginning_bytes,
                                          bool (*begins_right)(std::string_view),
                                          std::string_view what);

}  // namespace tp

#endif  // ANALYZER_IMPORT_UNPACKED_FILE_H_

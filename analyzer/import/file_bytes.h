// The bytes of a file from first to last, unpacked where it is gzipped.
#ifndef ANALYZER_IMPORT_FILE_BYTES_H_
#define ANALYZER_IMPORT_FILE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace tp {

class FileBytes {
 public:
  // InvalidArgument, in one line that names the file, if it cannot be read.
  static absl::StatusOr<FileBytes> Open(const std::string& path);

  // Reads up to `size` bytes, fewer only at the end. What is gzipped and broken ends where it
  // breaks: damage() says how.
  size_t Read(char* bytes, size_t size);
  // How much of the file was read, from 0 to 1.
  double PartRead() const;
  // "" unless the file could not be read to its end.
  const std::string& damage() const { return damage_; }

 private:
  struct Close {
    void operator()(void* file) const;
  };
  FileBytes(void* file, int64_t bytes) : file_(file), bytes_(bytes) {}

  std::unique_ptr<void, Close> file_;
  int64_t bytes_;  // As they lie in the file.
  std::string damage_;
};

}  // namespace tp

#endif  // ANALYZER_IMPORT_FILE_BYTES_H_

// Writes a capture file block by block: after a crash it can be read up to the last block that was
// written.
//
//   absl::StatusOr<std::unique_ptr<CaptureWriter>> writer = CaptureWriter::Create(path);
//   (*writer)->Append(entries);        // as they come; Flush() about once a second
//   (*writer)->Finish();
//
// Errors say "cannot write PATH: " and why; nothing is written after one, and what was stays. Not
// thread-safe.
#ifndef ANALYZER_CAPTURE_CAPTURE_WRITER_H_
#define ANALYZER_CAPTURE_CAPTURE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tp {

class CaptureWriter {
 public:
  // Makes the file, or empties it. "-": standard output.
  static absl::StatusOr<std::unique_ptr<CaptureWriter>> Create(const std::string& path);
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  // Whole entries, each with its length before it.
  absl::Status Append(std::string_view entries);
  // Writes what waits as a block.
  absl::Status Flush();
  absl::Status Finish();

  // In the file, and before they were compressed.
  uint64_t bytes_written() const { return bytes_written_; }
  uint64_t bytes_taken() const { return bytes_taken_; }

 private:
  struct Compressor;

  CaptureWriter(std::string name, int descriptor, bool owns_descriptor);
  absl::Status Write(std::string_view bytes);

  std::string name_;
  int descriptor_;
  bool owns_descriptor_;
  std::unique_ptr<Compressor> compressor_;
  std::string waiting_;
  uint64_t bytes_written_ = 0;
  uint64_t bytes_taken_ = 0;
  absl::Status status_;
};

}  // namespace tp

#endif  // ANALYZER_CAPTURE_CAPTURE_WRITER_H_

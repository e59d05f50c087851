// Reads a capture file entry by entry, up to its end or to the first place where it is damaged.
//
//   absl::StatusOr<std::unique_ptr<CaptureReader>> reader = CaptureReader::Open(path);
//   capture::Entry entry;
//   while ((*reader)->Next(&entry)) ...
//   (*reader)->damage();                               // "" if that was the end
//
// Memory is that of one block, whatever the file claims. Not thread-safe.
#ifndef ANALYZER_CAPTURE_CAPTURE_READER_H_
#define ANALYZER_CAPTURE_CAPTURE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analyzer/capture/capture_format.h"
#include "analyzer/import/file_bytes.h"
#include "proto/capture.pb.h"

namespace tp {

class CaptureReader {
 public:
  // InvalidArgument, in one line that names the file: it cannot be read, is no capture, or one of a
  // newer version.
  static absl::StatusOr<std::unique_ptr<CaptureReader>> Open(const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  // False at the end, or where the file is damaged.
  bool Next(capture::Entry* entry);
  // What is wrong and how much was left out, if the file was not read to its end.
  const std::string& damage() const { return damage_; }
  // How much of the file was read, from 0 to 1.
  double PartRead() const { return bytes_.PartRead(); }

 private:
  struct Decompressor;

  explicit CaptureReader(FileBytes bytes);
  // Unpacks the next block. False at the end and when it is damaged.
  bool NextBlock();
  // Reads on until there are so many packed bytes, and says how many there are: fewer at the end.
  size_t Ensure(size_t bytes);
  // Nothing from the block on is handed on.
  bool EndHere(std::string_view what);

  FileBytes bytes_;
  std::unique_ptr<Decompressor> decompressor_;
  std::string packed_;  // As it lies in the file; up to packed_begin_ it has been unpacked.
  size_t packed_begin_ = 0;
  std::string block_;  // Up to block_begin_ it has been handed on.
  size_t block_begin_ = 0;
  uint64_t place_ =
      kCaptureHeaderBytes;  // Where the block begins in the file, and what was read of it.
  uint64_t in_block_ = 0;
  std::string damage_;
};

}  // namespace tp

#endif  // ANALYZER_CAPTURE_CAPTURE_READER_H_

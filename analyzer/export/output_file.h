// A file that is there whole or not at all. What is written goes to a temporary name beside it,
// which takes the file's place only when all of it is on the disk; a failure or a cancellation
// leaves no trace and the old file, if there was one, as it was.
//
//   auto file = OutputFile::Create("trace.json.gz");  // compressed, by its name
//   if (!file.ok()) return file.status();
//   (*file)->Append("...");
//   return (*file)->Finish();
//
// "-" is standard output; what is no regular file (a pipe, a device) is written directly: neither
// has a name to keep clean. Memory does not grow with what is written. Not thread-safe.
#ifndef ANALYZER_EXPORT_OUTPUT_FILE_H_
#define ANALYZER_EXPORT_OUTPUT_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tp {

class OutputFile {
 public:
  // What is wrong with the path, as far as that shows before anything is written: worth asking
  // before long work. The words are those of Create().
  static absl::Status Check(const std::string& path);
  // Errors say "cannot write PATH: " and why. `cancelled` is asked now and then; once it is true
  // nothing more is written and the status is Cancelled.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path,
                                                            std::function<bool()> cancelled = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // After an error nothing more is written: a long writer looks at ok() now and then.
  void Append(std::string_view text);
  bool ok();
  // Completes the file and gives it its name. To be called once, also for the first error.
  absl::Status Finish();

 private:
  struct Compressor;

  explicit OutputFile(std::string name);
  absl::Status Open(const std::string& path);
  void Fail(int error);
  // Hands what is buffered on; `last`: with the end of the compressed stream.
  void Flush(bool last);
  void WriteAll(std::string_view bytes);

  std::string name_;       // As the user calls it.
  std::string path_;       // Where it is to be, links resolved; empty: it is written directly.
  std::string temporary_;  // Where it is until then; empty: there is nothing to remove.
  int descriptor_ = -1;
  bool owns_descriptor_ = false;
  std::function<bool()> cancelled_;
  std::unique_ptr<Compressor> compressor_;
  std::string buffer_;
  absl::Status status_;
};

}  // namespace tp

#endif  // ANALYZER_EXPORT_OUTPUT_FILE_H_

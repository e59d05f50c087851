// Capture files: any bytes end in tables, in exports' recordings, or in one error. The input is
// taken as a file, and as the entries of a block that is right, which chance would not find.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analyzer/capture/capture_writer.h"
#include "analyzer/capture/import_capture.h"
#include "analyzer/capture/replay.h"
#include "analyzer/present/table.h"

namespace tp {
namespace {

class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("capture", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void ReadAll(const std::string& path) {
  const absl::StatusOr<Replay> replay = ReplayCapture(path, {});
  if (!replay.ok()) return;
  for (int view = query::View_MIN; view <= query::View_MAX; ++view) {
    if (!query::View_IsValid(view)) continue;
    query::TableRequest request;
    request.set_view(static_cast<query::View>(view));
    request.set_group_by_shape(true);
    request.set_group_by_stack(2);
    const absl::StatusOr<query::Table> table = TableOfReplay(*replay, request);
    if (!table.ok() || !FormatTable(*table, {}).ok() || !FormatJson(*table, {}).ok()) std::abort();
  }
  if (!ImportCapture(path).ok()) std::abort();
}

}  // namespace
}  // namespace tp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const tp::MemoryFile file;
  if (write(file.fd(), bytes, size) != static_cast<ssize_t>(size)) std::abort();
  tp::ReadAll(file.path());

  const tp::MemoryFile with_block;
  auto writer = tp::CaptureWriter::Create(with_block.path());
  if (!writer.ok()) std::abort();
  if (!(*writer)->Append({reinterpret_cast<const char*>(bytes), size}).ok()) return 0;
  if (!(*writer)->Finish().ok()) std::abort();
  tp::ReadAll(with_block.path());
  return 0;
}

// The importer of traces and all that is made of what it gives: any bytes end in tables or in one
// error.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "analyzer/import/import.h"
#include "analyzer/import/trace_elements.h"
#include "analyzer/present/table.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {
namespace {

// A file in memory with these bytes.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* bytes, size_t size) : fd_(memfd_create("trace", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void ReadThroughSmallWindow(const std::string& path, bool read_events) {
  absl::StatusOr<FileBytes> bytes = FileBytes::Open(path);
  if (!bytes.ok()) std::abort();
  TraceElements elements(&*bytes, /*most_bytes=*/4096, /*window_bytes=*/16);
  TraceEventReader reader;
  TraceEvent event;
  while (elements.Next(read_events ? &reader : nullptr, &event) != TraceElements::Kind::kEnd) {
    if (elements.text().size() > elements.readable_bytes()) std::abort();
  }
}

void AllTables(const WholeRecording& recording) {
  const Summary summary = Summarize(recording);
  for (int view = query::View_MIN; view <= query::View_MAX; ++view) {
    TableOptions options;
    options.view = static_cast<query::View>(view);
    options.group_by_shape = true;
    options.group_by_stack = 2;
    const query::Table table = TabulateWhole(recording, summary, options);
    if (!FormatTable(table, {}).ok() || !FormatJson(table, {}).ok() || !FormatCsv(table, {}).ok()) {
      std::abort();
    }
  }
}

}  // namespace
}  // namespace tp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const tp::MemoryFile file(bytes, size);
  tp::ReadThroughSmallWindow(file.path(), false);
  tp::ReadThroughSmallWindow(file.path(), true);
  const absl::StatusOr<tp::WholeRecording> recording = tp::ImportKineto(file.path());
  if (recording.ok()) tp::AllTables(*recording);
  return 0;
}

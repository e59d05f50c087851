#include "tools/control/file_source.h"

#include "analyzer/capture/replay.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {

absl::StatusOr<query::Table> ReadTable(const std::string& path, const query::TableRequest& request,
                                       const Progress& progress) {
  const absl::StatusOr<FileKind> kind = KindOf(path);
  if (!kind.ok()) return kind.status();
  if (*kind == FileKind::kCapture) {
    const absl::StatusOr<Replay> replay = ReplayCapture(path, {.progress = progress});
    if (!replay.ok()) return replay.status();
    return TableOfReplay(*replay, request);
  }
  if (request.pid() != 0) {
    return absl::InvalidArgumentError(
        "give either --pid (a traced process) or --input (a file): only captures know processes by "
        "their pids");
  }
  const absl::StatusOr<WholeRecording> recording = ImportFile(path, {.told = progress});
  if (!recording.ok()) return recording.status();
  const TableOptions options{.view = request.view(),
                             .group_by_shape = request.group_by_shape(),
                             .group_by_stack = request.group_by_stack(),
                             .top_level = request.top_level()};
  return TabulateWhole(*recording, Summarize(*recording), options);
}

}  // namespace tp

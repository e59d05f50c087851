#include "analyzer/import/import.h"

#include <algorithm>
#include <array>

#include "analyzer/capture/capture_format.h"
#include "analyzer/capture/import_capture.h"
#include "analyzer/import/file_bytes.h"
#include "analyzer/import/sqlite_database.h"

namespace tp {

absl::StatusOr<FileKind> KindOf(const std::string& path) {
  absl::StatusOr<FileBytes> bytes = FileBytes::Open(path);
  if (!bytes.ok()) return bytes.status();
  std::array<char, std::max(kSqliteBeginningBytes, kCaptureBeginning.size())> read;
  const std::string_view beginning(read.data(), bytes->Read(read.data(), read.size()));
  if (BeginsLikeCapture(beginning)) return FileKind::kCapture;
  return BeginsLikeSqlite(beginning) ? FileKind::kNsight : FileKind::kKineto;
}

absl::StatusOr<WholeRecording> ImportFile(const std::string& path, const ImportProgress& progress) {
  const absl::StatusOr<FileKind> kind = KindOf(path);
  if (!kind.ok()) return kind.status();
  if (*kind == FileKind::kCapture) return ImportCapture(path, {}, progress);
  return *kind == FileKind::kNsight ? ImportNsight(path) : ImportKineto(path, {}, progress);
}

}  // namespace tp

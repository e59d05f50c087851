#include "analyzer/import/import.h"

#include <array>

#include "analyzer/import/file_bytes.h"
#include "analyzer/import/sqlite_database.h"

namespace tp {

absl::StatusOr<WholeRecording> ImportFile(const std::string& path) {
  absl::StatusOr<FileBytes> bytes = FileBytes::Open(path);
  if (!bytes.ok()) return bytes.status();
  std::array<char, kSqliteBeginningBytes> beginning;
  const size_t size = bytes->Read(beginning.data(), beginning.size());
  return BeginsLikeSqlite({beginning.data(), size}) ? ImportNsight(path) : ImportKineto(path);
}

}  // namespace tp

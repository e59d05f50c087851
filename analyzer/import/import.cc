#include "analyzer/import/import.h"

namespace tp {

absl::StatusOr<WholeRecording> ImportFile(const std::string& path) { return ImportKineto(path); }

}  // namespace tp

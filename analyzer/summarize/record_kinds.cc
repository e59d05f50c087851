#include "analyzer/summarize/record_kinds.h"

namespace tp {

std::optional<size_t> RecordKindOf(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kKernel:
      return 1;
    case ActivityKind::kCopy:
      return 2;
    case ActivityKind::kFill:
      return 3;
    case ActivityKind::kRuntimeCall:
      return 4;
    case ActivityKind::kDriverCall:
      return 5;
    case ActivityKind::kGraph:
      return 6;
    case ActivityKind::kSynchronization:
      return 7;
    case ActivityKind::kOverhead:
      return 8;
    case ActivityKind::kCompilation:
      return 9;
    case ActivityKind::kDeviceAnnotation:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tp

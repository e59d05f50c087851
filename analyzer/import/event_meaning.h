// What events of PyTorch's traces, and of our own exports, are by their categories, in any
// version's spelling.
#ifndef ANALYZER_IMPORT_EVENT_MEANING_H_
#define ANALYZER_IMPORT_EVENT_MEANING_H_

#include <string_view>

#include "analyzer/model/recording.h"

namespace tp {

// What an event becomes, by its category.
struct Meaning {
  enum class What { kUnknown, kSpan, kActivity, kLeftOut } what = What::kUnknown;
  SpanKind span = SpanKind::kOperation;
  ActivityKind activity = ActivityKind::kKernel;
};

Meaning MeaningOf(std::string_view category);

}  // namespace tp

#endif  // ANALYZER_IMPORT_EVENT_MEANING_H_

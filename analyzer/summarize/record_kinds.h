// Kinds of records, numbered for counts by kind, with their words in query.proto.
#ifndef ANALYZER_SUMMARIZE_RECORD_KINDS_H_
#define ANALYZER_SUMMARIZE_RECORD_KINDS_H_

#include <array>
#include <cstddef>
#include <optional>

#include "analyzer/model/recording.h"

namespace tp {

inline constexpr std::array<const char*, 10> kRecordKindWords = {
    "operations",   "kernels", "copies",           "fills",    "runtime_calls",
    "driver_calls", "graphs",  "synchronizations", "overhead", "compilations"};

// Of spans.
inline constexpr size_t kSpanRecords = 0;
// None for what is not counted: images of annotations are no records of their own.
std::optional<size_t> RecordKindOf(ActivityKind kind);

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_RECORD_KINDS_H_

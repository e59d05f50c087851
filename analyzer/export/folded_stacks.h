// Call stacks with the time spent in each, as flame graph tools read them: one line for each
// distinct stack, "outermost;...;innermost MICROSECONDS", largest first, equal ones as they were
// first seen.
#ifndef ANALYZER_EXPORT_FOLDED_STACKS_H_
#define ANALYZER_EXPORT_FOLDED_STACKS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/export/output_file.h"
#include "analyzer/model/whole_recording.h"
#include "analyzer/summarize/summary.h"
#include "proto/query.pb.h"

namespace tp {

struct FoldedStack {
  std::string frames;  // Joined by ';'; within a frame, a ';' is a ':' and a line end a blank.
  int64_t value_ns = 0;
};

// The metrics by name, "self_cpu_time" first.
const std::vector<std::string>& StackMetrics();

// Self times of the spans that have a stack and any such time, added up by stack. `summary` is that
// of `recording`. InvalidArgument names the metrics there are.
absl::StatusOr<std::vector<FoldedStack>> FoldStacks(const WholeRecording& recording,
                                                    const Summary& summary,
                                                    std::string_view metric);

// The same of a table that was asked for with whole stacks (TableRequest.group_by_stack).
absl::StatusOr<std::vector<FoldedStack>> FoldStacks(const query::Table& table,
                                                    std::string_view metric);

// Whole microseconds, halves to the even one; what rounds to none is left out.
void WriteFoldedStacks(const std::vector<FoldedStack>& stacks, OutputFile* out);

}  // namespace tp

#endif  // ANALYZER_EXPORT_FOLDED_STACKS_H_

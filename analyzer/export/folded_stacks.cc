#include "analyzer/export/folded_stacks.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/model/frames.h"
#include "analyzer/present/utf8.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {
namespace {

// Readers take a number before a stack's value for a second value, to be compared with it.
void HideNumberAtEnd(std::string* frame) {
  const size_t blank = frame->find_last_not_of("0123456789.");
  if (blank == std::string::npos || blank + 1 == frame->size() || (*frame)[blank] != ' ') return;
  (*frame)[blank] = '_';
}

std::string Fold(std::vector<std::string> frames) {
  for (std::string& frame : frames) {
    for (char& c : frame) {
      if (c == ';') c = ':';
      if (c == '\n' || c == '\r') c = ' ';
    }
  }
  if (!frames.empty()) HideNumberAtEnd(&frames.front());
  std::reverse(frames.begin(), frames.end());
  return absl::StrJoin(frames, ";");
}

// Different stacks may read the same once they are folded.
class StackTimes {
 public:
  // Which of them this is.
  size_t Index(std::string folded) {
    const auto [known, is_new] = by_frames_.emplace(std::move(folded), stacks_.size());
    if (is_new) stacks_.push_back({known->first, 0});
    return known->second;
  }
  void Add(size_t index, int64_t ns) { stacks_[index].value_ns += ns; }
  std::vector<FoldedStack> LargestFirst() && {
    std::stable_sort(
        stacks_.begin(), stacks_.end(),
        [](const FoldedStack& a, const FoldedStack& b) { return a.value_ns > b.value_ns; });
    return std::move(stacks_);
  }

 private:
  std::vector<FoldedStack> stacks_;
  absl::flat_hash_map<std::string, size_t> by_frames_;
};

absl::Status CheckMetric(std::string_view metric) {
  const std::vector<std::string>& metrics = StackMetrics();
  if (std::find(metrics.begin(), metrics.end(), metric) != metrics.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("unsupported stack metric: ", std::string(metric),
                                                 " (supported: ", absl::StrJoin(metrics, ", "),
                                                 ")"));
}

bool IsOfCpu(std::string_view metric) { return metric.starts_with("self_cpu"); }

int64_t RoundToMicroseconds(int64_t ns) {
  const int64_t whole = ns / 1000, rest = ns % 1000;
  const bool up = rest > 500 || (rest == 500 && whole % 2 != 0);
  return whole + up;
}

}  // namespace

const std::vector<std::string>& StackMetrics() {
  static const auto* const metrics = new std::vector<std::string>{
      "self_cpu_time",        "self_cpu_time_total", "self_cuda_time",
      "self_cuda_time_total", "self_device_time",    "self_device_time_total"};
  return *metrics;
}

absl::StatusOr<std::vector<FoldedStack>> FoldStacks(const WholeRecording& recording,
                                                    const Summary& summary,
                                                    std::string_view metric) {
  if (absl::Status status = CheckMetric(metric); !status.ok()) return status;
  const bool is_cpu = IsOfCpu(metric);
  StackTimes times;
  absl::flat_hash_map<StringId, size_t> by_stack;
  size_t place = 0;
  summary.VisitSpans(EndOf(recording), [&](const SpanSummary& span) {
    // Both are in the same order; what is impossible the summary does not have.
    while (place < recording.spans.size() && recording.spans[place].id != span.id) ++place;
    if (place == recording.spans.size()) return;
    const StringId stack = recording.spans[place++].stack;
    const int64_t self_ns = is_cpu ? span.self_cpu_ns : span.self_device_ns;
    if (stack == 0 || self_ns <= 0) return;
    auto [known, is_new] = by_stack.emplace(stack, 0);
    if (is_new) {
      known->second = times.Index(Fold(SplitFrames(ValidUtf8(recording.strings->Text(stack)))));
    }
    times.Add(known->second, self_ns);
  });
  return std::move(times).LargestFirst();
}

absl::StatusOr<std::vector<FoldedStack>> FoldStacks(const query::Table& table,
                                                    std::string_view metric) {
  if (absl::Status status = CheckMetric(metric); !status.ok()) return status;
  StackTimes times;
  for (const query::OperationRow& row : table.operations()) {
    const int64_t self_ns =
        IsOfCpu(metric) ? row.self_cpu_time_total_ns() : row.self_device_time_total_ns();
    if (row.stack().empty() || self_ns <= 0) continue;
    times.Add(times.Index(Fold({row.stack().begin(), row.stack().end()})), self_ns);
  }
  return std::move(times).LargestFirst();
}

void WriteFoldedStacks(const std::vector<FoldedStack>& stacks, OutputFile* out) {
  for (const FoldedStack& stack : stacks) {
    const int64_t us = RoundToMicroseconds(stack.value_ns);
    if (us > 0) out->Append(absl::StrCat(stack.frames, " ", us, "\n"));
  }
}

}  // namespace tp

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

std::string Fold(std::string_view stack) {
  std::vector<std::string> frames = SplitFrames(ValidUtf8(stack));
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
  const std::vector<std::string>& metrics = StackMetrics();
  if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unsupported stack metric: ", std::string(metric),
                     " (supported: ", absl::StrJoin(metrics, ", "), ")"));
  }
  const bool is_cpu = metric.starts_with("self_cpu");
  std::vector<FoldedStack> stacks;
  // Different stacks may read the same once they are folded.
  absl::flat_hash_map<StringId, size_t> by_stack;
  absl::flat_hash_map<std::string, size_t> by_frames;
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
      std::string frames = Fold(recording.strings->Text(stack));
      known->second = by_frames.emplace(frames, stacks.size()).first->second;
      if (known->second == stacks.size()) stacks.push_back({std::move(frames), 0});
    }
    stacks[known->second].value_ns += self_ns;
  });
  std::stable_sort(stacks.begin(), stacks.end(), [](const FoldedStack& a, const FoldedStack& b) {
    return a.value_ns > b.value_ns;
  });
  return stacks;
}

void WriteFoldedStacks(const std::vector<FoldedStack>& stacks, OutputFile* out) {
  for (const FoldedStack& stack : stacks) {
    const int64_t us = RoundToMicroseconds(stack.value_ns);
    if (us > 0) out->Append(absl::StrCat(stack.frames, " ", us, "\n"));
  }
}

}  // namespace tp

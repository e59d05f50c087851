#include "analyzer/summarize/whole_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "analyzer/present/notes.h"

namespace tp {
namespace {

// Nothing is let go, and all calls come before device work.
SummaryLimits NoLimits() {
  SummaryLimits limits;
  limits.spans = limits.correlations = limits.groups = limits.intervals = size_t{1} << 28;
  limits.unconfirmed = 0;
  return limits;
}

constexpr std::array<const char*, 6> kKindWords = {"operations", "kernels",       "copies",
                                                   "fills",      "runtime_calls", "driver_calls"};

size_t KindIndex(ActivityKind kind) {
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
    default:
      return kKindWords.size();
  }
}

struct ProcessCounts {
  std::string name;
  std::array<uint64_t, kKindWords.size()> events{};
};

// Device work has no process of its own in every source: with several it is in no row.
void AddProcesses(const WholeRecording& recording, const Summary& summary, query::Table* table) {
  std::map<int64_t, ProcessCounts> processes;
  for (const auto& [thread, identity] : recording.threads) {
    ProcessCounts& process = processes[identity.process];
    if (process.name.empty()) process.name = identity.process_name;
  }
  const auto process_of = [&](int64_t thread) -> ProcessCounts* {
    const auto found = recording.threads.find(thread);
    return found == recording.threads.end() ? nullptr : &processes[found->second.process];
  };
  for (const Span& span : recording.spans) {
    if (ProcessCounts* process = process_of(span.thread)) ++process->events[0];
  }
  for (const DeviceActivity& activity : recording.activities) {
    const size_t kind = KindIndex(activity.kind);
    if (kind == kKindWords.size()) continue;
    ProcessCounts* process = nullptr;
    if (IsHostCall(activity.kind)) {
      process = process_of(activity.thread);
    } else if (processes.size() == 1) {
      process = &processes.begin()->second;
    }
    if (process != nullptr) ++process->events[kind];
  }
  for (const auto& [pid, counts] : processes) {
    query::Process* process = table->add_processes();
    process->set_pid(pid);
    process->set_command(counts.name);
    process->set_state(query::GONE);
    process->set_rank(recording.rank);
    for (size_t kind = 0; kind < kKindWords.size(); ++kind) {
      query::KindCount* events = process->add_events();
      events->set_kind(kKindWords[kind]);
      events->set_count(counts.events[kind]);
    }
    if (processes.size() > 1) continue;
    process->set_device_time_ns(summary.device_time_ns());
    process->set_unattributed_count(summary.unattributed_count());
    process->set_unattributed_ns(summary.unattributed_ns());
  }
}

}  // namespace

int64_t EndOf(const WholeRecording& recording) {
  int64_t end_ns = recording.base_ns;
  for (const Span& span : recording.spans) {
    end_ns = std::max(end_ns, span.end_ns == kStillOpen ? span.start_ns : span.end_ns);
  }
  for (const DeviceActivity& activity : recording.activities) {
    end_ns = std::max(end_ns, activity.end_ns);
  }
  return end_ns;
}

Summary Summarize(const WholeRecording& recording) {
  Summary summary(recording.strings.get(), NoLimits());
  for (const Span& span : recording.spans) summary.AddSpan(span);
  for (const DeviceActivity& activity : recording.activities) {
    if (IsHostCall(activity.kind)) summary.AddActivity(activity);
  }
  for (const DeviceActivity& activity : recording.activities) {
    if (!IsHostCall(activity.kind)) summary.AddActivity(activity);
  }
  return summary;
}

query::Table TabulateWhole(const WholeRecording& recording, const Summary& summary,
                           const TableOptions& options) {
  const Summary* one = &summary;
  query::Table table = Tabulate({&one, 1}, options, EndOf(recording));
  if (!recording.device_kind.empty() && !table.device_kind().empty()) {
    table.set_device_kind(recording.device_kind);
  }
  summary.impossible().AddTo(table.mutable_losses());
  if (summary.unattributed_count() > 0) {
    table.add_notes(UnattributedNote(summary.unattributed_count(), summary.unattributed_ns(),
                                     /*more_may_come=*/false));
  }
  for (const std::string& note : recording.notes) table.add_notes(note);
  AddProcesses(recording, summary, &table);
  return table;
}

}  // namespace tp

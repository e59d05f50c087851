#include "analyzer/summarize/whole_summary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/present/notes.h"
#include "analyzer/present/units.h"
#include "analyzer/summarize/recording_extent.h"
#include "analyzer/wire/event_kind.h"

namespace tp {
namespace {

// Nothing is let go, and all calls come before device work.
SummaryLimits NoLimits() {
  SummaryLimits limits;
  limits.spans = limits.correlations = limits.groups = limits.intervals = size_t{1} << 28;
  limits.span_details = size_t{1} << 28;
  limits.unconfirmed = 0;
  return limits;
}

// Further ones are counted together with records that do not say their process.
constexpr size_t kMostProcesses = 1024;
constexpr int64_t kProcessNotTold = 0;

// The processes that a recording tells of, with their names, and whose a record is.
class Processes {
 public:
  explicit Processes(const WholeRecording& recording) : recording_(recording) {
    for (const auto& [thread, identity] : recording.threads) {
      if (names_.size() == kMostProcesses && names_.count(identity.process) == 0) continue;
      std::string& name = names_[identity.process];
      if (name.empty()) name = identity.process_name;
    }
  }

  const std::map<int64_t, std::string>& names() const { return names_; }

  int64_t Of(int64_t thread) {
    if (names_.size() == 1) return names_.begin()->first;
    if (!last_.has_value() || last_->first != thread) {
      const auto found = recording_.threads.find(thread);
      const bool is_told =
          found != recording_.threads.end() && names_.count(found->second.process) > 0;
      last_ = {thread, is_told ? found->second.process : kProcessNotTold};
    }
    return last_->second;
  }

 private:
  const WholeRecording& recording_;
  std::map<int64_t, std::string> names_;
  std::optional<std::pair<int64_t, int64_t>> last_;  // A thread and its process.
};

// What is outside is in no sum.
void SetExtent(const RecordingExtent& extent, Summary* summary) {
  if (extent.is_everything) return;
  // 0 stands for no start: to be a nanosecond too generous does no harm.
  summary->SetRecordingStart(extent.first_ns == 0 ? -1 : extent.first_ns);
  summary->SetLatest(extent.last_ns);
}

// Adds each record to the summary that `summary_of(thread)` gives.
template <typename SummaryOf>
void AddRecords(const WholeRecording& recording, SummaryOf summary_of) {
  for (const Span& span : recording.spans) summary_of(span.thread).AddSpan(span);
  if (!recording.span_values.empty()) {
    absl::flat_hash_map<uint64_t, int64_t> threads;
    for (const Span& span : recording.spans) threads.emplace(span.id, span.thread);
    for (const SpanValue& value : recording.span_values) {
      const auto thread = threads.find(value.span);
      if (thread != threads.end()) summary_of(thread->second).AddSpanValue(value);
    }
  }
  for (const CounterValue& counter : recording.counters) {
    summary_of(counter.thread).AddCounter(counter);
  }
  for (const DeviceActivity& activity : recording.activities) {
    if (IsHostCall(activity.kind)) summary_of(activity.thread).AddActivity(activity);
  }
  for (const DeviceActivity& activity : recording.activities) {
    if (!IsHostCall(activity.kind)) summary_of(activity.thread).AddActivity(activity);
  }
}

// A summary for each process that has records.
std::map<int64_t, Summary> SummarizeEach(const WholeRecording& recording, Processes* processes) {
  std::map<int64_t, Summary> summaries;
  const RecordingExtent extent = ExtentOf(recording);
  AddRecords(recording, [&](int64_t thread) -> Summary& {
    const int64_t process = processes->Of(thread);
    const auto [place, is_new] =
        summaries.try_emplace(process, recording.strings.get(), NoLimits());
    if (is_new) {
      place->second.SetProcess(process);
      place->second.descriptions().devices = recording.descriptions.devices;
      SetExtent(extent, &place->second);
    }
    return place->second;
  });
  return summaries;
}

std::map<int64_t, EventCounts> CountEvents(const WholeRecording& recording, Processes* processes) {
  std::map<int64_t, EventCounts> counts;
  for (const auto& [pid, name] : processes->names()) counts[pid] = {};
  for (const Span& span : recording.spans) ++counts[processes->Of(span.thread)][wire::OPERATION];
  for (const CounterValue& counter : recording.counters) {
    ++counts[processes->Of(counter.thread)][wire::COUNTER];
  }
  for (const DeviceActivity& activity : recording.activities) {
    ++counts[processes->Of(activity.thread)][EventKindOf(activity.kind)];
  }
  return counts;
}

// `summary_of(pid)`: null if the table is not about processes' sums.
template <typename SummaryOf>
void AddProcesses(const WholeRecording& recording, Processes* processes, SummaryOf summary_of,
                  query::Table* table) {
  for (const auto& [pid, counts] : CountEvents(recording, processes)) {
    const auto name = processes->names().find(pid);
    query::Process* process = table->add_processes();
    process->set_pid(pid);
    process->set_command(name == processes->names().end() ? "(not told)" : name->second);
    process->set_state(query::GONE);
    process->set_rank(recording.rank);
    AddEvents(counts, process);
    const Summary* summary = summary_of(pid);
    if (summary == nullptr) continue;
    summary->AddDevices(process);
    process->set_device_time_ns(summary->device_time_ns());
    process->set_unattributed_count(summary->unattributed_count());
    process->set_unattributed_ns(summary->unattributed_ns());
  }
}

}  // namespace

int64_t EndOf(const WholeRecording& recording) { return ExtentOf(recording).last_ns; }

Summary Summarize(const WholeRecording& recording) {
  Summary summary(recording.strings.get(), NoLimits());
  SetExtent(ExtentOf(recording), &summary);
  const Processes processes(recording);
  if (processes.names().size() == 1) summary.SetProcess(processes.names().begin()->first);
  summary.descriptions() = recording.descriptions;
  for (const auto& [number, thread] : recording.threads) {
    summary.descriptions().threads[number].name = thread.thread_name;
  }
  AddRecords(recording, [&](int64_t) -> Summary& { return summary; });
  return summary;
}

query::Table TabulateWhole(const WholeRecording& recording, const Summary& summary,
                           const TableOptions& options) {
  Processes processes(recording);
  // Of one for all processes, the summary does not know what is whose.
  const bool is_of_one = processes.names().size() <= 1;
  std::map<int64_t, Summary> each;
  if (!is_of_one && (options.view == query::PROCESSES || options.view == query::STREAMS)) {
    each = SummarizeEach(recording, &processes);
  }
  std::vector<const Summary*> summaries = {&summary};
  if (!each.empty()) summaries.clear();
  for (const auto& [pid, its] : each) summaries.push_back(&its);

  query::Table table = Tabulate(summaries, options, EndOf(recording));
  if (!recording.device_kind.empty() && !table.device_kind().empty()) {
    table.set_device_kind(recording.device_kind);
  }
  summary.impossible().AddTo(table.mutable_losses());
  if (summary.unattributed_count() > 0) {
    table.add_notes(UnattributedNote(summary.unattributed_count(), summary.unattributed_ns(),
                                     /*more_may_come=*/false));
  }
  for (const std::string& note : recording.notes) table.add_notes(note);
  if (options.view == query::MEMORY && !recording.memory_events.empty()) {
    table.add_notes(absl::StrCat(
        Counted(recording.memory_events.size(), "event"),
        " of a framework's own allocator in no sum: this view is of CUDA's allocations; tpctl "
        "export keeps them"));
  }
  AddNotesOfRows(options.top_level, &table);
  const auto summary_of = [&](int64_t pid) -> const Summary* {
    if (is_of_one) return &summary;
    const auto found = each.find(pid);
    return found == each.end() ? nullptr : &found->second;
  };
  AddProcesses(recording, &processes, summary_of, &table);
  return table;
}

}  // namespace tp

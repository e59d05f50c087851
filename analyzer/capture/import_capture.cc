#include "analyzer/capture/import_capture.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/capture/replay.h"
#include "analyzer/wire/batch_decoder.h"

namespace tp {
namespace {

// Correlations of a process have 32 bits; of processes there are a few thousand.
constexpr int kCorrelationBits = 40;

// The records of one process on their way into the recording. Its ids, threads and texts become the
// recording's.
class ProcessRecords {
 public:
  ProcessRecords(const Session& session, size_t place, const ImportLimits& limits,
                 WholeRecording* recording)
      : session_(session),
        place_(place),
        limits_(limits),
        recording_(recording),
        process_thread_(ThreadOf(session.pid())) {}

  void Begin(const capture::State& state) {
    if (!state.from_the_beginning()) spans_from_ns_ = state.time_ns();
    for (const capture::OpenOperation& open : state.open()) {
      Span span;
      span.id = open.id();
      span.start_ns = open.start_ns();
      span.thread = open.thread();
      span.name = recording_->strings->Intern(open.name());
      const auto kind = static_cast<SpanKind>(open.kind());
      if (kind == SpanKind::kOperation || kind == SpanKind::kBackward) span.kind = kind;
      span.asynchronous = open.asynchronous();
      span.shapes = recording_->strings->Intern(open.shapes());
      span.dtypes = recording_->strings->Intern(open.dtypes());
      span.stack = recording_->strings->Intern(open.stack());
      span.flops = open.flops();
      span.output_bytes = open.output_bytes();
      Keep(span);
    }
  }

  // What DecodeBatch() gives.
  void AddSpan(Span span) {
    for (StringId* text : {&span.name, &span.shapes, &span.dtypes, &span.stack})
      *text = Text(*text);
    Keep(span);
  }
  void AddSpanValue(SpanValue value) {
    const auto span = spans_.find(value.span);
    if (span == spans_.end() || !HasRoom()) return;
    value.span = span->second;
    value.name = Text(value.name);
    if (value.type == ValueType::kText) value.bits = Text(static_cast<StringId>(value.bits));
    recording_->span_values.push_back(value);
  }
  void CloseSpan(uint64_t id, int64_t end_ns) {
    const auto found = spans_.find(id);
    if (found == spans_.end()) return;
    Span& span = recording_->spans[found->second];
    if (span.end_ns == kStillOpen) span.end_ns = std::max(end_ns, span.start_ns);
  }
  void AddActivity(DeviceActivity activity) {
    // The sums of live sessions leave it out as well.
    if (IsDeviceWork(activity.kind) && activity.start_ns < session_.recording_start_ns()) {
      ++before_capturing_;
      return;
    }
    if (!HasRoom()) return;
    activity.name = Text(activity.name);
    activity.thread = IsOnHost(activity.kind) && activity.thread != 0 ? ThreadOf(activity.thread)
                                                                      : process_thread_;
    recording_->activities.push_back(activity);
    own_activities_.push_back(recording_->activities.size() - 1);
  }
  void AddKernelLaunch(StringId, const KernelLaunch&) {}
  void AddMemory(const MemoryChange&) { ++memory_changes_; }
  void AddGraphNode(const GraphNode&) {}
  void AddCounter(CounterValue counter) {
    if (!HasRoom()) return;
    counter.name = Text(counter.name);
    counter.thread = ThreadOf(counter.thread);
    recording_->counters.push_back(counter);
  }
  void AddLaunchOperation(uint64_t correlation, uint64_t operation) {
    if (correlation != 0 && operation != kNoOperation) launches_[correlation] = operation;
  }

  // Operations of launches may have come after them.
  void Finish(int64_t now_ns) {
    for (const size_t place : own_activities_) {
      DeviceActivity& activity = recording_->activities[place];
      if (activity.correlation == 0) continue;
      if (const auto launch = launches_.find(activity.correlation); launch != launches_.end()) {
        const auto span = spans_.find(launch->second);
        if (span != spans_.end()) activity.operation = span->second;
      }
      activity.correlation |= static_cast<uint64_t>(place_) << kCorrelationBits;
    }
    const int64_t end_ns = session_.connected() ? now_ns : session_.last_seen_ns();
    for (const auto& [id, place] : spans_) {
      Span& span = recording_->spans[place];
      if (span.end_ns != kStillOpen) continue;
      ++still_open_;
      span.end_ns = std::max(end_ns, span.start_ns);
    }
  }

  uint64_t left_out() const { return left_out_; }
  uint64_t memory_changes() const { return memory_changes_; }
  uint64_t before_capturing() const { return before_capturing_; }
  uint64_t still_open() const { return still_open_; }

 private:
  bool HasRoom() {
    const bool has_room = recording_->spans.size() + recording_->activities.size() +
                              recording_->counters.size() + recording_->span_values.size() <
                          limits_.records;
    if (!has_room) ++left_out_;
    return has_room;
  }

  // `span` has the recording's texts, and the process's numbers.
  void Keep(Span span) {
    if (spans_.contains(span.id) || !HasRoom()) return;
    const uint64_t id = recording_->spans.size();
    spans_[span.id] = id;
    span.id = id;
    if (span.start_ns < spans_from_ns_ && span.end_ns > spans_from_ns_) {
      span.start_ns = spans_from_ns_;
    }
    span.thread = ThreadOf(span.thread);
    recording_->spans.push_back(span);
  }

  StringId Text(StringId id) {
    if (id == 0) return 0;
    if (id >= texts_.size()) texts_.resize(id + 1);
    if (texts_[id] == 0) texts_[id] = recording_->strings->Intern(session_.Text(id));
    return texts_[id];
  }

  int64_t ThreadOf(int64_t thread) {
    const auto [number, is_new] = threads_.try_emplace(thread, 0);
    if (is_new) {
      number->second = static_cast<int64_t>(recording_->threads.size()) + 1;
      ThreadIdentity& identity = recording_->threads[number->second];
      identity.process = session_.pid();
      identity.thread = thread;
    }
    return number->second;
  }

  const Session& session_;
  size_t place_;
  const ImportLimits& limits_;
  WholeRecording* recording_;
  int64_t spans_from_ns_ = INT64_MIN;
  absl::flat_hash_map<int64_t, int64_t> threads_;
  int64_t process_thread_;
  absl::flat_hash_map<uint64_t, uint64_t> spans_;     // Their ids in the recording.
  absl::flat_hash_map<uint64_t, uint64_t> launches_;  // Operations by correlation.
  std::vector<size_t> own_activities_;
  std::vector<StringId> texts_;
  uint64_t left_out_ = 0, memory_changes_ = 0, before_capturing_ = 0, still_open_ = 0;
};

void AddNames(const Replay& replay, WholeRecording* recording) {
  absl::flat_hash_map<int64_t, const Session*> by_pid;
  for (const auto& session : replay.sessions) by_pid[session->pid()] = session.get();
  for (auto& [number, identity] : recording->threads) {
    const auto session = by_pid.find(identity.process);
    if (session == by_pid.end()) continue;
    identity.process_name = session->second->Describe().command();
    const auto& threads = session->second->summary().descriptions().threads;
    if (const auto thread = threads.find(identity.thread); thread != threads.end()) {
      identity.thread_name = thread->second.shown();
    }
  }
  if (replay.sessions.size() == 1) {
    recording->descriptions = replay.sessions.front()->summary().descriptions();
    recording->descriptions.threads.clear();
    recording->rank = replay.sessions.front()->hello().rank();
    return;
  }
  for (const auto& session : replay.sessions) {
    const auto& devices = session->summary().descriptions().devices;
    recording->descriptions.devices.insert(devices.begin(), devices.end());
  }
}

}  // namespace

absl::StatusOr<WholeRecording> ImportCapture(const std::string& path, const ImportLimits& limits,
                                             const ImportProgress& progress) {
  WholeRecording recording;
  absl::flat_hash_map<const Session*, std::unique_ptr<ProcessRecords>> processes;
  const auto records_of = [&](const Session& session) -> ProcessRecords& {
    std::unique_ptr<ProcessRecords>& records = processes[&session];
    if (records == nullptr) {
      records = std::make_unique<ProcessRecords>(session, processes.size(), limits, &recording);
    }
    return *records;
  };
  ReplayEvents events;
  events.state = [&](Session& session, const capture::State& state) {
    records_of(session).Begin(state);
  };
  events.batch = [&](Session& session, const wire::Batch& batch) {
    session.Decode(batch, records_of(session));
  };
  events.progress = progress.told;
  events.cancelled = progress.cancelled;
  const absl::StatusOr<Replay> replay = ReplayCapture(path, events);
  if (!replay.ok()) return replay.status();

  uint64_t left_out = 0, memory_changes = 0, before_capturing = 0, still_open = 0;
  for (const auto& session : replay->sessions) {
    const auto records = processes.find(session.get());
    if (records == processes.end()) continue;
    records->second->Finish(replay->now_ns);
    left_out += records->second->left_out();
    memory_changes += records->second->memory_changes();
    before_capturing += records->second->before_capturing();
    still_open += records->second->still_open();
  }
  AddNames(*replay, &recording);
  recording.base_ns = INT64_MAX;
  for (const Span& span : recording.spans) {
    recording.base_ns = std::min(recording.base_ns, span.start_ns);
  }
  for (const DeviceActivity& activity : recording.activities) {
    recording.base_ns = std::min(recording.base_ns, activity.start_ns);
  }
  if (recording.base_ns == INT64_MAX) recording.base_ns = 0;

  // What stands beside a table of the capture.
  query::TableRequest request;
  request.set_view(query::PROCESSES);
  const absl::StatusOr<query::Table> table = TableOfReplay(*replay, request);
  if (!table.ok()) return table.status();
  const auto note = [&](auto... text) { recording.notes.push_back(absl::StrCat(text...)); };
  for (const query::Loss& loss : table->losses()) {
    note("lost: ", loss.count(), " ", loss.kind(), " (", loss.cause(), ")");
  }
  for (const std::string& told : table->notes()) note(told);
  const auto count = [&](uint64_t number, absl::string_view what) {
    if (number > 0) note(number, what);
  };
  count(still_open, " operations were still open: they end with the recording, or their process");
  count(before_capturing, " records of device work from before capturing began were left out");
  count(memory_changes, " allocations and frees of memory have no place in a trace");
  count(left_out, " records did not fit into memory and were left out");
  return recording;
}

}  // namespace tp

#include "analyzer/summarize/summary.h"

#include "analyzer/summarize/state.h"

namespace tp {
namespace {

// Beyond this no clock counts, and differences would not fit.
constexpr int64_t kFarthestNs = int64_t{1} << 62;

DeviceWork AmountOf(const DeviceActivity& activity) {
  return {activity.end_ns - activity.start_ns, 1, activity.kind == ActivityKind::kKernel};
}

}  // namespace

Summary::State::State(const StringTable* strings, const SummaryLimits& limits)
    : strings(strings),
      limits(limits),
      spans(limits.spans, limits.groups),
      details(limits.span_details),
      counters(limits.groups),
      launches(limits.correlations),
      calls(limits.groups),
      kernel_launches(limits.groups),
      stream_waits(limits.groups),
      memory(limits.allocations),
      captured(&spans, limits.graph_nodes),
      device(limits.groups, limits.intervals),
      unconfirmed(limits.unconfirmed) {}

bool Summary::State::IsInside(int64_t start_ns, int64_t end_ns) const {
  if (start_ns <= -kFarthestNs || start_ns >= kFarthestNs || end_ns <= -kFarthestNs) return false;
  if (end_ns == kStillOpen) return start_ns <= latest_ns;
  return end_ns < kFarthestNs && end_ns <= latest_ns &&
         (recording_start_ns == 0 || end_ns >= recording_start_ns);
}

void Summary::State::Follow(const LaunchJoin::Outcome& outcome) {
  if (outcome.operation == kNoOperation || outcome.work.records == 0) return;
  if (outcome.instead_of != kNoOperation) spans.AddWork(outcome.instead_of, -outcome.work);
  spans.AddWork(outcome.operation, outcome.work);
}

void Summary::State::Count(const DeviceActivity& activity, const DeviceWork& amount) {
  device_records += amount.records;
  device_ns += amount.duration_ns;
  if (activity.graph_node != 0) captured.AddWork(activity.graph_node, amount);
  if (activity.operation != kNoOperation) {
    spans.AddWork(activity.operation, amount);
  } else if (activity.correlation != 0) {
    Follow(launches.AddWork(activity.correlation, amount));
  }
}

void Summary::State::CountIn(const DeviceActivity& activity) {
  Count(activity, AmountOf(activity));
}

void Summary::State::CountOut(const DeviceActivity& activity) {
  Count(activity, -AmountOf(activity));
}

void Summary::State::AddDeviceWork(const DeviceActivity& activity) {
  const int64_t call_start_ns =
      activity.correlation == 0 ? INT64_MIN : launches.CallStart(activity.correlation);
  if (call_start_ns <= activity.start_ns) {
    CountIn(activity);
    device.Add(activity);
    return;
  }
  const bool is_impossible = call_start_ns != LaunchJoin::kNoCall;
  if (is_impossible) {
    impossible.AddActivity(Impossibility::kStartsBeforeLaunch, activity.kind);
  } else {
    CountIn(activity);
    device.Announce(activity);
  }
  const auto oldest = unconfirmed.Add({activity, is_impossible});
  if (oldest.has_value() && !oldest->impossible) device.Add(oldest->activity);
}

void Summary::State::Confirm(uint64_t correlation, int64_t call_start_ns) {
  const LaunchJoin::Call call = launches.AddCall(correlation, call_start_ns);
  if (!call.is_news) return;
  unconfirmed.VisitLaunch(correlation, [&](UnconfirmedWork::Record& record) {
    const DeviceActivity& activity = record.activity;
    bool is_possible = activity.start_ns >= call_start_ns;
    // Its launch was let go meanwhile, and with it what it takes to count it out.
    if (!call.has_work && !record.impossible && activity.operation == kNoOperation) {
      is_possible = true;
    }
    if (is_possible == record.impossible) {
      if (is_possible) {
        impossible.RemoveActivity(Impossibility::kStartsBeforeLaunch, activity.kind);
        CountIn(activity);
      } else {
        impossible.AddActivity(Impossibility::kStartsBeforeLaunch, activity.kind);
        CountOut(activity);
      }
      record.impossible = !is_possible;
    }
    if (is_possible) device.Add(activity);
    return is_possible;
  });
}

void Summary::State::AddCall(const DeviceActivity& activity) {
  CallGroup& group = calls.At({activity.name, activity.kind});
  group.calls.Add(activity.end_ns - activity.start_ns);
  if (activity.result != 0) ++group.errors;
  if (activity.kind == ActivityKind::kSynchronization && activity.has_stream) {
    stream_waits.At({activity.context, activity.stream}).Add(activity.end_ns - activity.start_ns);
  }
}

Summary::Summary(const StringTable* strings, const SummaryLimits& limits)
    : state_(std::make_unique<State>(strings, limits)) {}
Summary::~Summary() = default;
Summary::Summary(Summary&&) noexcept = default;
Summary& Summary::operator=(Summary&&) noexcept = default;

void Summary::SetProcess(int64_t pid) { state_->pid = pid; }

Descriptions& Summary::descriptions() { return state_->descriptions; }
const Descriptions& Summary::descriptions() const { return state_->descriptions; }

void Summary::SetRecordingStart(int64_t start_ns) { state_->recording_start_ns = start_ns; }

void Summary::SetRecordingEnd(int64_t end_ns) { state_->recording_end_ns = end_ns; }

int64_t Summary::recording_end_ns() const { return state_->recording_end_ns; }

void Summary::SetLatest(int64_t latest_ns) { state_->latest_ns = latest_ns; }

void Summary::SetSpansFrom(int64_t start_ns) { state_->spans_from_ns = start_ns; }

void Summary::AddSpan(const Span& span) {
  if (span.start_ns < state_->spans_from_ns && span.end_ns > state_->spans_from_ns) {
    Span rest = span;
    rest.start_ns = state_->spans_from_ns;
    AddSpan(rest);
    return;
  }
  if (!state_->IsInside(span.start_ns, span.end_ns)) {
    state_->impossible.AddSpan(Impossibility::kOutsideRecording);
    return;
  }
  if (!state_->spans.Add(span)) state_->impossible.AddSpan(Impossibility::kEndsBeforeStart);
  if (span.given_device_ns >= 0) state_->given_device_time = true;
}

void Summary::AddSpanValue(const SpanValue& value) { state_->details.AddValue(value); }

void Summary::AddCounter(const CounterValue& counter) {
  if (!state_->IsInside(counter.time_ns, counter.time_ns)) {
    state_->impossible.AddCounter(Impossibility::kOutsideRecording);
    return;
  }
  state_->counters.At(counter.name).Add(counter);
}

bool Summary::HasSpan(uint64_t id) const { return state_->spans.Has(id); }

void Summary::CloseSpan(uint64_t id, int64_t end_ns) {
  // It ended before the time from which on it counts, and nothing of it is left.
  if (id != kNoOperation && end_ns < state_->spans_from_ns) end_ns = state_->spans_from_ns;
  if (!state_->IsInside(end_ns, end_ns)) {
    state_->impossible.AddSpan(Impossibility::kOutsideRecording);
    return;
  }
  if (!state_->spans.Close(id, end_ns)) {
    state_->impossible.AddSpan(Impossibility::kEndsBeforeStart);
  }
}

void Summary::AddActivity(const DeviceActivity& activity) {
  const bool is_call = IsHostCall(activity.kind);
  const bool is_work = IsDeviceWork(activity.kind);
  // What a call says of its operation holds whatever its times are.
  if (is_call) AddLaunchOperation(activity.correlation, activity.operation);
  if (!is_call && !is_work && !IsOtherHostTime(activity.kind)) return;
  const bool is_inside = state_->IsInside(activity.start_ns, activity.end_ns) &&
                         (!is_work || activity.start_ns >= state_->recording_start_ns ||
                          state_->recording_start_ns == 0);
  if (!is_inside) {
    state_->impossible.AddActivity(Impossibility::kOutsideRecording, activity.kind);
  } else if (activity.end_ns < activity.start_ns) {
    state_->impossible.AddActivity(Impossibility::kEndsBeforeStart, activity.kind);
  } else if (!is_work) {
    state_->AddCall(activity);
    if (is_call && activity.correlation != 0)
      state_->Confirm(activity.correlation, activity.start_ns);
  } else {
    state_->AddDeviceWork(activity);
  }
}

void Summary::AddLaunchOperation(uint64_t correlation, uint64_t operation) {
  if (correlation == 0 || operation == kNoOperation) return;
  state_->Follow(state_->launches.AddLaunch(correlation, operation));
}

void Summary::AddKernelLaunch(StringId kernel, const KernelLaunch& launch) {
  state_->kernel_launches.At(kernel).Add(launch);
}

void Summary::AddMemory(const MemoryChange& event) { state_->memory.Add(event); }

void Summary::AddGraphNode(const GraphNode& node) { state_->captured.AddNode(node); }

void Summary::VisitSpans(int64_t now_ns, absl::FunctionRef<void(const SpanSummary&)> visit) const {
  SpanSums& spans = state_->spans;
  spans.MoveUp();
  for (const auto& [span, is_open, duration_ns, self_cpu_ns] :
       spans.Kept(std::min(now_ns, state_->recording_end_ns))) {
    const SpanNumbers numbers = spans.Numbers(span);
    const SpanSlot parent = spans.nesting().parent(span);
    visit({.id = spans.nesting().id(span),
           .parent = parent == kNoSpan ? kNoOperation : spans.nesting().id(parent),
           .duration_ns = duration_ns,
           .self_cpu_ns = self_cpu_ns,
           .self_device_ns = numbers.self_device_ns,
           .device_total_ns = numbers.device_total_ns,
           .kernels = numbers.kernels,
           .nested_output_bytes = numbers.nested_output_bytes});
  }
}

void Summary::VisitOpenSpans(absl::FunctionRef<void(const Span&, bool)> visit) const {
  const SpanSums& spans = state_->spans;
  for (const SpanSums::OpenSpan& open : spans.Open(/*now_ns=*/0)) {
    const Nesting& nesting = spans.nesting();
    const uint32_t group = spans.group(open.span);
    Span span;
    span.id = nesting.id(open.span);
    span.start_ns = nesting.start_ns(open.span);
    span.asynchronous = nesting.asynchronous(open.span);
    if (!span.asynchronous) span.thread = nesting.thread(open.span);
    const SpanGroupKey& key = spans.groups().entries()[group].key;
    span.name = key.name;
    span.kind = key.kind;
    span.shapes = key.shapes;
    span.stack = key.stack;
    const SpanNumbers numbers = spans.Numbers(open.span);
    span.flops = numbers.flops;
    span.output_bytes = numbers.output_bytes;
    span.dtypes = spans.dtypes(open.span);
    visit(span, group != Groups<SpanGroupKey, SpanGroup>::kOther);
  }
}

const ImpossibleRecords& Summary::impossible() const { return state_->impossible; }

LateRecords Summary::late() const {
  return {.launch_let_go = state_->launches.too_late(),
          .operation_let_go = state_->spans.too_late()};
}

uint64_t Summary::details_let_go() const { return state_->details.let_go(); }

uint64_t Summary::unattributed_count() const {
  return state_->device_records - state_->spans.attributed_records();
}
int64_t Summary::unattributed_ns() const {
  return state_->device_ns - state_->spans.attributed_ns();
}
int64_t Summary::device_time_ns() const { return state_->device_ns; }

size_t Summary::memory_bytes() const {
  return sizeof(State) + state_->spans.memory_bytes() + state_->launches.memory_bytes() +
         state_->calls.memory_bytes() + state_->device.memory_bytes() +
         state_->unconfirmed.memory_bytes() + state_->stream_waits.memory_bytes() +
         state_->kernel_launches.memory_bytes() + state_->memory.memory_bytes() +
         state_->captured.memory_bytes() + state_->descriptions.memory_bytes() +
         state_->details.memory_bytes() + state_->counters.memory_bytes();
}

}  // namespace tp

#include "analyzer/summarize/summary.h"

#include <time.h>

#include "analyzer/summarize/state.h"

namespace tp {
namespace {

constexpr int64_t kDayNs = 86'400'000'000'000;
// Beyond this no clock counts, and differences would not fit.
constexpr int64_t kFarthestNs = int64_t{1} << 62;
// More devices than any machine has: what comes with further numbers is in the totals only.
constexpr size_t kDevices = 1024;

int64_t HostNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

Summary::State::State(const StringTable* strings, const SummaryLimits& limits)
    : strings(strings),
      limits(limits),
      spans(limits.spans, limits.groups),
      launches(limits.correlations),
      work(limits.groups),
      calls(limits.groups),
      copies(limits.groups),
      streams(limits.groups) {}

bool Summary::State::IsOutside(int64_t start_ns, int64_t end_ns) {
  bool is_possible = start_ns > -kFarthestNs && start_ns < kFarthestNs && end_ns > -kFarthestNs &&
                     (end_ns < kFarthestNs || end_ns == kStillOpen);
  if (is_possible && recording_start_ns != 0) {
    // The clock is read only when a record is later than the last reading allows.
    if (start_ns > latest_start_ns) latest_start_ns = HostNow() + kDayNs;
    is_possible = end_ns >= recording_start_ns && start_ns <= latest_start_ns;
  }
  if (!is_possible) ++missed.outside_recording;
  return !is_possible;
}

void Summary::State::Follow(const LaunchJoin::Outcome& outcome) {
  if (outcome.operation == kNoOperation || outcome.work.records == 0) return;
  if (outcome.instead_of != kNoOperation) spans.AddWork(outcome.instead_of, -outcome.work);
  spans.AddWork(outcome.operation, outcome.work);
}

void Summary::State::AddDeviceWork(const DeviceActivity& activity) {
  int64_t duration_ns = activity.end_ns - activity.start_ns;
  ++device_records;
  device_ns += duration_ns;
  if (duration_ns > 0) work.At({activity.name, activity.kind}).Add(duration_ns);

  if (activity.kind != ActivityKind::kKernel) {
    bool is_fill = activity.kind == ActivityKind::kFill;
    CopyGroup& group = copies.At({is_fill ? kFillDirection : activity.copy_kind,
                                  activity.source_memory, activity.destination_memory});
    group.copies.Add(duration_ns);
    group.bytes += activity.bytes;
  }

  StreamUse& stream = streams.At({activity.device, activity.context, activity.stream});
  if (stream.work.count == 0) stream.busy = BusyTime(limits.intervals);
  stream.work.Add(duration_ns);
  stream.busy.Add(activity.start_ns, activity.end_ns);
  auto device = devices.find(activity.device);
  if (device == devices.end() && devices.size() < kDevices) {
    device = devices.emplace(activity.device, BusyTime(limits.intervals)).first;
  }
  if (device != devices.end()) device->second.Add(activity.start_ns, activity.end_ns);

  DeviceWork amount = {duration_ns, 1, activity.kind == ActivityKind::kKernel};
  if (activity.operation != kNoOperation) {
    spans.AddWork(activity.operation, amount);
  } else if (activity.correlation != 0) {
    Follow(launches.AddWork(activity.correlation, amount));
  }
}

void Summary::State::AddCall(const DeviceActivity& activity) {
  CallGroup& group = calls.At({activity.name, activity.kind});
  group.calls.Add(activity.end_ns - activity.start_ns);
  if (activity.result != 0) ++group.errors;
}

Summary::Summary(const StringTable* strings, const SummaryLimits& limits)
    : state_(std::make_unique<State>(strings, limits)) {}
Summary::~Summary() = default;
Summary::Summary(Summary&&) noexcept = default;
Summary& Summary::operator=(Summary&&) noexcept = default;

void Summary::SetProcess(int64_t pid) { state_->pid = pid; }

void Summary::SetRecordingStart(int64_t start_ns) { state_->recording_start_ns = start_ns; }

void Summary::SetRecordingEnd(int64_t end_ns) { state_->recording_end_ns = end_ns; }

void Summary::AddSpan(const Span& span) {
  if (state_->IsOutside(span.start_ns, span.end_ns)) return;
  if (!state_->spans.Add(span)) ++state_->missed.end_before_start;
  if (span.given_device_ns >= 0) state_->given_device_time = true;
}

void Summary::CloseSpan(uint64_t id, int64_t end_ns) {
  if (end_ns <= -kFarthestNs || end_ns >= kFarthestNs) {
    ++state_->missed.outside_recording;
    return;
  }
  if (!state_->spans.Close(id, end_ns)) ++state_->missed.end_before_start;
}

void Summary::AddActivity(const DeviceActivity& activity) {
  bool is_call = IsHostCall(activity.kind);
  // What a call says of its operation holds whatever its times are.
  if (is_call) AddLaunchOperation(activity.correlation, activity.operation);
  if (!is_call && !IsDeviceWork(activity.kind)) return;
  if (state_->IsOutside(activity.start_ns, activity.end_ns)) return;
  if (activity.end_ns < activity.start_ns) {
    ++state_->missed.end_before_start;
    return;
  }
  if (is_call) {
    state_->AddCall(activity);
  } else {
    state_->AddDeviceWork(activity);
  }
}

void Summary::AddLaunchOperation(uint64_t correlation, uint64_t operation) {
  if (correlation == 0 || operation == kNoOperation) return;
  state_->Follow(state_->launches.AddLaunch(correlation, operation));
}

Missed Summary::missed() const {
  Missed missed = state_->missed;
  missed.launch_let_go = state_->launches.too_late();
  missed.operation_let_go = state_->spans.too_late();
  return missed;
}

uint64_t Summary::unattributed_count() const {
  return state_->device_records - state_->spans.attributed_records();
}
int64_t Summary::unattributed_ns() const {
  return state_->device_ns - state_->spans.attributed_ns();
}
int64_t Summary::device_time_ns() const { return state_->device_ns; }

size_t Summary::memory_bytes() const {
  size_t bytes = sizeof(State) + state_->spans.memory_bytes() + state_->launches.memory_bytes() +
                 state_->work.memory_bytes() + state_->calls.memory_bytes() +
                 state_->copies.memory_bytes() + state_->streams.memory_bytes();
  for (const auto& stream : state_->streams.entries()) bytes += stream.group.busy.memory_bytes();
  for (const auto& device : state_->devices) bytes += device.second.memory_bytes();
  return bytes;
}

}  // namespace tp

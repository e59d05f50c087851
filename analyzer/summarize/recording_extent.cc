#include "analyzer/summarize/recording_extent.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tp {
namespace {

constexpr int64_t kYearNs = int64_t{365} * 24 * 3600 * 1'000'000'000;

struct Bounds {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();

  void Add(int64_t time_ns) {
    first_ns = std::min(first_ns, time_ns);
    last_ns = std::max(last_ns, time_ns);
  }
};

int64_t Plus(int64_t time_ns, int64_t more_ns) {
  int64_t sum_ns;
  return __builtin_add_overflow(time_ns, more_ns, &sum_ns) ? INT64_MAX : sum_ns;
}

bool HasTime(const DeviceActivity& activity) {
  return IsHostCall(activity.kind) || IsDeviceWork(activity.kind) || IsOtherHostTime(activity.kind);
}

// The bounds of the most starts with no gap of more than a year between them.
Bounds MostStarts(const WholeRecording& recording) {
  std::vector<int64_t> starts;
  starts.reserve(recording.spans.size() + recording.activities.size());
  for (const Span& span : recording.spans) starts.push_back(span.start_ns);
  for (const DeviceActivity& activity : recording.activities) {
    if (HasTime(activity)) starts.push_back(activity.start_ns);
  }
  for (const CounterValue& counter : recording.counters) starts.push_back(counter.time_ns);
  std::sort(starts.begin(), starts.end());
  size_t most = 0;
  Bounds bounds;
  for (size_t begin = 0, end; begin < starts.size(); begin = end) {
    for (end = begin + 1; end < starts.size(); ++end) {
      if (starts[end] > Plus(starts[end - 1], kYearNs)) break;
    }
    // Of equally many the later: clocks that are not set begin at zero.
    if (end - begin < most) continue;
    most = end - begin;
    bounds = {starts[begin], starts[end - 1]};
  }
  return bounds;
}

}  // namespace

RecordingExtent ExtentOf(const WholeRecording& recording) {
  Bounds starts, ends;
  for (const Span& span : recording.spans) {
    starts.Add(span.start_ns);
    if (span.end_ns != kStillOpen) ends.Add(span.end_ns);
  }
  for (const DeviceActivity& activity : recording.activities) {
    if (!HasTime(activity)) continue;
    starts.Add(activity.start_ns);
    ends.Add(activity.end_ns);
  }
  for (const CounterValue& counter : recording.counters) {
    starts.Add(counter.time_ns);
    ends.Add(counter.time_ns);
  }
  if (starts.first_ns > starts.last_ns) return {recording.base_ns, recording.base_ns, true};
  const int64_t latest_end_ns = Plus(starts.last_ns, kYearNs);
  if (starts.last_ns <= Plus(starts.first_ns, kYearNs) && ends.last_ns <= latest_end_ns) {
    return {starts.first_ns, std::max(starts.last_ns, ends.last_ns), true};
  }

  const Bounds inside = MostStarts(recording);
  RecordingExtent extent = {inside.first_ns, inside.last_ns,
                            inside.first_ns == starts.first_ns && inside.last_ns == starts.last_ns};
  const auto add_end = [&](int64_t start_ns, int64_t end_ns) {
    if (start_ns < inside.first_ns || start_ns > inside.last_ns) return;
    if (end_ns <= Plus(inside.last_ns, kYearNs)) {
      extent.last_ns = std::max(extent.last_ns, end_ns);
    } else {
      extent.is_everything = false;
    }
  };
  for (const Span& span : recording.spans) {
    if (span.end_ns != kStillOpen) add_end(span.start_ns, span.end_ns);
  }
  for (const DeviceActivity& activity : recording.activities) {
    if (HasTime(activity)) add_end(activity.start_ns, activity.end_ns);
  }
  return extent;
}

}  // namespace tp

#include "analyzer/summarize/reference.h"

#include <algorithm>

namespace tp {
namespace {

// Section 2 with D2: is `a` visited before `b`?
bool VisitedBefore(const Span& a, const Span& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.id < b.id;
}

int ParentOf(const std::vector<Span>& spans, int inner) {
  int parent = -1;
  const Span& span = spans[inner];
  if (span.asynchronous) return parent;
  for (int i = 0; i < static_cast<int>(spans.size()); ++i) {
    const Span& outer = spans[i];
    if (i == inner || outer.asynchronous || outer.thread != span.thread) continue;
    bool contains =
        VisitedBefore(outer, span) && outer.end_ns >= span.end_ns && outer.end_ns > span.start_ns;
    if (contains && (parent < 0 || VisitedBefore(spans[parent], outer))) parent = i;
  }
  return parent;
}

}  // namespace

PlainSummary Summarize(const PlainRecording& recording, int64_t now_ns) {
  const std::vector<Span>& spans = recording.spans;
  int count = static_cast<int>(spans.size());
  PlainSummary summary;
  summary.spans.resize(count);
  auto end = [&](int i) {
    return spans[i].end_ns == kStillOpen ? std::max(now_ns, spans[i].start_ns) : spans[i].end_ns;
  };
  for (int i = 0; i < count; ++i) {
    summary.spans[i].parent = ParentOf(spans, i);
    summary.spans[i].duration_ns = end(i) - spans[i].start_ns;
  }
  for (int i = 0; i < count; ++i) {
    std::vector<std::pair<int64_t, int64_t>> children;
    for (int child = 0; child < count; ++child) {
      if (summary.spans[child].parent == i) children.push_back({spans[child].start_ns, end(child)});
    }
    std::sort(children.begin(), children.end());
    int64_t covered_ns = 0, covered_until = INT64_MIN;
    for (auto [start_ns, end_ns] : children) {
      covered_ns += std::max<int64_t>(0, end_ns - std::max(start_ns, covered_until));
      covered_until = std::max(covered_until, end_ns);
    }
    summary.spans[i].self_cpu_ns =
        spans[i].asynchronous ? 0 : summary.spans[i].duration_ns - covered_ns;
  }

  // Section 3. The launch's word: of several the innermost, which is the one begun last.
  std::map<uint64_t, uint64_t> operation_of;
  auto launch = [&](uint64_t correlation, uint64_t operation) {
    if (correlation == 0 || operation == kNoOperation) return;
    auto [found, is_new] = operation_of.emplace(correlation, operation);
    if (!is_new) found->second = std::max(found->second, operation);
  };
  for (auto [correlation, operation] : recording.launch_operations) launch(correlation, operation);
  for (const DeviceActivity& call : recording.activities) {
    if (IsHostCall(call.kind)) launch(call.correlation, call.operation);
  }
  // Section 3 as well: one call can be inside another, the earliest is the launch.
  std::map<uint64_t, int64_t> launched_ns;
  for (const DeviceActivity& call : recording.activities) {
    if (!IsHostCall(call.kind) || call.end_ns < call.start_ns) continue;
    auto [found, is_new] = launched_ns.emplace(call.correlation, call.start_ns);
    if (!is_new) found->second = std::min(found->second, call.start_ns);
  }
  for (const DeviceActivity& work : recording.activities) {
    if (!IsDeviceWork(work.kind) || work.end_ns < work.start_ns) continue;
    if (work.correlation != 0 && launched_ns.count(work.correlation) > 0 &&
        work.start_ns < launched_ns[work.correlation]) {
      ++summary.before_launch;
      continue;
    }
    summary.work.push_back(work);
    int64_t duration_ns = work.end_ns - work.start_ns;
    summary.device_ns += duration_ns;
    uint64_t operation = work.operation;
    if (operation == kNoOperation && operation_of.count(work.correlation) > 0) {
      operation = operation_of[work.correlation];
    }
    int span = -1;
    for (int i = 0; i < count; ++i) {
      if (operation != kNoOperation && spans[i].id == operation) span = i;
    }
    if (span < 0) {
      ++summary.unattributed_count;
      summary.unattributed_ns += duration_ns;
      continue;
    }
    summary.spans[span].self_device_ns += duration_ns;
    summary.spans[span].kernels += work.kind == ActivityKind::kKernel;
    for (int i = span; i >= 0; i = summary.spans[i].parent) {
      summary.spans[i].device_total_ns += duration_ns;
    }
  }
  for (int span = 0; span < count; ++span) {
    for (int i = span; i >= 0; i = summary.spans[i].parent) {
      summary.spans[i].nested_output_bytes += std::max<int64_t>(0, spans[span].output_bytes);
    }
  }
  return summary;
}

}  // namespace tp

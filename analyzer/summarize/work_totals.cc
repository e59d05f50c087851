#include <string_view>

#include "analyzer/model/copy_kind.h"
#include "analyzer/summarize/state.h"
#include "analyzer/summarize/summary.h"

namespace tp {
namespace {

constexpr std::string_view kOther = "(other)";

void Add(const CopyGroup& group, WorkTotals::Copies* copies) {
  copies->count += group.copies.count;
  copies->total_ns += group.copies.total_ns;
  copies->bytes += group.bytes;
}

void AddCopies(const CopyKey& key, bool is_other, const CopyGroup& group, WorkTotals* totals) {
  if (group.copies.count == 0) return;
  const uint32_t kind = std::get<0>(key);
  if (is_other) {
    Add(group, &totals->copies[kOther]);
  } else if (kind == kFillDirection) {
    Add(group, &totals->fills);
  } else {
    Add(group, &totals->copies[CopyDirection(kind)]);
  }
}

void AddWork(const DeviceActivity& activity, WorkTotals* totals) {
  const int64_t duration_ns = activity.end_ns - activity.start_ns;
  if (activity.kind == ActivityKind::kKernel && duration_ns > 0) {
    ++totals->kernels;
    totals->kernel_ns += duration_ns;
  } else if (activity.kind == ActivityKind::kCopy || activity.kind == ActivityKind::kFill) {
    WorkTotals::Copies& copies = activity.kind == ActivityKind::kFill
                                     ? totals->fills
                                     : totals->copies[CopyDirection(activity.copy_kind)];
    ++copies.count;
    copies.total_ns += duration_ns;
    copies.bytes += activity.bytes;
  }
}

// "cudaLaunchKernel_v7000", "cuGraphLaunch"; a host function is none of the device.
bool IsLaunch(std::string_view call) {
  return call.find("Launch") != std::string_view::npos &&
         call.find("LaunchHostFunc") == std::string_view::npos;
}

}  // namespace

WorkTotals Summary::Totals() const {
  const State& state = *state_;
  WorkTotals totals;
  totals.kernels = state.device.kernels;
  totals.kernel_ns = state.device.kernel_ns;
  bool is_other = true;  // The first entry.
  for (const auto& [key, group] : state.device.copies.entries()) {
    AddCopies(key, is_other, group, &totals);
    is_other = false;
  }
  // Counts as long as no call contradicts it.
  state.unconfirmed.VisitAll([&](const UnconfirmedWork::Record& record) {
    if (!record.impossible) AddWork(record.activity, &totals);
  });
  for (const auto& [key, group] : state.calls.entries()) {
    if (group.calls.count == 0 || !IsLaunch(state.strings->Text(key.first))) continue;
    if (key.second == ActivityKind::kRuntimeCall) totals.runtime_launches += group.calls.count;
    if (key.second == ActivityKind::kDriverCall) totals.driver_launches += group.calls.count;
  }
  return totals;
}

}  // namespace tp

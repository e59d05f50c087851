#include "analyzer/summarize/device_sums.h"

namespace tp {
namespace {

// More devices than any machine has: what comes with further numbers is in the totals only.
constexpr size_t kDevices = 1024;

bool IsCopyOrFill(const DeviceActivity& activity) {
  return activity.kind == ActivityKind::kCopy || activity.kind == ActivityKind::kFill;
}

CopyKey KeyOfCopy(const DeviceActivity& activity) {
  const bool is_fill = activity.kind == ActivityKind::kFill;
  return {is_fill ? kFillDirection : activity.copy_kind, activity.source_memory,
          activity.destination_memory};
}

StreamKey KeyOfStream(const DeviceActivity& activity) {
  return {activity.device, activity.context, activity.stream};
}

}  // namespace

DeviceSums::DeviceSums(size_t group_limit, size_t interval_limit)
    : work(group_limit),
      copies(group_limit),
      streams(group_limit),
      interval_limit_(interval_limit) {}

void DeviceSums::Add(const DeviceActivity& activity) {
  const int64_t duration_ns = activity.end_ns - activity.start_ns;
  if (duration_ns > 0) work.At({activity.name, activity.kind}).Add(duration_ns);

  if (IsCopyOrFill(activity)) {
    CopyGroup& group = copies.At(KeyOfCopy(activity));
    group.copies.Add(duration_ns);
    group.bytes += activity.bytes;
  }

  StreamUse& stream = streams.At(KeyOfStream(activity));
  if (stream.work.count == 0) stream.busy = BusyTime(interval_limit_);
  stream.work.Add(duration_ns);
  stream.busy.Add(activity.start_ns, activity.end_ns);

  auto device = devices.find(activity.device);
  if (device == devices.end() && devices.size() < kDevices) {
    device = devices.emplace(activity.device, BusyTime(interval_limit_)).first;
  }
  if (device != devices.end()) device->second.Add(activity.start_ns, activity.end_ns);
}

void DeviceSums::Announce(const DeviceActivity& activity) {
  work.Index({activity.name, activity.kind});
  if (IsCopyOrFill(activity)) copies.Index(KeyOfCopy(activity));
  streams.Index(KeyOfStream(activity));
}

size_t DeviceSums::memory_bytes() const {
  size_t bytes = work.memory_bytes() + copies.memory_bytes() + streams.memory_bytes();
  for (const auto& stream : streams.entries()) bytes += stream.group.busy.memory_bytes();
  for (const auto& device : devices) bytes += device.second.memory_bytes();
  return bytes;
}

}  // namespace tp

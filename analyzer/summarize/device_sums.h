// Sums over device work: by name, by kind of copy, by stream, and how long each device was busy.
#ifndef ANALYZER_SUMMARIZE_DEVICE_SUMS_H_
#define ANALYZER_SUMMARIZE_DEVICE_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/model/recording.h"
#include "analyzer/summarize/busy_time.h"
#include "analyzer/summarize/groups.h"

namespace tp {

using NameAndKind = std::pair<StringId, ActivityKind>;
// Copy kind, source and destination memory.
using CopyKey = std::tuple<uint32_t, uint32_t, uint32_t>;
inline constexpr uint32_t kFillDirection = UINT32_MAX;
// Device, context, stream.
using StreamKey = std::tuple<int32_t, uint32_t, uint32_t>;

struct CopyGroup {
  Durations copies;
  uint64_t bytes = 0;
};

struct StreamUse {
  Durations work;
  BusyTime busy;
};

struct DeviceSums {
  // `group_limit` for each kind of group, `interval_limit` for each stream and device.
  DeviceSums(size_t group_limit, size_t interval_limit);

  // A kernel, copy or fill that does not end before it starts.
  void Add(const DeviceActivity& activity);
  // Gives the groups of work that is still to be added their place: groups are in the order in
  // which they were first seen.
  void Announce(const DeviceActivity& activity);
  size_t memory_bytes() const;

  Groups<NameAndKind, Durations> work;
  Groups<CopyKey, CopyGroup> copies;
  Groups<StreamKey, StreamUse> streams;
  absl::flat_hash_map<int32_t, BusyTime> devices;

 private:
  size_t interval_limit_;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_DEVICE_SUMS_H_

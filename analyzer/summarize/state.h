// What a Summary holds; shared by the part that takes records and the part that makes tables.
#ifndef ANALYZER_SUMMARIZE_STATE_H_
#define ANALYZER_SUMMARIZE_STATE_H_

#include <cstdint>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/correlate/launch_join.h"
#include "analyzer/summarize/busy_time.h"
#include "analyzer/summarize/groups.h"
#include "analyzer/summarize/span_sums.h"
#include "analyzer/summarize/summary.h"

namespace tp {

using NameAndKind = std::pair<StringId, ActivityKind>;
// Copy kind, source and destination memory.
using CopyKey = std::tuple<uint32_t, uint32_t, uint32_t>;
inline constexpr uint32_t kFillDirection = UINT32_MAX;
// Device, context, stream.
using StreamKey = std::tuple<int32_t, uint32_t, uint32_t>;

struct CallGroup {
  Durations calls;
  int64_t errors = 0;
};

struct CopyGroup {
  Durations copies;
  uint64_t bytes = 0;
};

struct StreamUse {
  Durations work;
  BusyTime busy;
};

struct Summary::State {
  State(const StringTable* strings, const SummaryLimits& limits);

  const StringTable* strings;
  SummaryLimits limits;
  int64_t pid = 0;
  int64_t recording_start_ns = 0;
  int64_t recording_end_ns = INT64_MAX;
  int64_t latest_start_ns = 0;  // Later ones are impossible; only ever grows.
  Missed missed;
  SpanSums spans;
  LaunchJoin launches;
  Groups<NameAndKind, Durations> work;
  Groups<NameAndKind, CallGroup> calls;
  Groups<CopyKey, CopyGroup> copies;
  Groups<StreamKey, StreamUse> streams;
  absl::flat_hash_map<int32_t, BusyTime> devices;
  int64_t device_records = 0;
  int64_t device_ns = 0;
  bool given_device_time = false;

  bool IsOutside(int64_t start_ns, int64_t end_ns);
  void AddDeviceWork(const DeviceActivity& activity);
  void AddCall(const DeviceActivity& activity);
  void Follow(const LaunchJoin::Outcome& outcome);
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_STATE_H_

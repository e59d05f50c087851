// What a Summary holds; shared by the part that takes records and the part that makes tables.
#ifndef ANALYZER_SUMMARIZE_STATE_H_
#define ANALYZER_SUMMARIZE_STATE_H_

#include <cstdint>
#include <utility>

#include "analyzer/correlate/launch_join.h"
#include "analyzer/summarize/captured_work.h"
#include "analyzer/summarize/counter_sums.h"
#include "analyzer/summarize/device_sums.h"
#include "analyzer/summarize/groups.h"
#include "analyzer/summarize/launch_sums.h"
#include "analyzer/summarize/memory_sums.h"
#include "analyzer/summarize/span_details.h"
#include "analyzer/summarize/span_sums.h"
#include "analyzer/summarize/summary.h"
#include "analyzer/summarize/unconfirmed_work.h"

namespace tp {

struct CallGroup {
  Durations calls;
  int64_t errors = 0;
};

struct Summary::State {
  State(const StringTable* strings, const SummaryLimits& limits);

  const StringTable* strings;
  SummaryLimits limits;
  int64_t pid = 0;
  Descriptions descriptions;
  int64_t recording_start_ns = 0;
  int64_t recording_end_ns = INT64_MAX;
  int64_t latest_ns = INT64_MAX;
  int64_t spans_from_ns = INT64_MIN;
  ImpossibleRecords impossible;
  SpanSums spans;
  SpanDetails details;
  Groups<StringId, CounterSums> counters;
  LaunchJoin launches;
  Groups<NameAndKind, CallGroup> calls;
  // By the kernel's name, of all records: it does not matter here when they ran.
  Groups<StringId, LaunchSums> kernel_launches;
  // Synchronizations with a stream, by context and stream.
  Groups<std::pair<uint32_t, uint32_t>, Durations> stream_waits;
  MemorySums memory;
  CapturedWork captured;
  // Sums of what can no longer turn out to be impossible. What still can is in the totals and with
  // its operation already, and in these sums when a table is made: minima, maxima and busy times
  // can't be taken back.
  DeviceSums device;
  UnconfirmedWork unconfirmed;
  int64_t device_records = 0;
  int64_t device_ns = 0;
  bool given_device_time = false;

  bool IsInside(int64_t start_ns, int64_t end_ns) const;
  void AddDeviceWork(const DeviceActivity& activity);
  // Adds it to, or takes it from, the totals and its operation.
  void CountIn(const DeviceActivity& activity);
  void CountOut(const DeviceActivity& activity);
  void Count(const DeviceActivity& activity, const DeviceWork& amount);
  // A call with this correlation began then.
  void Confirm(uint64_t correlation, int64_t call_start_ns);
  void AddCall(const DeviceActivity& activity);
  void Follow(const LaunchJoin::Outcome& outcome);
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_STATE_H_

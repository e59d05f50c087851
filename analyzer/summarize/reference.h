// The specification's words as plain loops over a whole recording, slow and obvious: what a Summary
// is compared with in tests.
#ifndef ANALYZER_SUMMARIZE_REFERENCE_H_
#define ANALYZER_SUMMARIZE_REFERENCE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/recording.h"

namespace tp {

struct PlainRecording {
  std::vector<Span> spans;  // Ids are unique and known.
  std::vector<DeviceActivity> activities;
  std::vector<std::pair<uint64_t, uint64_t>> launch_operations;  // Correlation, operation.
};

struct PlainSpan {
  int parent = -1;
  int64_t duration_ns = 0;
  int64_t self_cpu_ns = 0;
  int64_t self_device_ns = 0;
  int64_t device_total_ns = 0;
  int64_t kernels = 0;
  int64_t nested_output_bytes = 0;
};

struct PlainSummary {
  std::vector<PlainSpan> spans;
  int64_t unattributed_count = 0;
  int64_t unattributed_ns = 0;
  int64_t device_ns = 0;
  uint64_t before_launch = 0;        // Device records.
  std::vector<DeviceActivity> work;  // All others that are possible.
};

// Open spans end at `now_ns`.
PlainSummary Summarize(const PlainRecording& recording, int64_t now_ns);

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_REFERENCE_H_

// When a whole recording ends.
#ifndef ANALYZER_EXPORT_RECORDING_TIMES_H_
#define ANALYZER_EXPORT_RECORDING_TIMES_H_

#include <algorithm>
#include <cstdint>

#include "analyzer/model/whole_recording.h"

namespace tp {

// The latest time in it, and so the end of what is still open; its base if there is none.
inline int64_t LatestNs(const WholeRecording& recording) {
  int64_t latest_ns = recording.base_ns;
  for (const Span& span : recording.spans) {
    latest_ns = std::max({latest_ns, span.start_ns, span.end_ns == kStillOpen ? 0 : span.end_ns});
  }
  for (const DeviceActivity& activity : recording.activities) {
    latest_ns = std::max({latest_ns, activity.start_ns, activity.end_ns});
  }
  for (const MemoryEvent& event : recording.memory_events) {
    latest_ns = std::max(latest_ns, event.time_ns);
  }
  for (const Sample& sample : recording.samples) latest_ns = std::max(latest_ns, sample.time_ns);
  return latest_ns;
}

}  // namespace tp

#endif  // ANALYZER_EXPORT_RECORDING_TIMES_H_

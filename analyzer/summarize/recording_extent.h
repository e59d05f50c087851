// When a recording that is over began and ended, for one whose source does not say it: most of its
// records lie close together, and what is far outside has a time of another clock, or none.
#ifndef ANALYZER_SUMMARIZE_RECORDING_EXTENT_H_
#define ANALYZER_SUMMARIZE_RECORDING_EXTENT_H_

#include <cstdint>

#include "analyzer/model/whole_recording.h"

namespace tp {

struct RecordingExtent {
  // The earliest start and the latest end of what lies inside; both base_ns if there is nothing.
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  // Nothing lies outside.
  bool is_everything = true;
};

// What lies outside is separated from most records by more than a year without any, or ends more
// than a year after the last one began. A program may be idle for days, and a recording hold
// nothing but device work: shorter gaps prove nothing.
RecordingExtent ExtentOf(const WholeRecording& recording);

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_RECORDING_EXTENT_H_

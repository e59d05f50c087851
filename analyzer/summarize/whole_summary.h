// The summary of a recording that is over: the same running summary as for live sessions, fed at
// once and with room for everything. What lies far outside of the recording is in no sum
// (recording_extent.h).
#ifndef ANALYZER_SUMMARIZE_WHOLE_SUMMARY_H_
#define ANALYZER_SUMMARIZE_WHOLE_SUMMARY_H_

#include <cstdint>

#include "analyzer/model/whole_recording.h"
#include "analyzer/summarize/summary.h"
#include "proto/query.pb.h"

namespace tp {

// `recording` outlives the summary (its texts).
Summary Summarize(const WholeRecording& recording);

// Latest end of what lies inside of the recording (recording_extent.h): what is still open ends
// then.
int64_t EndOf(const WholeRecording& recording);

// Tabulate() with all that a reader must know beside it: the recording's notes, impossible records
// as losses, device work without an operation, and a row for each process that the recording tells
// of. What one process of several did on the device is told in the views PROCESSES and STREAMS.
query::Table TabulateWhole(const WholeRecording& recording, const Summary& summary,
                           const TableOptions& options);

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_WHOLE_SUMMARY_H_

// A recording as a trace in Chrome's format, for viewers (Perfetto, chrome://tracing) and for the
// tools that read PyTorch's traces (TensorBoard's plugin, HolisticTraceAnalysis).
//
// Times are microseconds after the recording's base, exact decimals. Names are valid JSON whatever
// their bytes. Records keep their order; rows are those of trace_rows.h; an arrow ("ac2g") runs
// from each launch to the device work that it issued. An "External id" names the span that a record
// belongs to, so spans should be numbered from 1: readers take 0 for none.
#ifndef ANALYZER_EXPORT_CHROME_TRACE_H_
#define ANALYZER_EXPORT_CHROME_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "analyzer/export/output_file.h"
#include "analyzer/model/whole_recording.h"
#include "analyzer/summarize/summary.h"

namespace tp {

struct ChromeTraceOptions {
  // With what PyTorch's tools look for beside the events, and without the categories that they do
  // not know.
  bool torch_compat = false;
  // For torch_compat; left out where empty.
  std::string trace_name, host_name, trace_id;
  // What to call a process whose name is not known.
  std::string unnamed_process = "process";
  // The External id of the span with the id 0; the others follow. Readers take 0 for none.
  uint64_t first_id = 1;
  // Told now and then which part of the events is written, up to 1.
  std::function<void(double part)> progress;
};

// `summary` is that of `recording`, and is freed as soon as what is written of it is known. Writes
// piece by piece; stops early when `out` fails, which out->Finish() then tells.
void WriteChromeTrace(const WholeRecording& recording, Summary summary,
                      const ChromeTraceOptions& options, OutputFile* out);

}  // namespace tp

#endif  // ANALYZER_EXPORT_CHROME_TRACE_H_

// Traces of the ranks of one job as one trace, in which nothing of one rank can be taken for
// another's.
//
// Traces are in Chrome's format as PyTorch's profiler and WriteChromeTrace() write them, gzipped or
// not. They are read twice and pass through event by event: memory does not grow with them. What is
// not renumbered stays as it is written, byte for byte.
//
//   processes and devices   keep their number where no earlier trace has it, else get a free one; a
//                           device has the same new number wherever it is named
//   threads, streams        stay: they belong to a process or a device
//   ids                     of correlations, operations, arrows and Python frames are counted on
//   names of processes      say the rank, as their order does
//   times                   are those of the clocks of the machines, where all traces tell their
//   base
//                           (baseTimeNanoseconds) or none has one; else they stay, and a note says
//                           so
#ifndef ANALYZER_EXPORT_MERGE_H_
#define ANALYZER_EXPORT_MERGE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/export/output_file.h"

namespace tp {

// InvalidArgument names the file that is no trace. Gives what the user must know, a line each.
// Stops early when `out` fails, which out->Finish() then tells. `progress` is told now and then
// which part is done, up to 1; may be empty. `names`, of which there are as many as paths or none:
// what the files are called to people, who may not know the paths.
absl::StatusOr<std::vector<std::string>> MergeTraces(
    const std::vector<std::string>& paths, const std::function<void(double part)>& progress,
    OutputFile* out, const std::vector<std::string>& names = {});

}  // namespace tp

#endif  // ANALYZER_EXPORT_MERGE_H_

// Whether two recordings have the same summary, to the last digit.
#ifndef TESTS_GOLDEN_SAME_SUMMARY_H_
#define TESTS_GOLDEN_SAME_SUMMARY_H_

#include <string>

#include "analyzer/model/whole_recording.h"

namespace tp {

// Every table of the recording as text and as JSON, but for what an import says of its own file.
// Without processes, their numbers are left out too: an export has to make some up where the
// recording has none.
std::string AllTables(const WholeRecording& recording, bool with_processes);

// The surroundings of the first place where two texts differ; empty if they do not.
std::string FirstDifference(const std::string& actual, const std::string& expected);

}  // namespace tp

#endif  // TESTS_GOLDEN_SAME_SUMMARY_H_

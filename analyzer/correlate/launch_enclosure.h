// Which operation a call was made in, told by time: for recordings whose calls do not say it, made
// by tools that ran in the same process (section 9 of the summaries' specification). Exact, as
// calls and spans are of one thread and one clock.
#ifndef ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_
#define ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_

#include <vector>

#include "analyzer/model/recording.h"

namespace tp {

// Sets `operation` of each host call that was made while a span of its thread was open to the id of
// the innermost of them, the one visited last (correlate/nesting.h); leaves that of others as it
// was. A span is open from its start on and no longer at its end. O(n log n) in time.
void JoinCallsToSpans(const std::vector<Span>& spans, std::vector<DeviceActivity>* activities);

}  // namespace tp

#endif  // ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_

// Which span a host call was made in, told by time: for recordings whose calls do not say it
// themselves, made by tools that ran in the same process (section 9 of the summaries'
// specification). Exact, as calls and spans are of one thread and one clock.
#ifndef ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_
#define ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_

#include <vector>

#include "analyzer/model/recording.h"

namespace tp {

// Sets `operation` of each host call that was made while a span of its thread was open (start <=
// call < end) to the id of the innermost of them; leaves that of all others as it was. Innermost is
// the one that is visited last (correlate/nesting.h): the one that starts later, among equal starts
// the shorter one, then the later in the list. Asynchronous spans enclose nothing, nor do those
// without length. O(n log n), less where records are in order; fewer than 2^32 of each.
void JoinCallsToSpans(const std::vector<Span>& spans, std::vector<DeviceActivity>* activities);

}  // namespace tp

#endif  // ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_

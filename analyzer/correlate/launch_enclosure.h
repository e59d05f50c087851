// Which span a host call was made in, for sources whose calls do not say it themselves: the
// innermost span of the call's thread that is open at its start (start <= call < end). Innermost is
// the one that was opened last: of several the one that starts later, among equal starts the
// shorter one, then the later in the list. Asynchronous spans enclose nothing, nor do those without
// length.
//
//   std::vector<uint32_t> enclosing = EnclosingSpans(spans, activities);
//   if (enclosing[i] != kNotEnclosed) activities[i].operation = spans[enclosing[i]].id;
#ifndef ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_
#define ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/recording.h"

namespace tp {

inline constexpr uint32_t kNotEnclosed = ~uint32_t{0};

// For each of `activities` the place of its span in `spans`; kNotEnclosed for a call outside of
// all spans, and for all that is no host call. O(n log n), and less for what is in order. There are
// fewer than 2^32 of each.
std::vector<uint32_t> EnclosingSpans(std::span<const Span> spans,
                                     std::span<const DeviceActivity> activities);

}  // namespace tp

#endif  // ANALYZER_CORRELATE_LAUNCH_ENCLOSURE_H_

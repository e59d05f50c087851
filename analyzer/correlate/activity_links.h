// The join from device records to operations over a whole recording, record by record: what
// LaunchJoin does for sums, for those who show single records.
//
// A record's own word for its operation comes first, then that of the calls with its correlation
// id; where those name different operations the larger id, the one begun later, is the innermost.
// Correlation id 0 links nothing.
#ifndef ANALYZER_CORRELATE_ACTIVITY_LINKS_H_
#define ANALYZER_CORRELATE_ACTIVITY_LINKS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/recording.h"

namespace tp {

inline constexpr uint32_t kNoLaunch = ~uint32_t{0};

struct ActivityLink {
  uint64_t operation = kNoOperation;
  // The place of the call that issued it, the first of several; calls themselves have none.
  uint32_t launch = kNoLaunch;
};

// One for each of `activities`, of which there are fewer than 2^32.
std::vector<ActivityLink> LinkActivities(std::span<const DeviceActivity> activities);

}  // namespace tp

#endif  // ANALYZER_CORRELATE_ACTIVITY_LINKS_H_

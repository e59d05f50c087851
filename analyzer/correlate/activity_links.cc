#include "analyzer/correlate/activity_links.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace tp {

std::vector<ActivityLink> LinkActivities(std::span<const DeviceActivity> activities) {
  absl::flat_hash_map<uint64_t, ActivityLink> launches;
  for (uint32_t i = 0; i < activities.size(); ++i) {
    const DeviceActivity& call = activities[i];
    if (!IsHostCall(call.kind) || call.correlation == 0) continue;
    auto [launch, is_new] = launches.emplace(call.correlation, ActivityLink{call.operation, i});
    if (is_new || call.operation == kNoOperation) continue;
    uint64_t& operation = launch->second.operation;
    operation = operation == kNoOperation ? call.operation : std::max(operation, call.operation);
  }
  std::vector<ActivityLink> links(activities.size());
  for (size_t i = 0; i < activities.size(); ++i) {
    const DeviceActivity& activity = activities[i];
    links[i].operation = activity.operation;
    const auto launch = launches.find(activity.correlation);
    if (launch == launches.end()) continue;
    if (!IsHostCall(activity.kind)) links[i].launch = launch->second.launch;
    if (activity.operation == kNoOperation) links[i].operation = launch->second.operation;
  }
  return links;
}

}  // namespace tp

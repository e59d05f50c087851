#include "analyzer/serve/shown_operations.h"

#include <algorithm>

namespace tp {
namespace {

constexpr const char* kOther = "(other)";

}  // namespace

std::vector<ShownOperations::Row> ShownOperations::Update(const std::vector<Row>& operations) {
  std::map<Key, int64_t> now;
  int64_t rest_ns = 0;  // What belongs to none that is shown.
  for (const Row& row : operations) {
    if (row.name != kOther) now[{row.name, row.kind}] += row.self_device_ns;
    rest_ns += row.self_device_ns;
  }
  for (auto& [key, shown] : shown_) rest_ns -= now[key] - shown.told_elsewhere_ns;

  std::vector<std::pair<int64_t, Key>> ranking;
  for (const auto& [key, ns] : now) {
    if (ns > 0) ranking.emplace_back(-ns, key);
  }
  const size_t top = std::min(kTop, ranking.size());
  std::partial_sort(ranking.begin(), ranking.begin() + top, ranking.end());
  std::vector<Key> coming;
  for (size_t i = 0; i < top && shown_.size() + coming.size() < kMost; ++i) {
    if (shown_.count(ranking[i].second) == 0) coming.push_back(ranking[i].second);
  }
  for (const Key& key : coming) rest_ns -= now[key];
  for (const Key& key : coming) {
    const int64_t told_ns = std::clamp<int64_t>(other_ns_ - rest_ns, 0, now[key]);
    rest_ns += told_ns;
    shown_[key].told_elsewhere_ns = told_ns;
  }

  // A summary takes back what turns out to be impossible or another's: then the number waits.
  other_ns_ = std::max(other_ns_, rest_ns);
  std::vector<Row> rows;
  for (auto& [key, shown] : shown_) {
    shown.told_ns = std::max(shown.told_ns, now[key] - shown.told_elsewhere_ns);
    rows.push_back({key.first, key.second, shown.told_ns});
  }
  if (other_ns_ > 0) rows.push_back({kOther, "", other_ns_});
  return rows;
}

}  // namespace tp

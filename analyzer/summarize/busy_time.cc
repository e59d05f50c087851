#include "analyzer/summarize/busy_time.h"

#include <algorithm>
#include <iterator>

namespace tp {

void BusyTime::Add(int64_t start_ns, int64_t end_ns) {
  start_ns = std::max(start_ns, settled_until_ns_);
  if (end_ns <= start_ns) return;
  first_ns_ = std::min(first_ns_, start_ns);
  last_ns_ = std::max(last_ns_, end_ns);

  auto next = intervals_.end();
  if (!intervals_.empty() && start_ns < intervals_.rbegin()->first) {
    next = intervals_.upper_bound(start_ns);
  }
  if (next != intervals_.begin()) {
    auto before = std::prev(next);
    if (before->second >= start_ns) {
      if (before->second >= end_ns) return;
      if (next == intervals_.end()) {  // Work without a gap.
        kept_ns_ += end_ns - before->second;
        before->second = end_ns;
        return;
      }
      start_ns = before->first;
      kept_ns_ -= before->second - before->first;
      next = intervals_.erase(before);
    }
  }
  while (next != intervals_.end() && next->first <= end_ns) {
    end_ns = std::max(end_ns, next->second);
    kept_ns_ -= next->second - next->first;
    next = intervals_.erase(next);
  }
  intervals_.emplace_hint(next, start_ns, end_ns);
  kept_ns_ += end_ns - start_ns;

  if (intervals_.size() > limit_) {
    auto oldest = intervals_.begin();
    kept_ns_ -= oldest->second - oldest->first;
    settled_ns_ += oldest->second - oldest->first;
    settled_until_ns_ = oldest->second;
    intervals_.erase(oldest);
  }
}

void BusyTime::Add(const BusyTime& other) {
  if (other.empty()) return;
  for (const auto& [start_ns, end_ns] : other.intervals_) Add(start_ns, end_ns);
  settled_ns_ += other.settled_ns_;
  first_ns_ = std::min(first_ns_, other.first_ns_);
  last_ns_ = std::max(last_ns_, other.last_ns_);
}

int64_t BusyTime::total_ns() const {
  return empty() ? 0 : std::min(kept_ns_ + settled_ns_, last_ns_ - first_ns_);
}

}  // namespace tp

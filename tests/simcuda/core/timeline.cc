#include "tests/simcuda/core/timeline.h"

#include <algorithm>

namespace simcuda {

uint64_t SerialEngine::Reserve(uint64_t now_ns, uint64_t earliest_ns, uint64_t duration_ns) {
  while (!busy_.empty() && busy_.front().end_ns <= now_ns) busy_.pop_front();
  // The first interval that ends after `earliest_ns`; most requests go behind all others.
  auto next = busy_.end();
  while (next != busy_.begin() && std::prev(next)->end_ns > earliest_ns) --next;
  uint64_t start = earliest_ns;
  while (next != busy_.end() && next->start_ns < start + duration_ns) {
    start = std::max(start, next->end_ns);
    ++next;
  }
  uint64_t end = start + duration_ns;
  bool touches_previous = next != busy_.begin() && std::prev(next)->end_ns == start;
  bool touches_next = next != busy_.end() && next->start_ns == end;
  if (touches_previous && touches_next) {
    std::prev(next)->end_ns = next->end_ns;
    busy_.erase(next);
  } else if (touches_previous) {
    std::prev(next)->end_ns = end;
  } else if (touches_next) {
    next->start_ns = start;
  } else {
    busy_.insert(next, {start, end});
  }
  return start;
}

uint64_t ConcurrencyLimit::Reserve(uint64_t earliest_ns, uint64_t duration_ns) {
  while (!ends_.empty() && ends_.top() <= earliest_ns) ends_.pop();
  uint64_t start = earliest_ns;
  if (ends_.size() >= limit_) {
    start = ends_.top();
    ends_.pop();
  }
  ends_.push(start + duration_ns);
  return start;
}

}  // namespace simcuda

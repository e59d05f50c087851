#include "analyzer/summarize/memory_sums.h"

#include <algorithm>
#include <utility>

namespace tp {
namespace {

// Of numbers that no machine has: the rest of them share a group.
constexpr size_t kMostGroups = 4096;

}  // namespace

bool MemorySums::Later(const Waiting& left, const Waiting& right) {
  if (left.event.time_ns != right.event.time_ns) return left.event.time_ns > right.event.time_ns;
  return left.sequence > right.sequence;
}

void MemorySums::Add(const MemoryChange& event) {
  waiting_.push_back({event, added_++});
  std::push_heap(waiting_.begin(), waiting_.end(), Later);
  if (waiting_.size() <= kReordered) return;
  std::pop_heap(waiting_.begin(), waiting_.end(), Later);
  Apply(waiting_.back().event, &live_, nullptr, &groups_);
  waiting_.pop_back();
}

MemorySums::Groups MemorySums::Now() const {
  Groups groups = groups_;
  Allocations above;
  std::vector<Waiting> waiting = waiting_;
  std::sort(waiting.begin(), waiting.end(),
            [](const Waiting& left, const Waiting& right) { return Later(right, left); });
  for (const Waiting& next : waiting) Apply(next.event, &above, &live_, &groups);
  return groups;
}

void MemorySums::Apply(const MemoryChange& event, Allocations* live, const Allocations* below,
                       Groups* groups) const {
  const auto sums_of = [groups](Key key) -> Sums& {
    if (groups->size() >= kMostGroups && !groups->contains(key)) key = {};
    return (*groups)[key];
  };
  const auto find = [&]() -> const Allocation* {
    const Allocation* found = nullptr;
    if (const auto own = live->find(event.address); own != live->end()) {
      found = &own->second;
    } else if (below != nullptr) {
      if (const auto other = below->find(event.address); other != below->end()) {
        found = &other->second;
      }
    }
    return found != nullptr && found->is_live ? found : nullptr;
  };
  const auto end = [&](const Allocation& allocation) {
    sums_of(allocation.key).live_bytes -= allocation.bytes;
    if (below != nullptr) {
      (*live)[event.address].is_live = false;
    } else {
      live->erase(event.address);
    }
  };

  const bool is_pool = event.operation == MemoryOperation::kPoolCreation ||
                       event.operation == MemoryOperation::kPoolDestruction ||
                       event.operation == MemoryOperation::kPoolTrim;
  Key key = {event.kind, event.device, event.from_pool, is_pool};
  switch (event.operation) {
    case MemoryOperation::kAllocation: {
      // The release of what was there before was not seen.
      if (const Allocation* before = find()) end(Allocation(*before));
      Sums& sums = sums_of(key);
      ++sums.allocations;
      sums.allocated_bytes += event.bytes;
      if (live->size() >= limit_) return;  // Its release will be an unknown one.
      (*live)[event.address] = {key, event.bytes};
      sums.live_bytes += event.bytes;
      sums.peak_bytes = std::max(sums.peak_bytes, sums.live_bytes);
      return;
    }
    case MemoryOperation::kRelease:
      if (const Allocation* allocation = find()) {
        ++sums_of(allocation->key).releases;
        end(Allocation(*allocation));
      } else {
        Sums& sums = sums_of(key);
        ++sums.releases;
        ++sums.unknown_releases;
      }
      return;
    case MemoryOperation::kPoolCreation:
      ++sums_of(key).allocations;
      return;
    case MemoryOperation::kPoolDestruction:
      ++sums_of(key).releases;
      return;
    default:
      return;
  }
}

size_t MemorySums::memory_bytes() const {
  return live_.capacity() * (sizeof(std::pair<const uint64_t, Allocation>) + 1) +
         groups_.size() * (sizeof(std::pair<const Key, Sums>) + 4 * sizeof(void*)) +
         waiting_.capacity() * sizeof(Waiting);
}

}  // namespace tp

// Records by key: what is known of each key, in the order in which the keys were first seen, with a
// bound on how many there are.
#ifndef ANALYZER_SUMMARIZE_GROUPS_H_
#define ANALYZER_SUMMARIZE_GROUPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tp {

// How often and how long, in ns.
struct Durations {
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = INT64_MAX;
  int64_t max_ns = INT64_MIN;

  void Add(int64_t duration_ns) {
    ++count;
    total_ns += duration_ns;
    min_ns = std::min(min_ns, duration_ns);
    max_ns = std::max(max_ns, duration_ns);
  }
  void Add(const Durations& other) {
    count += other.count;
    total_ns += other.total_ns;
    min_ns = std::min(min_ns, other.min_ns);
    max_ns = std::max(max_ns, other.max_ns);
  }
};

// `Key` is hashable by absl. Group 0 is the one for all keys beyond the limit; it is no key's own.
template <typename Key, typename Group>
class Groups {
 public:
  struct Entry {
    Key key{};
    Group group{};
  };
  static constexpr uint32_t kOther = 0;

  explicit Groups(size_t limit) : limit_(limit), entries_(1) {}

  uint32_t Index(const Key& key) {
    if (last_ != kOther && entries_[last_].key == key) return last_;
    if (auto found = index_.find(key); found != index_.end()) return last_ = found->second;
    if (index_.size() >= limit_) return kOther;
    last_ = static_cast<uint32_t>(entries_.size());
    index_.emplace(key, last_);
    entries_.push_back({key, Group{}});
    return last_;
  }
  Group& At(const Key& key) { return entries_[Index(key)].group; }
  Group& operator[](uint32_t index) { return entries_[index].group; }
  const Group& operator[](uint32_t index) const { return entries_[index].group; }

  const std::vector<Entry>& entries() const { return entries_; }
  size_t memory_bytes() const {
    return entries_.capacity() * sizeof(Entry) +
           index_.capacity() * (sizeof(std::pair<const Key, uint32_t>) + 1);
  }

 private:
  size_t limit_;
  std::vector<Entry> entries_;
  absl::flat_hash_map<Key, uint32_t> index_;
  uint32_t last_ = kOther;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_GROUPS_H_

// A hash map of bounded size that forgets the oldest half of its entries at once when it is full:
// for what is soon used or never.
#ifndef ANALYZER_CORRELATE_TWO_GENERATIONS_H_
#define ANALYZER_CORRELATE_TWO_GENERATIONS_H_

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace tp {

template <typename Key, typename Value>
class TwoGenerations {
 public:
  // Keeps at least the last limit / 2 entries, at most `limit`.
  explicit TwoGenerations(size_t limit) : half_(limit > 2 ? limit / 2 : 1) {}

  Value* Find(const Key& key) {
    if (auto found = young_.find(key); found != young_.end()) return &found->second;
    if (old_.empty()) return nullptr;
    auto found = old_.find(key);
    return found == old_.end() ? nullptr : &found->second;
  }

  // The entry, new and empty if it was not there. `forgotten` is called with the map of those that
  // are let go, if any. The reference is good until the next call.
  template <typename Forgotten>
  Value& At(const Key& key, Forgotten&& forgotten) {
    if (!old_.empty()) {
      if (auto found = old_.find(key); found != old_.end()) return found->second;
    }
    if (young_.size() >= half_) {
      auto known = young_.find(key);
      if (known != young_.end()) return known->second;
      if (!old_.empty()) forgotten(old_);
      old_ = std::move(young_);
      young_.clear();
      young_.reserve(half_);
    }
    return young_[key];
  }

  // The same, and the entry counts as new: it is let go after those that are here now.
  template <typename Forgotten>
  Value& Renew(const Key& key, Forgotten&& forgotten) {
    auto found = old_.find(key);
    if (found == old_.end()) return At(key, forgotten);
    Value value = std::move(found->second);
    old_.erase(found);
    Value& renewed = At(key, forgotten);
    renewed = std::move(value);
    return renewed;
  }

  // Calls `visit(Value&)` for each entry, in no order.
  template <typename Visit>
  void VisitAll(Visit&& visit) {
    for (auto* generation : {&old_, &young_}) {
      for (auto& [key, value] : *generation) visit(value);
    }
  }

  void Erase(const Key& key) {
    if (young_.erase(key) == 0) old_.erase(key);
  }

  size_t size() const { return young_.size() + old_.size(); }
  size_t memory_bytes() const {
    return (young_.capacity() + old_.capacity()) * (sizeof(std::pair<const Key, Value>) + 1);
  }

 private:
  size_t half_;
  absl::flat_hash_map<Key, Value> young_;
  absl::flat_hash_map<Key, Value> old_;
};

}  // namespace tp

#endif  // ANALYZER_CORRELATE_TWO_GENERATIONS_H_

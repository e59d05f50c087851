// A hash map by id, of bounded size, that forgets the oldest half of its entries at once when it is
// full: for what is soon used or never.
#ifndef ANALYZER_CORRELATE_TWO_GENERATIONS_H_
#define ANALYZER_CORRELATE_TWO_GENERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analyzer/correlate/hash_of_id.h"

namespace tp {

template <typename Value>
class TwoGenerations {
 public:
  // Keeps at least the last limit / 2 entries, at most `limit`.
  explicit TwoGenerations(size_t limit) : half_(limit > 2 ? limit / 2 : 1) {}

  Value* Find(uint64_t id) {
    if (last_ != nullptr && last_id_ == id) return last_;
    for (Map* generation : {&young_, &old_}) {
      if (generation->empty()) continue;
      if (auto found = generation->find(id); found != generation->end()) {
        return Remember(id, &found->second);
      }
    }
    return nullptr;
  }

  // The entry, new and empty if it was not there. `forgotten` is called with the map of those that
  // are let go, if any. The reference is good until the next call.
  template <typename Forgotten>
  Value& At(uint64_t id, Forgotten&& forgotten) {
    if (Value* known = Find(id)) return *known;
    if (young_.size() >= half_) {
      if (!old_.empty()) forgotten(old_);
      old_ = std::move(young_);
      young_.clear();
      young_.reserve(half_);
    }
    return *Remember(id, &young_[id]);
  }

  // The same, and the entry counts as new: it is let go after those that are here now.
  template <typename Forgotten>
  Value& Renew(uint64_t id, Forgotten&& forgotten) {
    auto found = old_.find(id);
    if (found == old_.end()) return At(id, forgotten);
    Value value = std::move(found->second);
    last_ = nullptr;
    old_.erase(found);
    Value& renewed = At(id, forgotten);
    renewed = std::move(value);
    return renewed;
  }

  // Calls `visit(Value&)` for each entry, in no order.
  template <typename Visit>
  void VisitAll(Visit&& visit) {
    for (auto* generation : {&old_, &young_}) {
      for (auto& [id, value] : *generation) visit(value);
    }
  }

  void Erase(uint64_t id) {
    last_ = nullptr;
    if (young_.erase(id) == 0) old_.erase(id);
  }

  size_t size() const { return young_.size() + old_.size(); }
  size_t memory_bytes() const {
    return (young_.capacity() + old_.capacity()) * (sizeof(std::pair<const uint64_t, Value>) + 1);
  }

 private:
  using Map = absl::flat_hash_map<uint64_t, Value, HashOfId>;

  Value* Remember(uint64_t id, Value* value) {
    last_id_ = id;
    return last_ = value;
  }

  size_t half_;
  Map young_;
  Map old_;
  // What was asked for last: mostly it is asked for again.
  uint64_t last_id_ = 0;
  Value* last_ = nullptr;
};

}  // namespace tp

#endif  // ANALYZER_CORRELATE_TWO_GENERATIONS_H_

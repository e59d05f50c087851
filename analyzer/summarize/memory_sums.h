// How much memory of each kind a process allocated and freed, has now, and had at most.
//
// What is live and what was the most depends on the order of events: those that come out of order
// (threads' buffers are read one after the other) are put into order by their time, as far as the
// latest `kReordered` reach back.
#ifndef ANALYZER_SUMMARIZE_MEMORY_SUMS_H_
#define ANALYZER_SUMMARIZE_MEMORY_SUMS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/model/recording.h"

namespace tp {

class MemorySums {
 public:
  // Memory of one kind on one device; or pools themselves.
  struct Key {
    uint32_t kind = 0;
    uint32_t device = 0;
    bool from_pool = false;
    bool is_pool = false;
    auto operator<=>(const Key&) const = default;
  };
  struct Sums {
    int64_t allocations = 0;
    int64_t releases = 0;
    int64_t unknown_releases = 0;  // Of what was allocated before capturing began, or not seen.
    uint64_t allocated_bytes = 0;
    uint64_t live_bytes = 0;
    uint64_t peak_bytes = 0;
  };
  using Groups = std::map<Key, Sums>;

  static constexpr size_t kReordered = 4096;

  // Knows the size and kind of at most `limit` allocations at a time; the release of another is an
  // unknown one.
  explicit MemorySums(size_t limit) : limit_(limit) {}

  void Add(const MemoryChange& event);
  // Over all that was added.
  Groups Now() const;
  size_t memory_bytes() const;

 private:
  struct Allocation {
    Key key;
    uint64_t bytes = 0;
    bool is_live = true;  // In a layer above another: false hides the one below.
  };
  using Allocations = absl::flat_hash_map<uint64_t, Allocation>;
  struct Waiting {
    MemoryChange event;
    uint64_t sequence;
  };
  static bool Later(const Waiting& left, const Waiting& right);
  // `below` is looked at where `live` says nothing; null: there is none.
  void Apply(const MemoryChange& event, Allocations* live, const Allocations* below,
             Groups* groups) const;

  size_t limit_;
  Allocations live_;
  Groups groups_;
  std::vector<Waiting> waiting_;  // A heap: the earliest first.
  uint64_t added_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_MEMORY_SUMS_H_

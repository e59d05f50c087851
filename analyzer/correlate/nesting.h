// Which span is inside which: the forest of the spans of each thread, kept right while spans come
// in any order.
//
// The rule (D2): visit the spans of a thread by start, among equal starts the longer first, then by
// id. The parent of a span is the last one visited before it that contains it whole and has not
// ended when it starts. It follows that
//   - this order is the preorder of the forest: the descendants of a span stand right behind it;
//   - of two siblings the later one also ends later, so the time that siblings cover together is
//   the sum of their durations less the
//     overlap of each with the one before it.
// Inserting is therefore local: the predecessor's ancestors hold the parent, the next subtrees the
// children to adopt. It costs O(log spans), the children adopted, and a walk up that is short for
// spans in order of start or of end.
//
// Times in ns. A span that is still open ends at INT64_MAX and so contains all that starts later.
// Spans are named by slot; the owner may keep arrays of its own by slot. Not thread-safe.
#ifndef ANALYZER_CORRELATE_NESTING_H_
#define ANALYZER_CORRELATE_NESTING_H_

#include <cstdint>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "analyzer/correlate/slots.h"

namespace tp {

using SpanSlot = uint32_t;
inline constexpr SpanSlot kNoSpan = ~SpanSlot{0};

class Nesting {
 public:
  static constexpr int64_t kOpen = INT64_MAX;

  // Told of every change. Must not change the nesting from within.
  class Observer {
   public:
    // The time that ended children of `parent` cover changed by `delta_ns`; covered_ns() is already
    // the new value.
    virtual void CoveredTimeChanged(SpanSlot parent, int64_t delta_ns) = 0;
    virtual void Leaving(SpanSlot child, SpanSlot parent) = 0;
    virtual void Joined(SpanSlot child, SpanSlot parent) = 0;

   protected:
    ~Observer() = default;
  };

  // `observer` outlives the nesting.
  explicit Nesting(Observer* observer) : observer_(observer) {}
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

  // Gives the slot of the new span: next_slot() before the call. An asynchronous span has no
  // thread.
  SpanSlot Insert(int64_t thread, uint64_t id, int64_t start_ns, int64_t end_ns);
  SpanSlot InsertAsynchronous(uint64_t id, int64_t start_ns, int64_t end_ns);
  // Ends an open span: end_ns >= start_ns.
  void Close(SpanSlot span, int64_t end_ns);
  // Takes a span out whose time has passed: its children become its parent's, what it covered stays
  // covered.
  void LetGo(SpanSlot span);

  int64_t start_ns(SpanSlot span) const { return nodes_[span].start_ns; }
  int64_t end_ns(SpanSlot span) const { return nodes_[span].end_ns; }
  uint64_t id(SpanSlot span) const { return nodes_[span].id; }
  bool is_open(SpanSlot span) const { return nodes_[span].end_ns == kOpen; }
  SpanSlot parent(SpanSlot span) const { return nodes_[span].parent; }
  bool asynchronous(SpanSlot span) const { return nodes_[span].thread == kNoThread; }
  int64_t thread(SpanSlot span) const;
  // Time that its direct, ended children cover.
  int64_t covered_ns(SpanSlot span) const { return nodes_[span].covered_ns; }
  // What an open span takes from its open parent if both are looked at at `now_ns`.
  int64_t CoveredByOpen(SpanSlot child, int64_t now_ns) const;
  // The direct children of a span, in order. O(log spans + children).
  std::vector<SpanSlot> Children(SpanSlot span) const;
  // Calls `visit` for each span but the asynchronous ones, the reverse of Before().
  template <typename Visit>
  void VisitLatestFirst(Visit visit) const {
    for (auto thread = threads_.rbegin(); thread != threads_.rend(); ++thread) {
      const Order& order = thread->order;
      for (auto span = order.rbegin(); span != order.rend(); ++span) visit(*span);
    }
  }
  // True if `a` is visited before `b`: ancestors before descendants.
  bool Before(SpanSlot a, SpanSlot b) const;

  SpanSlot next_slot() const { return free_.empty() ? reached_ : free_.back(); }
  size_t size() const { return size_; }
  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kNoThread = 0x7FFFFFFF;

  struct Node {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    uint64_t id = 0;
    int64_t covered_ns = 0;
    uint32_t thread : 31 = kNoThread;
    uint32_t covered_already : 1 = 0;  // By a span between it and its parent that was let go.
    SpanSlot parent = kNoSpan;
    SpanSlot previous_sibling = kNoSpan;
    SpanSlot next_sibling = kNoSpan;
  };

  struct VisitedBefore {
    const Nesting* nesting;
    bool operator()(SpanSlot a, SpanSlot b) const { return nesting->VisitedFirst(a, b); }
  };
  using Order = absl::btree_set<SpanSlot, VisitedBefore>;
  struct Thread {
    int64_t id;
    Order order;
  };

  bool VisitedFirst(SpanSlot a, SpanSlot b) const;
  bool Contains(const Node& outer, const Node& inner) const {
    return outer.end_ns >= inner.end_ns && outer.end_ns > inner.start_ns;
  }
  bool IsCounted(SpanSlot span) const;
  int64_t CountedTime(SpanSlot span) const;
  int64_t Overlap(SpanSlot earlier, SpanSlot later) const;
  SpanSlot TakeSlot();
  uint32_t ThreadIndex(int64_t thread);
  SpanSlot AfterSubtree(SpanSlot span) const;
  void Place(SpanSlot span);
  // Gives `span`, behind which nothing is placed yet but its own descendants, its place.
  void PlaceLast(SpanSlot span);
  void Attach(SpanSlot span, SpanSlot parent, SpanSlot previous, SpanSlot next);
  void Detach(SpanSlot span);
  void Cover(SpanSlot parent, int64_t delta_ns);
  struct Container {
    SpanSlot span;   // kNoSpan: nothing contains it.
    SpanSlot below;  // The child of `span` that was passed on the way up, if any.
  };
  // The innermost of `span` and its ancestors that contains `inner`.
  Container ContainerFrom(SpanSlot span, const Node& inner) const;
  SpanSlot FirstChild(SpanSlot span) const;
  SpanSlot LastChildOfOpen(SpanSlot first_child, SpanSlot last_descendant) const;
  SpanSlot Predecessor(SpanSlot span) const;

  Observer* observer_;
  Slots<Node> nodes_;
  SpanSlot reached_ = 0;  // Slots that were ever in use.
  std::vector<SpanSlot> free_;
  size_t size_ = 0;
  std::vector<Thread> threads_;
  absl::flat_hash_map<int64_t, uint32_t> thread_index_;
  std::vector<SpanSlot> adopted_;  // Scratch.
};

}  // namespace tp

#endif  // ANALYZER_CORRELATE_NESTING_H_

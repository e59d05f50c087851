// The numbers of spans and of their groups: nesting, self times, device work and output bytes, kept
// right with every span and every piece of device work that comes.
//
// A span's group holds the sums over its ended calls. What a span adds to the spans around it moves
// up lazily: each span knows how much of its inclusive sums its parent does not have yet, and
// MoveUp(), before the sums are read, carries it from the latest span to the earliest, one step
// each. So device work costs the same however deep its operation lies.
#ifndef ANALYZER_SUMMARIZE_SPAN_SUMS_H_
#define ANALYZER_SUMMARIZE_SPAN_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "analyzer/correlate/launch_join.h"
#include "analyzer/correlate/nesting.h"
#include "analyzer/correlate/two_generations.h"
#include "analyzer/model/recording.h"
#include "analyzer/summarize/groups.h"

namespace tp {

struct SpanGroupKey {
  StringId name = 0;
  StringId shapes = 0;
  StringId stack = 0;
  SpanKind kind = SpanKind::kOperation;
  bool asynchronous = false;

  bool operator==(const SpanGroupKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const SpanGroupKey& key) {
    return H::combine(std::move(h), key.name, key.shapes, key.stack, key.kind, key.asynchronous);
  }
};

// Sums over the ended calls with one key; spans without length are none.
struct SpanGroup {
  Durations calls;
  int64_t self_cpu_ns = 0;
  int64_t device_total_ns = 0;
  int64_t self_device_ns = 0;
  int64_t kernels = 0;
  int64_t flops = 0;
  int64_t output_bytes = 0;
  int64_t nested_output_bytes = 0;
  uint64_t first_seen = UINT64_MAX;  // Place of its first call among all spans.
};

// The numbers of one span.
struct SpanNumbers {
  int64_t self_device_ns = 0;
  int64_t device_total_ns = 0;
  int64_t kernels = 0;
  int64_t flops = 0;
  int64_t output_bytes = 0;
  int64_t nested_output_bytes = 0;
};

class SpanSums final : Nesting::Observer {
 public:
  SpanSums(size_t span_limit, size_t group_limit);

  // False: the end lies before the start; the span is kept, as one without length.
  bool Add(const Span& span);
  bool Close(uint64_t id, int64_t end_ns);
  bool Has(uint64_t id) const { return Find(id) != kNoSpan; }
  // Work that belongs to `operation` from now on, also if that span is still to come.
  void AddWork(uint64_t operation, const DeviceWork& work);
  // Carries all that waits up to the spans around. To be called before sums are read.
  void MoveUp();

  // As of the last MoveUp().
  const Groups<SpanGroupKey, SpanGroup>& groups() const { return groups_; }
  const Nesting& nesting() const { return nesting_; }
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  // kNoGroup if no span with this id is kept.
  uint32_t GroupOfOperation(uint64_t id) const {
    const SpanSlot span = Find(id);
    return span == kNoSpan ? kNoGroup : group(span);
  }
  uint32_t group(SpanSlot span) const { return spans_[span].group; }
  SpanNumbers Numbers(SpanSlot span) const;
  // Place of the span among all that were added.
  uint64_t Sequence(SpanSlot span) const;
  // The spans that are kept, in the order in which they came; those that have not ended as if they
  // ended now.
  struct KeptSpan {
    SpanSlot span;
    bool is_open;
    int64_t duration_ns;
    int64_t self_cpu_ns;
  };
  std::vector<KeptSpan> Kept(int64_t now_ns) const;

  struct OpenSpan {
    SpanSlot span;
    int64_t duration_ns;
    int64_t self_cpu_ns;
  };
  // Those that have not ended, as if they ended now; in the order in which they came.
  std::vector<OpenSpan> Open(int64_t now_ns) const;

  uint64_t added() const { return added_; }

  // Device records that belong to a span.
  int64_t attributed_records() const { return attributed_records_; }
  int64_t attributed_ns() const { return attributed_ns_; }
  // Records that name a span that is not known, when spans with larger ids have already been let
  // go; spans that found no room.
  uint64_t too_late() const { return too_late_; }
  size_t memory_bytes() const;

 private:
  enum Flag : uint32_t {
    kInAverages = 1,       // Ended, and not without length.
    kHasBytes = 2,         // Has an entry in bytes_.
    kGivenDeviceTime = 4,  // The inclusive device time is the source's word.
    kDirty = 8,            // In dirty_.
  };
  struct SpanState {
    int64_t self_device_ns = 0;
    int64_t device_total_ns = 0;
    int64_t device_waiting_ns = 0;  // The part of the total that the parent does not have yet.
    uint32_t group : 28 = 0;
    uint32_t flags : 4 = 0;
    int32_t kernels = 0;
    uint32_t sequence = 0;  // Modulo 2^32.
  };
  // What few spans have.
  struct Bytes {
    int64_t flops = 0;
    int64_t output = 0;
    int64_t nested = 0;
    int64_t waiting = 0;
  };
  struct HashOfId {
    using is_transparent = void;
    const Nesting* nesting;
    size_t operator()(uint64_t id) const { return absl::Hash<uint64_t>()(id); }
    size_t operator()(SpanSlot span) const { return (*this)(nesting->id(span)); }
  };
  struct EqualId {
    using is_transparent = void;
    const Nesting* nesting;
    bool operator()(SpanSlot a, SpanSlot b) const { return nesting->id(a) == nesting->id(b); }
    bool operator()(SpanSlot a, uint64_t id) const { return nesting->id(a) == id; }
    bool operator()(uint64_t id, SpanSlot a) const { return nesting->id(a) == id; }
  };

  void CoveredTimeChanged(SpanSlot parent, int64_t delta_ns) override;
  void Leaving(SpanSlot child, SpanSlot parent) override;
  void Joined(SpanSlot child, SpanSlot parent) override;

  SpanSlot Find(uint64_t id) const;
  SpanGroup* GroupOf(SpanSlot span);  // Null for spans that are in no average.
  void EnterAverages(SpanSlot span, int64_t duration_ns, bool asynchronous, int64_t covered_ns);
  // An asynchronous span has none: its time is not its thread's, which others on it take up.
  int64_t SelfCpu(SpanSlot span, int64_t duration_ns, int64_t covered_ns) const;
  void AddOwnWork(SpanSlot span, const DeviceWork& work);
  void AddDeviceTotal(SpanSlot span, int64_t delta_ns);
  void AddNestedBytes(SpanSlot span, int64_t delta);
  void MarkDirty(SpanSlot span);
  void CarryUp(SpanSlot span);
  // False if there is nothing to let go.
  bool LetGoOldest();

  size_t span_limit_;
  Nesting nesting_;
  Slots<SpanState> spans_;
  absl::flat_hash_map<SpanSlot, Bytes> bytes_;
  Groups<SpanGroupKey, SpanGroup> groups_;
  absl::flat_hash_set<SpanSlot, HashOfId, EqualId> by_id_;
  absl::flat_hash_set<SpanSlot> open_;
  std::deque<SpanSlot> ended_;  // Oldest first: the order in which spans are let go.
  std::vector<SpanSlot> dirty_;
  TwoGenerations<uint64_t, DeviceWork> work_before_span_;
  TwoGenerations<uint64_t, int64_t> end_before_span_;
  uint64_t added_ = 0;
  uint64_t largest_let_go_ = 0;
  bool any_let_go_ = false;
  int64_t attributed_records_ = 0;
  int64_t attributed_ns_ = 0;
  uint64_t too_late_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_SPAN_SUMS_H_

// The work of graphs' nodes by the operation that they were captured (or made) in. The work itself
// belongs to the operation that launched the graph; this is kept beside it.
//
// Nodes and their work may come in any order. A graph's copies (an executable graph is one) have
// nodes of their own, whose originals tell where they come from.
#ifndef ANALYZER_SUMMARIZE_CAPTURED_WORK_H_
#define ANALYZER_SUMMARIZE_CAPTURED_WORK_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "analyzer/correlate/launch_join.h"
#include "analyzer/correlate/two_generations.h"
#include "analyzer/model/recording.h"
#include "analyzer/summarize/span_sums.h"

namespace tp {

class CapturedWork {
 public:
  // `spans` outlives it. Follows at most `limit` nodes; of those let go the sums stay.
  CapturedWork(const SpanSums* spans, size_t limit) : spans_(spans), nodes_(limit) {}

  void AddNode(const GraphNode& node);
  // Of the node with this id; may be negative: it turns out not to be any.
  void AddWork(uint64_t node, const DeviceWork& work);

  // The sums by the group of the operation, for those whose operation is known.
  absl::flat_hash_map<uint32_t, DeviceWork> ByGroup();
  size_t memory_bytes() const { return nodes_.memory_bytes(); }

 private:
  static constexpr uint32_t kUnknown = SpanSums::kNoGroup;
  struct Node {
    uint64_t operation = kNoOperation;
    uint64_t original = 0;
    DeviceWork work;
    // What is let go before the node is, as it was when it was there last: the group of its own
    // operation, and the one that its originals led to.
    uint32_t own_group = kUnknown;
    uint32_t origins_group = kUnknown;
  };

  Node& At(uint64_t id);
  uint32_t OwnGroup(Node& node);
  uint32_t GroupOf(Node& node);
  void Fold(Node& node, absl::flat_hash_map<uint32_t, DeviceWork>* sums);

  const SpanSums* spans_;
  TwoGenerations<Node> nodes_;
  absl::flat_hash_map<uint32_t, DeviceWork> let_go_;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_CAPTURED_WORK_H_

#include "analyzer/summarize/captured_work.h"

namespace tp {
namespace {

// Copies of copies; also ends circles, which only a broken source makes.
constexpr int kMostCopies = 16;

}  // namespace

CapturedWork::Node& CapturedWork::At(uint64_t id) {
  return nodes_.At(id, [this](auto& forgotten) {
    for (auto& [node_id, node] : forgotten) Fold(node, &let_go_);
  });
}

uint32_t CapturedWork::GroupOf(Node& node) {
  Node* origin = &node;
  for (int i = 0; i < kMostCopies; ++i) {
    if (origin->group != kUnknown) return node.group = origin->group;
    if (origin->original == 0) {
      if (origin->operation == kNoOperation) return kUnknown;
      return node.group = origin->group = spans_->GroupOfOperation(origin->operation);
    }
    origin = nodes_.Find(origin->original);
    if (origin == nullptr) return kUnknown;
  }
  return kUnknown;
}

void CapturedWork::Fold(Node& node, absl::flat_hash_map<uint32_t, DeviceWork>* sums) {
  if (node.work.records == 0) return;
  if (const uint32_t group = GroupOf(node); group != kUnknown) (*sums)[group] += node.work;
}

void CapturedWork::AddNode(const GraphNode& made) {
  if (made.id == 0) return;
  Node& node = At(made.id);
  if (made.original != 0 && made.original != made.id) {
    // The copy was made in an operation as well: that one only instantiated the graph.
    node.original = made.original;
    node.group = kUnknown;
  } else {
    node.operation = made.operation;
  }
  GroupOf(node);
}

void CapturedWork::AddWork(uint64_t id, const DeviceWork& work) {
  Node& node = At(id);
  node.work += work;
  if (node.group == kUnknown) GroupOf(node);
}

absl::flat_hash_map<uint32_t, DeviceWork> CapturedWork::ByGroup() {
  absl::flat_hash_map<uint32_t, DeviceWork> sums = let_go_;
  nodes_.VisitAll([&](Node& node) { Fold(node, &sums); });
  return sums;
}

}  // namespace tp

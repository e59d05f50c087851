#include "analyzer/summarize/captured_work.h"

namespace tp {
namespace {

// Copies of copies; also ends circles, which only a broken source makes.
constexpr int kMostCopies = 16;

}  // namespace

CapturedWork::Node& CapturedWork::At(uint64_t id) {
  // Graphs that are launched stay, those that are made and forgotten go.
  return nodes_.Renew(id, [this](auto& forgotten) {
    for (auto& [node_id, node] : forgotten) Fold(node, &let_go_);
  });
}

uint32_t CapturedWork::OwnGroup(Node& node) {
  if (node.own_group == kUnknown && node.operation != kNoOperation) {
    node.own_group = spans_->GroupOfOperation(node.operation);
  }
  return node.own_group;
}

uint32_t CapturedWork::GroupOf(Node& node) {
  if (node.original == 0) return OwnGroup(node);
  Node* origin = &node;
  for (int i = 0; i < kMostCopies && origin->original != 0; ++i) {
    Node* const before = nodes_.Find(origin->original);
    // Let go; or, as all else may, it comes later.
    if (before == nullptr) return origin->origins_group;
    origin = before;
  }
  if (origin->original != 0) return kUnknown;
  return node.origins_group = OwnGroup(*origin);
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
  } else {
    node.operation = made.operation;
  }
  GroupOf(node);
}

void CapturedWork::AddWork(uint64_t id, const DeviceWork& work) {
  Node& node = At(id);
  node.work += work;
  GroupOf(node);
}

absl::flat_hash_map<uint32_t, DeviceWork> CapturedWork::ByGroup() {
  absl::flat_hash_map<uint32_t, DeviceWork> sums = let_go_;
  nodes_.VisitAll([&](Node& node) { Fold(node, &sums); });
  return sums;
}

}  // namespace tp

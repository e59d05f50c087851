#include "analyzer/correlate/nesting.h"

#include <algorithm>
#include <iterator>

namespace tp {

bool Nesting::VisitedFirst(SpanSlot a, SpanSlot b) const {
  const Node& one = nodes_[a];
  const Node& other = nodes_[b];
  if (one.start_ns != other.start_ns) return one.start_ns < other.start_ns;
  if (one.end_ns != other.end_ns) return one.end_ns > other.end_ns;
  if (one.id != other.id) return one.id < other.id;
  return a < b;
}

bool Nesting::Before(SpanSlot a, SpanSlot b) const {
  uint32_t one = nodes_[a].thread, other = nodes_[b].thread;
  return one != other ? one < other : VisitedFirst(a, b);
}

int64_t Nesting::thread(SpanSlot span) const {
  return asynchronous(span) ? 0 : threads_[nodes_[span].thread].id;
}

SpanSlot Nesting::TakeSlot() {
  ++size_;
  if (!free_.empty()) {
    SpanSlot slot = free_.back();
    free_.pop_back();
    nodes_[slot] = Node();
    return slot;
  }
  nodes_.Reach(reached_);
  return reached_++;
}

uint32_t Nesting::ThreadIndex(int64_t thread) {
  auto [found, is_new] = thread_index_.emplace(thread, threads_.size());
  if (is_new) threads_.push_back({thread, Order(VisitedBefore{this})});
  return found->second;
}

SpanSlot Nesting::Insert(int64_t thread, uint64_t id, int64_t start_ns, int64_t end_ns) {
  SpanSlot span = TakeSlot();
  Node& node = nodes_[span];
  node.start_ns = start_ns;
  node.end_ns = end_ns;
  node.id = id;
  node.thread = ThreadIndex(thread);
  Place(span);
  return span;
}

SpanSlot Nesting::InsertAsynchronous(uint64_t id, int64_t start_ns, int64_t end_ns) {
  SpanSlot span = TakeSlot();
  Node& node = nodes_[span];
  node.start_ns = start_ns;
  node.end_ns = end_ns;
  node.id = id;
  return span;
}

bool Nesting::IsCounted(SpanSlot span) const {
  return !is_open(span) && !nodes_[span].covered_already;
}

int64_t Nesting::CountedTime(SpanSlot span) const {
  return IsCounted(span) ? nodes_[span].end_ns - nodes_[span].start_ns : 0;
}

int64_t Nesting::Overlap(SpanSlot earlier, SpanSlot later) const {
  if (earlier == kNoSpan || later == kNoSpan || !IsCounted(earlier) || !IsCounted(later)) return 0;
  return std::max<int64_t>(0, nodes_[earlier].end_ns - nodes_[later].start_ns);
}

int64_t Nesting::CoveredByOpen(SpanSlot child, int64_t now_ns) const {
  const Node& node = nodes_[child];
  int64_t start_ns = node.start_ns;
  if (node.previous_sibling != kNoSpan && IsCounted(node.previous_sibling)) {
    start_ns = std::max(start_ns, nodes_[node.previous_sibling].end_ns);
  }
  return std::max<int64_t>(0, now_ns - start_ns);
}

void Nesting::Cover(SpanSlot parent, int64_t delta_ns) {
  if (parent == kNoSpan || delta_ns == 0) return;
  nodes_[parent].covered_ns += delta_ns;
  observer_->CoveredTimeChanged(parent, delta_ns);
}

void Nesting::Attach(SpanSlot span, SpanSlot parent, SpanSlot previous, SpanSlot next) {
  Node& node = nodes_[span];
  node.parent = parent;
  node.previous_sibling = previous;
  node.next_sibling = next;
  node.covered_already = 0;
  if (previous != kNoSpan) nodes_[previous].next_sibling = span;
  if (next != kNoSpan) nodes_[next].previous_sibling = span;
  if (parent == kNoSpan) return;
  Cover(parent, CountedTime(span) - Overlap(previous, span) - Overlap(span, next) +
                    Overlap(previous, next));
  observer_->Joined(span, parent);
}

void Nesting::Detach(SpanSlot span) {
  Node& node = nodes_[span];
  SpanSlot parent = node.parent, previous = node.previous_sibling, next = node.next_sibling;
  if (parent != kNoSpan) observer_->Leaving(span, parent);
  if (previous != kNoSpan) nodes_[previous].next_sibling = next;
  if (next != kNoSpan) nodes_[next].previous_sibling = previous;
  node.parent = node.previous_sibling = node.next_sibling = kNoSpan;
  Cover(parent, Overlap(previous, span) + Overlap(span, next) - Overlap(previous, next) -
                    CountedTime(span));
}

Nesting::Container Nesting::ContainerFrom(SpanSlot span, const Node& inner) const {
  SpanSlot below = kNoSpan;
  while (span != kNoSpan && !Contains(nodes_[span], inner)) {
    below = span;
    span = nodes_[span].parent;
  }
  return {span, below};
}

SpanSlot Nesting::AfterSubtree(SpanSlot span) const {
  while (span != kNoSpan && nodes_[span].next_sibling == kNoSpan) span = nodes_[span].parent;
  return span == kNoSpan ? kNoSpan : nodes_[span].next_sibling;
}

void Nesting::Place(SpanSlot span) {
  const Node& node = nodes_[span];
  Order& order = threads_[node.thread].order;
  auto place = order.empty() || VisitedFirst(*order.rbegin(), span)
                   ? order.insert(order.end(), span)
                   : order.insert(span).first;
  SpanSlot predecessor = place == order.begin() ? kNoSpan : *std::prev(place);
  auto after = std::next(place);
  SpanSlot successor = after == order.end() ? kNoSpan : *after;

  // A span that comes after its children has their parent, and stands where the first of them
  // stood; no need to look for it.
  Container container;
  bool has_children = successor != kNoSpan && Contains(node, nodes_[successor]);
  SpanSlot children_parent = has_children ? nodes_[successor].parent : kNoSpan;
  if (has_children && (children_parent == kNoSpan || Contains(nodes_[children_parent], node))) {
    container = {children_parent, nodes_[successor].previous_sibling};
  } else {
    container = ContainerFrom(predecessor, node);
  }

  // What it contains stands right behind it. The first subtree that it does not contain ends that:
  // either it starts later, or it also contains all that would be left.
  adopted_.clear();
  while (successor != kNoSpan && Contains(node, nodes_[successor])) {
    adopted_.push_back(successor);
    successor = AfterSubtree(successor);
  }
  for (SpanSlot child : adopted_) Detach(child);

  SpanSlot next = kNoSpan;
  if (container.below != kNoSpan) {
    next = nodes_[container.below].next_sibling;
  } else if (successor != kNoSpan && nodes_[successor].parent == container.span) {
    next = successor;
  }
  Attach(span, container.span, container.below, next);
  SpanSlot previous = kNoSpan;
  for (SpanSlot child : adopted_) {
    Attach(child, span, previous, kNoSpan);
    previous = child;
  }
}

void Nesting::PlaceLast(SpanSlot span) {
  const Node& node = nodes_[span];
  Container container = ContainerFrom(Predecessor(span), node);
  Attach(span, container.span, container.below, kNoSpan);
}

SpanSlot Nesting::Predecessor(SpanSlot span) const {
  const Order& order = threads_[nodes_[span].thread].order;
  auto place = order.find(span);
  return place == order.begin() ? kNoSpan : *std::prev(place);
}

SpanSlot Nesting::FirstChild(SpanSlot span) const {
  if (asynchronous(span)) return kNoSpan;
  const Order& order = threads_[nodes_[span].thread].order;
  auto next = std::next(order.find(span));
  return next != order.end() && nodes_[*next].parent == span ? *next : kNoSpan;
}

std::vector<SpanSlot> Nesting::Children(SpanSlot span) const {
  std::vector<SpanSlot> children;
  for (SpanSlot child = FirstChild(span); child != kNoSpan; child = nodes_[child].next_sibling) {
    children.push_back(child);
  }
  return children;
}

void Nesting::Close(SpanSlot span, int64_t end_ns) {
  Node& node = nodes_[span];
  if (asynchronous(span)) {
    node.end_ns = end_ns;
    return;
  }
  // An open span contains all that stands behind it: its subtree is the rest of the order.
  Order& order = threads_[node.thread].order;
  auto after = std::next(order.find(span));
  bool keeps_place = true;
  if (after != order.end()) {
    const Node& successor = nodes_[*after];
    keeps_place = successor.start_ns > node.start_ns || successor.end_ns < end_ns ||
                  (successor.end_ns == end_ns && successor.id > node.id);
  }

  std::vector<SpanSlot> released;  // Last first.
  SpanSlot child = kNoSpan;
  if (*order.rbegin() != span) {
    child = *order.rbegin();
    while (nodes_[child].parent != span) child = nodes_[child].parent;
  }
  Node closed = node;
  closed.end_ns = end_ns;
  while (child != kNoSpan && !(keeps_place && Contains(closed, nodes_[child]))) {
    released.push_back(child);
    child = nodes_[child].previous_sibling;
  }
  for (SpanSlot leaving : released) Detach(leaving);
  Detach(span);
  std::reverse(released.begin(), released.end());

  if (keeps_place) {
    node.end_ns = end_ns;
    PlaceLast(span);
    for (SpanSlot placed : released) PlaceLast(placed);
  } else {
    order.erase(span);
    for (SpanSlot placed : released) PlaceLast(placed);
    node.end_ns = end_ns;
    Place(span);
  }
}

void Nesting::LetGo(SpanSlot span) {
  Node& node = nodes_[span];
  if (!asynchronous(span)) {
    SpanSlot previous = node.previous_sibling;
    SpanSlot child = FirstChild(span);
    while (child != kNoSpan) {
      SpanSlot next = nodes_[child].next_sibling;
      nodes_[child].parent = node.parent;
      nodes_[child].covered_already = node.parent != kNoSpan;
      nodes_[child].previous_sibling = previous;
      if (previous != kNoSpan) nodes_[previous].next_sibling = child;
      previous = child;
      child = next;
    }
    if (previous != kNoSpan) nodes_[previous].next_sibling = node.next_sibling;
    if (node.next_sibling != kNoSpan) nodes_[node.next_sibling].previous_sibling = previous;
    threads_[node.thread].order.erase(span);
  }
  free_.push_back(span);
  --size_;
}

size_t Nesting::memory_bytes() const {
  size_t bytes = nodes_.memory_bytes() + free_.capacity() * sizeof(SpanSlot);
  for (const Thread& thread : threads_) bytes += thread.order.size() * 5 + sizeof(Thread);
  return bytes;
}

}  // namespace tp

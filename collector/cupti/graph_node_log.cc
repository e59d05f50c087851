#include "collector/cupti/graph_node_log.h"

#include <new>

namespace tp::collect {

GraphNodeLog::~GraphNodeLog() {
  ReadAll([](const GraphNode&) {});
}

void GraphNodeLog::Add(const GraphNode& node) {
  if (held_.fetch_add(1, std::memory_order_relaxed) < limit_) {
    if (auto* entry = new (std::nothrow) Entry{node, latest_.load(std::memory_order_relaxed)}) {
      while (!latest_.compare_exchange_weak(entry->next, entry, std::memory_order_release,
                                            std::memory_order_relaxed)) {
      }
      return;
    }
  }
  held_.fetch_sub(1, std::memory_order_relaxed);
  lost_.fetch_add(1, std::memory_order_relaxed);
}

GraphNodeLog::Entry* GraphNodeLog::TakeAll() {
  Entry* latest = latest_.exchange(nullptr, std::memory_order_acquire);
  Entry* oldest = nullptr;
  size_t count = 0;
  while (latest != nullptr) {
    Entry* before = latest->next;
    latest->next = oldest;
    oldest = latest;
    latest = before;
    ++count;
  }
  held_.fetch_sub(count, std::memory_order_relaxed);
  return oldest;
}

}  // namespace tp::collect

// The nodes of graphs that the program makes, on their way from its threads (in CUPTI's callbacks)
// to the collector thread.
#ifndef COLLECTOR_CUPTI_GRAPH_NODE_LOG_H_
#define COLLECTOR_CUPTI_GRAPH_NODE_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/events.h"

namespace tp::collect {

// No lock: a thread that makes a graph never waits for us.
class GraphNodeLog {
 public:
  // Holds at most `limit` nodes.
  explicit GraphNodeLog(size_t limit) : limit_(limit) {}
  ~GraphNodeLog();
  GraphNodeLog(const GraphNodeLog&) = delete;
  GraphNodeLog& operator=(const GraphNodeLog&) = delete;

  // Any thread.
  void Add(const GraphNode& node);

  // Collector thread: calls `read(const GraphNode&)` for each, in the order in which they came.
  template <typename Read>
  void ReadAll(Read&& read) {
    Entry* entry = TakeAll();
    while (entry != nullptr) {
      read(entry->node);
      Entry* next = entry->next;
      delete entry;
      entry = next;
    }
  }

  // Counts of what was lost begin anew.
  void Reset() { lost_.store(0, std::memory_order_relaxed); }

  // Nodes that found no room, so far.
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  size_t memory_bytes() const { return held_.load(std::memory_order_relaxed) * sizeof(Entry); }

 private:
  struct Entry {
    GraphNode node;
    Entry* next;
  };
  Entry* TakeAll();

  size_t limit_;
  std::atomic<Entry*> latest_{nullptr};
  std::atomic<size_t> held_{0};
  std::atomic<uint64_t> lost_{0};
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_GRAPH_NODE_LOG_H_

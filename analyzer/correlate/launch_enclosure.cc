#include "analyzer/correlate/launch_enclosure.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/node_hash_map.h"

namespace tp {
namespace {

struct Thread {
  std::vector<uint32_t> spans;  // Places; all that can enclose something.
  std::vector<uint32_t> calls;
};

template <typename Before>
void SortUnlessSorted(std::vector<uint32_t>* places, Before before) {
  if (!std::is_sorted(places->begin(), places->end(), before)) {
    std::sort(places->begin(), places->end(), before);
  }
}

class Threads {
 public:
  Thread& operator[](int64_t thread) {
    // Neighbours in a recording mostly are of one thread.
    if (last_ == nullptr || thread != last_id_) {
      last_ = &threads_[thread];
      last_id_ = thread;
    }
    return *last_;
  }
  auto begin() { return threads_.begin(); }
  auto end() { return threads_.end(); }

 private:
  absl::node_hash_map<int64_t, Thread> threads_;  // Its entries do not move.
  int64_t last_id_ = 0;
  Thread* last_ = nullptr;
};

}  // namespace

void JoinCallsToSpans(const std::vector<Span>& spans, std::vector<DeviceActivity>* activities) {
  Threads threads;
  for (uint32_t i = 0; i < activities->size(); ++i) {
    const DeviceActivity& call = (*activities)[i];
    if (IsHostCall(call.kind)) threads[call.thread].calls.push_back(i);
  }
  for (uint32_t i = 0; i < spans.size(); ++i) {
    if (!spans[i].asynchronous && spans[i].end_ns > spans[i].start_ns) {
      threads[spans[i].thread].spans.push_back(i);
    }
  }

  std::vector<uint32_t> open;
  for (auto& [id, thread] : threads) {
    if (thread.calls.empty()) continue;
    SortUnlessSorted(&thread.spans, [&](uint32_t a, uint32_t b) {
      if (spans[a].start_ns != spans[b].start_ns) return spans[a].start_ns < spans[b].start_ns;
      if (spans[a].end_ns != spans[b].end_ns) return spans[a].end_ns > spans[b].end_ns;
      return a < b;
    });
    SortUnlessSorted(&thread.calls, [&](uint32_t a, uint32_t b) {
      return (*activities)[a].start_ns < (*activities)[b].start_ns;
    });
    open.clear();
    auto next = thread.spans.begin();
    for (const uint32_t call : thread.calls) {
      const int64_t now_ns = (*activities)[call].start_ns;
      // Times only go up: a span that has ended is never asked for again. Those below the last
      // one may have ended too, and are found out when they come to the top.
      for (; next != thread.spans.end() && spans[*next].start_ns <= now_ns; ++next) {
        while (!open.empty() && spans[open.back()].end_ns <= spans[*next].start_ns) open.pop_back();
        open.push_back(*next);
      }
      while (!open.empty() && spans[open.back()].end_ns <= now_ns) open.pop_back();
      if (!open.empty()) (*activities)[call].operation = spans[open.back()].id;
    }
  }
}

}  // namespace tp

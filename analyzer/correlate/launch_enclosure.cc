#include "analyzer/correlate/launch_enclosure.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace tp {
namespace {

// A span begins or a call is made.
struct Moment {
  int64_t thread;
  int64_t time_ns;
  uint32_t index;
  bool is_call;
};

}  // namespace

void JoinCallsToSpans(const std::vector<Span>& spans, std::vector<DeviceActivity>* activities) {
  std::vector<Moment> moments;
  for (uint32_t i = 0; i < spans.size(); ++i) {
    if (spans[i].asynchronous || spans[i].end_ns <= spans[i].start_ns) continue;
    moments.push_back({spans[i].thread, spans[i].start_ns, i, false});
  }
  for (uint32_t i = 0; i < activities->size(); ++i) {
    const DeviceActivity& call = (*activities)[i];
    if (IsHostCall(call.kind)) moments.push_back({call.thread, call.start_ns, i, true});
  }
  // Among equal times the longer span first, then as they came; calls last.
  const auto before = [&](const Moment& a, const Moment& b) {
    const int64_t end_a = a.is_call ? 0 : spans[a.index].end_ns;
    const int64_t end_b = b.is_call ? 0 : spans[b.index].end_ns;
    return std::tie(a.thread, a.time_ns, a.is_call, end_b, a.index) <
           std::tie(b.thread, b.time_ns, b.is_call, end_a, b.index);
  };
  if (!std::is_sorted(moments.begin(), moments.end(), before)) {
    std::sort(moments.begin(), moments.end(), before);
  }
  std::vector<uint32_t> open;  // Ended ones may lie under one that is still open.
  int64_t thread = 0;
  for (const Moment& moment : moments) {
    if (moment.thread != thread) open.clear();
    thread = moment.thread;
    while (!open.empty() && spans[open.back()].end_ns <= moment.time_ns) open.pop_back();
    if (!moment.is_call) {
      open.push_back(moment.index);
    } else if (!open.empty()) {
      (*activities)[moment.index].operation = spans[open.back()].id;
    }
  }
}

}  // namespace tp

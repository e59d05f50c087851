#include "analyzer/wire/event_kind.h"

#include "absl/strings/str_cat.h"

namespace tp {

wire::EventKind EventKindOf(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kKernel:
      return wire::KERNEL;
    case ActivityKind::kCopy:
      return wire::COPY;
    case ActivityKind::kFill:
      return wire::FILL;
    case ActivityKind::kRuntimeCall:
      return wire::RUNTIME_CALL;
    case ActivityKind::kDriverCall:
      return wire::DRIVER_CALL;
    case ActivityKind::kGraph:
      return wire::GRAPH;
    case ActivityKind::kSynchronization:
      return wire::SYNCHRONIZATION;
    case ActivityKind::kCompilation:
      return wire::COMPILATION;
    case ActivityKind::kOverhead:
      return wire::OVERHEAD;
    case ActivityKind::kDeviceAnnotation:
      break;
  }
  return wire::EVENT_KIND_UNKNOWN;
}

std::string KindWord(int event_kind) {
  switch (event_kind) {
    case wire::EVENT_KIND_UNKNOWN:
      return "records";
    case wire::OPERATION:
      return "operations";
    case wire::KERNEL:
      return "kernels";
    case wire::COPY:
      return "copies";
    case wire::FILL:
      return "fills";
    case wire::RUNTIME_CALL:
      return "runtime_calls";
    case wire::DRIVER_CALL:
      return "driver_calls";
    case wire::LAUNCH_OPERATION:
      return "launch_operations";
    case wire::GRAPH:
      return "graphs";
    case wire::SYNCHRONIZATION:
      return "synchronizations";
    case wire::MEMORY:
      return "memory";
    case wire::OVERHEAD:
      return "overhead";
    case wire::COMPILATION:
      return "compilations";
    case wire::GRAPH_NODE:
      return "graph_nodes";
    case wire::COUNTER:
      return "counters";
    default:
      return absl::StrCat("events of unknown kind ", event_kind);
  }
}

EventCounts CountsOf(const KindCounts& told) {
  EventCounts counts{};
  for (const wire::KindCount& kind : told) {
    if (kind.kind() < 0 || kind.kind() >= wire::EventKind_ARRAYSIZE) continue;
    uint64_t& count = counts[kind.kind()];
    count = kind.count() > UINT64_MAX - count ? UINT64_MAX : count + kind.count();
  }
  return counts;
}

void SaveCounts(const EventCounts& counts, KindCounts* told) {
  for (size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] == 0) continue;
    wire::KindCount* count = told->Add();
    count->set_kind(static_cast<wire::EventKind>(kind));
    count->set_count(counts[kind]);
  }
}

void AddEvents(const EventCounts& counts, query::Process* process) {
  const auto add = [&](int kind) {
    query::KindCount* events = process->add_events();
    events->set_kind(KindWord(kind));
    events->set_count(counts[kind]);
  };
  for (const int kind : {wire::OPERATION, wire::KERNEL, wire::COPY, wire::FILL, wire::RUNTIME_CALL,
                         wire::DRIVER_CALL}) {
    add(kind);
  }
  for (const int kind : {wire::GRAPH, wire::SYNCHRONIZATION, wire::MEMORY, wire::OVERHEAD,
                         wire::COMPILATION, wire::GRAPH_NODE, wire::COUNTER}) {
    if (counts[kind] > 0) add(kind);
  }
}

}  // namespace tp

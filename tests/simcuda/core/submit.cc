#include "tests/simcuda/core/submit.h"

#include <algorithm>
#include <utility>

#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/delivery.h"
#include "tests/simcuda/core/graph.h"
#include "tests/simcuda/core/host_functions.h"
#include "tests/simcuda/core/thread_state.h"

namespace simcuda {
namespace {

// Who asked, for the records.
struct Request {
  uint32_t correlation_id;
  uint64_t queued_ns;
  uint64_t observer_data;
  uint64_t graph_node_id = 0;
  uint32_t graph_id = 0;
};

uint64_t StreamReady(const Stream& stream) {
  const Context& context = *stream.context;
  if (stream.legacy) return std::max(stream.ready_ns, context.blocking_ready_ns);
  if (stream.blocking()) return std::max(stream.ready_ns, context.legacy->ready_ns);
  return stream.ready_ns;
}

void ExtendStream(Stream& stream, uint64_t end_ns) {
  Context& context = *stream.context;
  stream.ready_ns = std::max(stream.ready_ns, end_ns);
  context.ready_ns = std::max(context.ready_ns, end_ns);
  if (stream.blocking()) context.blocking_ready_ns = std::max(context.blocking_ready_ns, end_ns);
}

SerialEngine* CopyEngine(Device& device, const Copy& copy) {
  auto on_host = [](MemoryKind kind) {
    return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned;
  };
  if (copy.peer) return &device.device_to_host;
  if (on_host(copy.source_kind)) return &device.host_to_device;
  if (on_host(copy.destination_kind)) return &device.device_to_host;
  return nullptr;  // Within the device: done by the multiprocessors.
}

// Finds the place of an operation on the device's engines.
uint64_t Place(Device& device, const Operation& operation, uint64_t earliest_ns, uint64_t now_ns) {
  if (const Copy* copy = std::get_if<Copy>(&operation.what)) {
    if (SerialEngine* engine = CopyEngine(device, *copy)) {
      return engine->Reserve(now_ns, earliest_ns, operation.duration_ns);
    }
  }
  return device.resident_kernels.Reserve(earliest_ns, operation.duration_ns);
}

DeviceWork Describe(const Stream& stream, const Operation& operation, const Request& request,
                    uint64_t start_ns) {
  DeviceWork work = {};
  work.device_id = stream.context->device->id;
  work.context_id = stream.context->id;
  work.stream_id = stream.id;
  work.correlation_id = request.correlation_id;
  work.start_ns = start_ns;
  work.end_ns = start_ns + operation.duration_ns;
  work.queued_ns = request.queued_ns;
  work.submitted_ns = std::min(request.queued_ns + kLaunchLatencyNs / 2, start_ns);
  work.graph_node_id = request.graph_node_id;
  work.graph_id = request.graph_id;
  work.observer_data = request.observer_data;
  work.per_thread_default_stream = stream.per_thread;
  if (const auto* launch = std::get_if<KernelLaunch>(&operation.what)) {
    work.kind = WorkKind::kKernel;
    work.name = launch->reported_name;
    work.grid_x = launch->grid[0];
    work.grid_y = launch->grid[1];
    work.grid_z = launch->grid[2];
    work.block_x = launch->block[0];
    work.block_y = launch->block[1];
    work.block_z = launch->block[2];
    work.registers_per_thread = launch->kernel->info.registers_per_thread;
    work.static_shared_bytes = launch->kernel->info.static_shared_bytes;
    work.dynamic_shared_bytes = launch->dynamic_shared_bytes;
    work.local_bytes_per_thread = launch->kernel->info.local_bytes_per_thread;
    work.cluster_x = launch->cluster[0];
    work.cluster_y = launch->cluster[1];
    work.cluster_z = launch->cluster[2];
    work.grid_id = Model::Instance().next_grid_id++;
    work.cooperative = launch->cooperative;
  } else if (const auto* copy = std::get_if<Copy>(&operation.what)) {
    work.kind = copy->peer ? WorkKind::kPeerCopy : WorkKind::kCopy;
    work.bytes = copy->bytes();
    work.copy_kind = CopyKind(*copy);
    work.source_memory_kind = static_cast<uint32_t>(copy->source_kind);
    work.destination_memory_kind = static_cast<uint32_t>(copy->destination_kind);
    work.async = copy->async;
    work.source_device_id = copy->source_device;
    work.destination_device_id = copy->destination_device;
    work.source_context_id = copy->source_context;
    work.destination_context_id = copy->destination_context;
  } else if (const auto* fill = std::get_if<Fill>(&operation.what)) {
    work.kind = WorkKind::kFill;
    work.bytes = fill->bytes();
    work.value = fill->value;
    work.async = fill->async;
    work.destination_memory_kind = static_cast<uint32_t>(fill->kind);
  }
  return work;
}

bool IsDeviceWork(const Operation& operation) {
  return std::holds_alternative<KernelLaunch>(operation.what) ||
         std::holds_alternative<Copy>(operation.what) ||
         std::holds_alternative<Fill>(operation.what);
}

void SetEvent(const EventRecord& record, uint64_t end_ns) {
  Event& event = *record.event;
  // A later record of the same event has taken its place already, when this one waited for a host
  // function.
  if (record.serial != 0 && record.serial != event.serial) return;
  if (record.serial == 0 || event.completion == nullptr) {
    event.completion = std::make_shared<Completion>();
  }
  event.completion->known = true;
  event.completion->end_ns = end_ns;
}

// Schedules one operation that is neither a host function nor a graph, and returns its end.
uint64_t ScheduleOne(Stream& stream, const Operation& operation, uint64_t earliest_ns,
                     uint64_t now_ns, const Request& request, std::vector<DeviceWork>* works) {
  if (IsDeviceWork(operation)) {
    Context& context = *stream.context;
    uint64_t start = Place(*context.device, operation, earliest_ns, now_ns);
    uint64_t end = start + operation.duration_ns;
    const auto* launch = std::get_if<KernelLaunch>(&operation.what);
    if (launch != nullptr && launch->kernel->faults && context.fault == CUDA_SUCCESS) {
      context.fault = CUDA_ERROR_ILLEGAL_ADDRESS;
      context.fault_ns = end;
    }
    if (works != nullptr) works->push_back(Describe(stream, operation, request, start));
    return end;
  }
  if (const auto* record = std::get_if<EventRecord>(&operation.what)) {
    SetEvent(*record, earliest_ns);
  } else if (const auto* wait = std::get_if<EventWait>(&operation.what)) {
    const auto& completion = wait->event->completion;
    if (completion != nullptr) return std::max(earliest_ns, completion->end_ns);
  } else if (const auto* free = std::get_if<FreeMemory>(&operation.what)) {
    Allocation freed;
    Memory::Instance().Free(free->address, MemoryKind::kDevice, &freed);
  }
  return earliest_ns;
}

// Goes through a graph as far as it can. True when all nodes are scheduled; then *end_ns is the end
// of the last. `run` keeps the state in between, `move_bytes` says whether bytes are moved here.
bool AdvanceGraph(Stream& stream, GraphRun& run, uint64_t earliest_ns, uint64_t now_ns,
                  const Request& request, bool move_bytes, std::vector<DeviceWork>* works,
                  uint64_t* end_ns) {
  const GraphPlan& plan = *run.plan;
  run.nodes.resize(plan.nodes.size());
  bool all = true;
  uint64_t end = earliest_ns;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const GraphPlan::Node& node = plan.nodes[i];
    std::shared_ptr<Completion>& done = run.nodes[i];
    if (done == nullptr) {
      uint64_t ready = earliest_ns;
      bool free = true;
      for (uint32_t dependency : node.dependencies) {
        const auto& before = run.nodes[dependency];
        if (before == nullptr || !before->known) {
          free = false;
          break;
        }
        ready = std::max(ready, before->end_ns);
      }
      if (!free) {
        all = false;
        continue;
      }
      done = std::make_shared<Completion>();
      const auto* function = std::get_if<HostFunction>(&node.operation.what);
      if (function != nullptr && node.enabled) {
        RunHostFunction(ready, *function, done);
      } else {
        if (node.enabled) {
          Request own = request;
          own.graph_node_id = node.id;
          own.graph_id = plan.graph_id;
          done->end_ns = ScheduleOne(stream, node.operation, ready, now_ns, own, works);
          if (move_bytes) MoveBytes(node.operation);
        } else {
          done->end_ns = ready;
        }
        done->known = true;
      }
    }
    if (done->known) {
      end = std::max(end, done->end_ns);
    } else {
      all = false;
    }
  }
  *end_ns = end;
  return all;
}

void Keep(Stream& stream, std::vector<DeviceWork>& works) {
  // Branches of a graph may end in any order.
  std::sort(works.begin(), works.end(), [](const DeviceWork& left, const DeviceWork& right) {
    return left.end_ns < right.end_ns;
  });
  auto& kept = stream.undelivered->works;
  kept.insert(kept.end(), works.begin(), works.end());
}

void NoteSubmission(Stream& stream, uint64_t end_ns) {
  if (stream.window.empty()) stream.window.resize(Stream::kWindow);
  stream.window[stream.submissions++ % Stream::kWindow] = end_ns;
}

// Waits, without the lock, while the stream has taken all that it can.
void WaitForRoom(Stream& stream, std::unique_lock<std::mutex>& lock) {
  if (stream.submissions < Stream::kWindow) return;
  uint64_t oldest = stream.window[stream.submissions % Stream::kWindow];
  if (oldest <= NowNs()) return;
  lock.unlock();
  WaitUntil(oldest);
  lock.lock();
}

std::shared_ptr<Completion> EventDependency(const Operation& operation) {
  if (const auto* wait = std::get_if<EventWait>(&operation.what)) {
    const auto& completion = wait->event->completion;
    if (completion != nullptr && !completion->known) return completion;
  }
  return nullptr;
}

bool IsBlocked(const Stream& stream, const Operation& operation) {
  if (std::holds_alternative<HostFunction>(operation.what)) return true;
  if (const auto* graph = std::get_if<GraphLaunch>(&operation.what)) {
    if (graph->plan->has_host_functions) return true;
  }
  if (EventDependency(operation) != nullptr) return true;
  return stream.context->blocked_streams > 0 &&
         (!stream.pending.empty() || !PendingTails(stream).empty());
}

void Retain(const Operation& operation) {
  if (const auto* record = std::get_if<EventRecord>(&operation.what)) ++record->event->references;
  if (const auto* wait = std::get_if<EventWait>(&operation.what)) ++wait->event->references;
}

void ReleaseEvent(Event* event) {
  if (--event->references == 0) Model::Instance().events.Free(event);
}

void Release(const Operation& operation) {
  if (const auto* record = std::get_if<EventRecord>(&operation.what)) ReleaseEvent(record->event);
  if (const auto* wait = std::get_if<EventWait>(&operation.what)) ReleaseEvent(wait->event);
}

void Enqueue(Stream& stream, Operation operation, const Request& request) {
  auto pending = std::make_unique<Pending>();
  pending->dependencies = PendingTails(stream);
  if (auto event = EventDependency(operation)) pending->dependencies.push_back(std::move(event));
  if (const auto* record = std::get_if<EventRecord>(&operation.what)) {
    record->event->completion = pending->done;
  }
  pending->correlation_id = request.correlation_id;
  pending->queued_ns = request.queued_ns;
  pending->observer_data = request.observer_data;
  pending->operation = std::move(operation);
  Retain(pending->operation);
  if (stream.pending.empty()) ++stream.context->blocked_streams;
  stream.pending.push_back(std::move(pending));
}

// Tries to finish the first pending operation of a stream.
bool AdvancePending(Stream& stream, Pending& pending) {
  bool free = std::all_of(pending.dependencies.begin(), pending.dependencies.end(),
                          [](const auto& dependency) { return dependency->known; });
  if (!free) return false;
  uint64_t now = NowNs();
  Request request = {pending.correlation_id, pending.queued_ns, pending.observer_data};
  uint64_t earliest = std::max(now, StreamReady(stream));
  for (const auto& dependency : pending.dependencies) {
    earliest = std::max(earliest, dependency->end_ns);
  }
  std::vector<DeviceWork> works;
  std::vector<DeviceWork>* kept = CurrentObserver() != nullptr ? &works : nullptr;
  uint64_t end = 0;
  if (const auto* function = std::get_if<HostFunction>(&pending.operation.what)) {
    if (!pending.begun) RunHostFunction(earliest, *function, pending.done);
    pending.begun = true;
    if (!pending.done->known) return false;
    end = pending.done->end_ns;
  } else if (const auto* launch = std::get_if<GraphLaunch>(&pending.operation.what)) {
    if (!pending.begun) {
      pending.graph.plan = launch->plan;
      earliest = std::max(earliest, now + pending.operation.delay_ns);
    }
    pending.begun = true;
    bool complete = AdvanceGraph(stream, pending.graph, earliest, now, request, true, kept, &end);
    Keep(stream, works);
    if (!complete) return false;
  } else {
    if (IsDeviceWork(pending.operation)) {
      earliest = std::max(earliest, now + pending.operation.delay_ns);
    }
    end = ScheduleOne(stream, pending.operation, earliest, now, request, kept);
    MoveBytes(pending.operation);
    Keep(stream, works);
  }
  pending.done->known = true;
  pending.done->end_ns = end;
  bool record = std::holds_alternative<EventRecord>(pending.operation.what);
  if (!record) ExtendStream(stream, end);
  NoteSubmission(stream, end);
  return true;
}

// After a wait: what completed becomes known, a fault becomes the result.
CUresult Settle(const Context& context) {
  if (CurrentObserver() != nullptr) Deliver(false);
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  return Fault(context);
}

void WaitForTails(const std::vector<std::shared_ptr<Completion>>& tails,
                  std::unique_lock<std::mutex>& lock) {
  for (const auto& tail : tails) {
    while (!tail->known) Model::Instance().progress.wait(lock);
  }
}

}  // namespace

std::vector<std::shared_ptr<Completion>> PendingTails(const Stream& stream) {
  std::vector<std::shared_ptr<Completion>> tails;
  auto add = [&](const Stream& other) {
    if (!other.pending.empty()) tails.push_back(other.pending.back()->done);
  };
  if (stream.context->blocked_streams == 0) return tails;
  add(stream);
  if (stream.legacy) {
    for (const Stream* other : stream.context->streams) {
      if (other->blocking()) add(*other);
    }
  } else if (stream.blocking()) {
    add(*stream.context->legacy);
  }
  return tails;
}

void ScheduleUnblocked() {
  Model& model = Model::Instance();
  std::vector<Stream*> blocked;
  model.contexts.ForEach([&](Context& context) {
    if (context.blocked_streams == 0) return;
    if (!context.legacy->pending.empty()) blocked.push_back(context.legacy);
    for (Stream* stream : context.streams) {
      if (!stream->pending.empty()) blocked.push_back(stream);
    }
  });
  for (bool moved = true; moved;) {
    moved = false;
    for (Stream* stream : blocked) {
      while (!stream->pending.empty() && AdvancePending(*stream, *stream->pending.front())) {
        Release(stream->pending.front()->operation);
        stream->pending.pop_front();
        if (stream->pending.empty()) --stream->context->blocked_streams;
        moved = true;
      }
    }
  }
  for (Stream* stream : blocked) {
    if (stream->retired && stream->pending.empty()) {
      stream->context->streams.erase(stream);
      model.streams.Free(stream);
    }
  }
  model.progress.notify_all();
}

CUresult Fault(const Context& context) {
  return context.fault != CUDA_SUCCESS && NowNs() >= context.fault_ns ? context.fault
                                                                      : CUDA_SUCCESS;
}

CUresult Submit(Stream& stream, Operation operation) {
  constexpr size_t kManyUndelivered = 512;
  Model& model = Model::Instance();
  const Observer* observer = CurrentObserver();
  bool many = false;
  {
    std::unique_lock<std::mutex> lock(model.mutex);
    if (stream.capture != nullptr) return CaptureOperation(stream, operation);
    if (stream.legacy && LegacyStreamIsForbidden(*stream.context, true)) {
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    WaitForRoom(stream, lock);
    uint64_t now = NowNs();
    Request request = {};
    request.queued_ns = now;
    if (observer != nullptr) {
      request.correlation_id = Thread().correlation_id();
      if (observer->submitting != nullptr) {
        request.observer_data = observer->submitting(stream.context->id);
      }
    }
    if (auto* record = std::get_if<EventRecord>(&operation.what)) {
      record->serial = ++record->event->serial;
      record->event->completion = std::make_shared<Completion>();
      record->event->capture = nullptr;
    }
    if (IsBlocked(stream, operation)) {
      Enqueue(stream, std::move(operation), request);
      ScheduleUnblocked();
      return CUDA_SUCCESS;
    }
    uint64_t earliest = std::max(now + operation.delay_ns, StreamReady(stream));
    static thread_local std::vector<DeviceWork> works;
    works.clear();
    std::vector<DeviceWork>* kept = observer != nullptr ? &works : nullptr;
    uint64_t end = earliest;
    if (const auto* launch = std::get_if<GraphLaunch>(&operation.what)) {
      GraphRun run;
      run.plan = launch->plan;
      AdvanceGraph(stream, run, earliest, now, request, false, kept, &end);
    } else {
      end = ScheduleOne(stream, operation, earliest, now, request, kept);
    }
    if (!std::holds_alternative<EventRecord>(operation.what)) ExtendStream(stream, end);
    NoteSubmission(stream, end);
    if (kept != nullptr) {
      Keep(stream, works);
      const auto& queue = stream.undelivered->works;
      many = queue.size() >= kManyUndelivered && queue.front().end_ns <= now;
    }
  }
  if (const auto* launch = std::get_if<GraphLaunch>(&operation.what)) {
    for (const GraphPlan::Node& node : launch->plan->nodes) {
      if (node.enabled) MoveBytes(node.operation);
    }
  } else {
    MoveBytes(operation);
  }
  if (many) Deliver(false);
  return CUDA_SUCCESS;
}

CUresult WaitForStream(Stream& stream) {
  uint64_t end;
  const Context& context = *stream.context;
  {
    std::unique_lock<std::mutex> lock(Model::Instance().mutex);
    WaitForTails(PendingTails(stream), lock);
    end = StreamReady(stream);
  }
  WaitUntil(end);
  return Settle(context);
}

CUresult WaitForContext(Context& context) {
  uint64_t end;
  {
    std::unique_lock<std::mutex> lock(Model::Instance().mutex);
    std::vector<std::shared_ptr<Completion>> tails;
    if (context.blocked_streams > 0) {
      if (!context.legacy->pending.empty()) tails.push_back(context.legacy->pending.back()->done);
      for (const Stream* stream : context.streams) {
        if (!stream->pending.empty()) tails.push_back(stream->pending.back()->done);
      }
    }
    WaitForTails(tails, lock);
    end = context.ready_ns;
  }
  WaitUntil(end);
  return Settle(context);
}

CUresult WaitForEvent(Event& event) {
  uint64_t end;
  const Context& context = *event.context;
  {
    std::unique_lock<std::mutex> lock(Model::Instance().mutex);
    std::shared_ptr<Completion> completion = event.completion;
    if (completion == nullptr) return CUDA_SUCCESS;
    WaitForTails({completion}, lock);
    end = completion->end_ns;
  }
  WaitUntil(end);
  return Settle(context);
}

CUresult QueryStream(Stream& stream) {
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  if (CUresult fault = Fault(*stream.context); fault != CUDA_SUCCESS) return fault;
  bool complete = PendingTails(stream).empty() && StreamReady(stream) <= NowNs();
  return complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult QueryEvent(Event& event) {
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  if (CUresult fault = Fault(*event.context); fault != CUDA_SUCCESS) return fault;
  if (event.completion == nullptr) return CUDA_SUCCESS;
  bool complete = event.completion->known && event.completion->end_ns <= NowNs();
  return complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

}  // namespace simcuda

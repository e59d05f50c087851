#include "tests/simcuda/cupti/graph_trace.h"

#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/lane.h"

namespace simcupti {
namespace {

// Times of the driver's clock until it is written.
using Launch = CUpti_ActivityGraphTrace2;

struct OpenLaunches {
  std::mutex mutex;
  std::map<uint32_t, Launch> by_correlation_id;
  std::atomic<size_t> count{0};
};

OpenLaunches& CurrentLaunches() { return OfClient<OpenLaunches>(); }

void EndGraphs(const std::function<bool(const Launch&)>& ended) {
  OpenLaunches& launches = CurrentLaunches();
  if (launches.count.load(std::memory_order_acquire) == 0) return;
  std::vector<Launch> records;
  {
    std::lock_guard lock(launches.mutex);
    std::erase_if(launches.by_correlation_id, [&](const auto& entry) {
      if (!ended(entry.second)) return false;
      records.push_back(entry.second);
      return true;
    });
    launches.count.store(launches.by_correlation_id.size(), std::memory_order_release);
  }
  std::sort(records.begin(), records.end(),
            [](const Launch& left, const Launch& right) { return left.end < right.end; });
  for (Launch& record : records) {
    record.start = ToRecordClock(record.start);
    record.end = ToRecordClock(record.end);
    DeviceLane(record.contextId).Write(record, {record.contextId, record.streamId});
  }
}

}  // namespace

void TraceGraphNode(const simcuda::DeviceWork& node) {
  EndGraphsBefore(node);
  OpenLaunches& launches = CurrentLaunches();
  std::lock_guard lock(launches.mutex);
  const auto [entry, first] = launches.by_correlation_id.try_emplace(node.correlation_id);
  launches.count.store(launches.by_correlation_id.size(), std::memory_order_release);
  Launch& launch = entry->second;
  if (first) {
    launch = Launch{};
    launch.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    launch.correlationId = node.correlation_id;
    launch.graphId = node.graph_id;
    launch.streamId = node.stream_id;
  }
  if (first || node.start_ns < launch.start) {
    launch.start = node.start_ns;
    launch.deviceId = node.device_id;
    launch.contextId = node.context_id;
  }
  if (first || node.end_ns > launch.end) {
    launch.end = node.end_ns;
    launch.endDeviceId = node.device_id;
    launch.endContextId = node.context_id;
  }
}

void EndGraphsBefore(const simcuda::DeviceWork& work) {
  EndGraphs([&](const Launch& launch) {
    return launch.correlationId != work.correlation_id && launch.contextId == work.context_id &&
           launch.streamId == work.stream_id && launch.end <= work.start_ns;
  });
}

void EndGraphsBefore(const simcuda::Synchronization& synchronization) {
  using simcuda::SyncKind;
  if (synchronization.kind != SyncKind::kStreamSynchronize &&
      synchronization.kind != SyncKind::kContextSynchronize) {
    return;
  }
  EndGraphs([&](const Launch& launch) {
    return launch.contextId == synchronization.context_id && launch.end <= synchronization.end_ns &&
           (synchronization.kind == SyncKind::kContextSynchronize ||
            launch.streamId == synchronization.stream_id);
  });
}

void EndAllGraphs() {
  EndGraphs([](const Launch&) { return true; });
}

void ForgetGraphs() {
  OpenLaunches& launches = CurrentLaunches();
  std::lock_guard lock(launches.mutex);
  launches.by_correlation_id.clear();
  launches.count.store(0);
}

}  // namespace simcupti

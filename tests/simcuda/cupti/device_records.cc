#include "tests/simcuda/cupti/device_records.h"

#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/faults.h"
#include "tests/simcuda/cupti/graph_trace.h"
#include "tests/simcuda/cupti/lane.h"
#include "tests/simcuda/cupti/posed_version.h"

namespace simcupti {
namespace {

using simcuda::DeviceWork;
using simcuda::WorkKind;

struct Latency {
  std::atomic<bool> timestamps{false};
};

// The simulated device has one channel for each engine and context.
uint32_t ChannelId(const DeviceWork& work) {
  return work.context_id * 4 + (work.kind == WorkKind::kKernel ? 1 : 2);
}

// What all of these records have, under the same names.
template <class Record>
Record Common(CUpti_ActivityKind kind, const DeviceWork& work) {
  Record record{};
  record.kind = kind;
  record.start = ToRecordClock(work.start_ns);
  record.end = ToRecordClock(work.end_ns);
  record.deviceId = work.device_id;
  record.contextId = work.context_id;
  record.streamId = work.stream_id;
  record.correlationId = work.correlation_id;
  record.graphNodeId = work.graph_node_id;
  record.graphId = work.graph_id;
  record.channelID = ChannelId(work);
  record.channelType =
      work.kind == WorkKind::kKernel ? CUPTI_CHANNEL_TYPE_COMPUTE : CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  return record;
}

CUpti_ActivityKernel10 Kernel(CUpti_ActivityKind kind, const DeviceWork& work) {
  auto record = Common<CUpti_ActivityKernel10>(kind, work);
  record.completed = record.end;
  // Before 11.1 this is padding, which may hold anything.
  if (!PosesSince({11, 1})) record.graphId = 0xEEEEEEEE;
  record.name = work.name;
  record.gridX = static_cast<int32_t>(work.grid_x);
  record.gridY = static_cast<int32_t>(work.grid_y);
  record.gridZ = static_cast<int32_t>(work.grid_z);
  record.blockX = static_cast<int32_t>(work.block_x);
  record.blockY = static_cast<int32_t>(work.block_y);
  record.blockZ = static_cast<int32_t>(work.block_z);
  record.gridId = work.grid_id;
  record.registersPerThread = static_cast<uint16_t>(work.registers_per_thread);
  record.staticSharedMemory = static_cast<int32_t>(work.static_shared_bytes);
  record.dynamicSharedMemory = static_cast<int32_t>(work.dynamic_shared_bytes);
  record.sharedMemoryExecuted = work.static_shared_bytes + work.dynamic_shared_bytes;
  record.localMemoryPerThread = work.local_bytes_per_thread;
  record.localMemoryTotal_v2 = uint64_t{work.local_bytes_per_thread} * work.grid_x * work.grid_y *
                               work.grid_z * work.block_x * work.block_y * work.block_z;
  record.localMemoryTotal = static_cast<uint32_t>(
      std::min<uint64_t>(record.localMemoryTotal_v2, std::numeric_limits<uint32_t>::max()));
  record.clusterX = work.cluster_x;
  record.clusterY = work.cluster_y;
  record.clusterZ = work.cluster_z;
  record.launchType = work.cooperative ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                                       : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  if (OfClient<Latency>().timestamps.load(std::memory_order_relaxed)) {
    record.queued = ToRecordClock(work.queued_ns);
    record.submitted = ToRecordClock(work.submitted_ns);
  }
  return record;
}

void ApplyFaults(CUpti_ActivityKernel10* record) {
  if (ActiveFaults().invert_kernel.Next()) {
    const uint64_t start = record->start;
    record->start = record->end;
    record->end = start;
  }
  if (ActiveFaults().zero_kernel_end.Next()) record->end = 0;
}

CUpti_ActivityMemcpy6 Copy(const DeviceWork& work) {
  auto record = Common<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, work);
  record.copyKind = static_cast<uint8_t>(work.copy_kind);
  record.srcKind = static_cast<uint8_t>(work.source_memory_kind);
  record.dstKind = static_cast<uint8_t>(work.destination_memory_kind);
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = work.bytes;
  record.runtimeCorrelationId = work.correlation_id;
  record.copyCount = 1;
  return record;
}

CUpti_ActivityMemcpyPtoP4 PeerCopy(const DeviceWork& work) {
  auto record = Common<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2, work);
  record.copyKind = static_cast<uint8_t>(work.copy_kind);
  record.srcKind = static_cast<uint8_t>(work.source_memory_kind);
  record.dstKind = static_cast<uint8_t>(work.destination_memory_kind);
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.bytes = work.bytes;
  record.srcDeviceId = work.source_device_id;
  record.srcContextId = work.source_context_id;
  record.dstDeviceId = work.destination_device_id;
  record.dstContextId = work.destination_context_id;
  return record;
}

CUpti_ActivityMemset4 Fill(const DeviceWork& work) {
  auto record = Common<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, work);
  record.value = work.value;
  record.bytes = work.bytes;
  record.flags = work.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : CUPTI_ACTIVITY_FLAG_NONE;
  record.memoryKind = static_cast<uint16_t>(work.destination_memory_kind);
  return record;
}

constexpr CUpti_ActivityKind kDeviceKinds[] = {
    CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
// Each client has as many bits of an observer_data.
constexpr unsigned kBitsOfClient = 64 / kMostClients;
static_assert(std::size(kDeviceKinds) <= kBitsOfClient);

uint64_t Bit(size_t place) {
  return uint64_t{1} << (static_cast<unsigned>(CurrentClient()) * kBitsOfClient + place);
}

bool WasEnabled(CUpti_ActivityKind kind, const DeviceWork& work) {
  const auto* found = std::find(std::begin(kDeviceKinds), std::end(kDeviceKinds), kind);
  return (work.observer_data & Bit(static_cast<size_t>(found - kDeviceKinds))) != 0;
}

// The kind that the client gets this work as; INVALID for none.
CUpti_ActivityKind WantedKind(const DeviceWork& work) {
  const auto if_enabled = [&](CUpti_ActivityKind kind) {
    return WasEnabled(kind, work) ? kind : CUPTI_ACTIVITY_KIND_INVALID;
  };
  switch (work.kind) {
    case WorkKind::kCopy:
      return if_enabled(CUPTI_ACTIVITY_KIND_MEMCPY);
    case WorkKind::kPeerCopy:
      return if_enabled(CUPTI_ACTIVITY_KIND_MEMCPY2);
    case WorkKind::kFill:
      return if_enabled(CUPTI_ACTIVITY_KIND_MEMSET);
    case WorkKind::kKernel:
      break;
  }
  const CUpti_ActivityKind concurrent = if_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  return concurrent != CUPTI_ACTIVITY_KIND_INVALID ? concurrent
                                                   : if_enabled(CUPTI_ACTIVITY_KIND_KERNEL);
}

template <class Record>
void WriteWork(const DeviceWork& work, const Record& record, bool wanted) {
  Lane& lane = DeviceLane(work.context_id);
  const RecordOrigin origin{work.context_id, work.stream_id};
  const WorkKey key{static_cast<uint32_t>(work.kind), work.context_id, work.stream_id,
                    work.correlation_id, work.graph_node_id};
  if (work.end_ns == 0) {
    if (wanted) lane.WriteRunning(key, record, origin);
    return;
  }
  if (!lane.Finish(key, record) && wanted) lane.Write(record, origin);
}

}  // namespace

uint64_t EnabledDeviceKinds(uint32_t context_id) {
  uint64_t kinds = 0;
  for (size_t i = 0; i < std::size(kDeviceKinds); ++i) {
    if (KindEnabled(kDeviceKinds[i], context_id)) kinds |= Bit(i);
  }
  return kinds;
}

void RecordDeviceWork(const DeviceWork& work) {
  if (work.graph_id != 0 && WasEnabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, work)) {
    if (work.end_ns != 0) TraceGraphNode(work);
    return;
  }
  EndGraphsBefore(work);
  const CUpti_ActivityKind kind = WantedKind(work);
  const bool wanted = kind != CUPTI_ACTIVITY_KIND_INVALID;
  switch (work.kind) {
    case WorkKind::kKernel: {
      auto record = Kernel(wanted ? kind : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, work);
      if (wanted && work.end_ns != 0) ApplyFaults(&record);
      WriteWork(work, record, wanted);
      break;
    }
    case WorkKind::kCopy:
      WriteWork(work, Copy(work), wanted);
      break;
    case WorkKind::kPeerCopy:
      WriteWork(work, PeerCopy(work), wanted);
      break;
    case WorkKind::kFill:
      WriteWork(work, Fill(work), wanted);
      break;
  }
}

void SetLatencyTimestamps(bool enabled) {
  OfClient<Latency>().timestamps.store(enabled, std::memory_order_relaxed);
}

bool KernelsAreSerialized(uint32_t context_id) {
  return KindEnabled(CUPTI_ACTIVITY_KIND_KERNEL, context_id) &&
         !KindEnabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, context_id);
}

}  // namespace simcupti

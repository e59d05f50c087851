#include "tests/simcuda/cupti/host_records.h"

#include <atomic>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/device_description.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/lane.h"
#include "tests/simcuda/cupti/overhead_records.h"
#include "tests/simcuda/cupti/thread_ids.h"

namespace simcupti {
namespace {

using simcuda::Resource;
using simcuda::ResourceEvent;

// The legacy default stream's id in every context.
constexpr uint16_t kNullStreamId = 7;

struct Devices {
  std::atomic<bool> recorded{false};
};

void WriteContext(const ResourceEvent& event) {
  CUpti_ActivityContext3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = event.context_id;
  record.deviceId = event.device_id;
  record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  record.nullStreamId = kNullStreamId;
  HostLane().Write(record);
}

void WriteStream(const ResourceEvent& event) {
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = event.context_id;
  record.streamId = event.stream_id;
  record.priority = static_cast<uint32_t>(event.stream_priority);
  if (event.stream_id == kNullStreamId) {
    record.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL;
  } else if (event.stream_flags == CU_STREAM_NON_BLOCKING) {
    record.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
  } else {
    record.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
  }
  HostLane().Write(record);
}

void WriteModule(const ResourceEvent& event) {
  CUpti_ActivityModule record{};
  record.kind = CUPTI_ACTIVITY_KIND_MODULE;
  record.contextId = event.context_id;
  record.id = event.module_id;
  record.cubinSize = static_cast<uint32_t>(event.cubin_bytes);
  record.cubin = event.cubin;
  HostLane().Write(record);
}

void WriteDevices() {
  const simcuda::Driver* driver = FindDriver();
  if (driver == nullptr) return;
  for (int device = 0; device < driver->device_count(); ++device) {
    HostLane().Write(DescribeDevice(device));
  }
}

}  // namespace

void RecordApiCall(const simcuda::ApiCall& call) {
  Lane& lane = HostLane();
  WriteNotedOverheads(lane);
  CUpti_ActivityAPI record{};
  record.kind = call.domain == simcuda::ApiDomain::kRuntime ? CUPTI_ACTIVITY_KIND_RUNTIME
                                                            : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = call.cbid;
  record.start = ToRecordClock(call.start_ns);
  record.end = ToRecordClock(call.end_ns);
  record.processId = ProcessId();
  record.threadId = RecordedThreadId(call.pthread_id, call.system_thread_id);
  record.correlationId = call.correlation_id;
  record.returnValue = call.result;
  lane.Write(record);
}

void RecordSynchronization(const simcuda::Synchronization& synchronization) {
  if (!KindEnabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, synchronization.context_id)) return;
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = static_cast<CUpti_ActivitySynchronizationType>(synchronization.kind);
  record.start = ToRecordClock(synchronization.start_ns);
  record.end = ToRecordClock(synchronization.end_ns);
  record.correlationId = synchronization.correlation_id;
  record.contextId = synchronization.context_id;
  record.streamId = synchronization.stream_id;
  record.cudaEventId = synchronization.event_id;
  record.cudaEventSyncId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.returnValue = CUDA_SUCCESS;
  HostLane().Write(record);
}

void RecordMemory(const simcuda::MemoryEvent& event) {
  if (!KindEnabled(CUPTI_ACTIVITY_KIND_MEMORY2, event.context_id)) return;
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = event.allocated ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                               : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.memoryKind = static_cast<CUpti_ActivityMemoryKind>(event.memory_kind);
  record.correlationId = event.correlation_id;
  record.address = event.address;
  record.bytes = event.bytes;
  record.timestamp = ToRecordClock(event.time_ns);
  record.processId = ProcessId();
  record.deviceId = event.device_id;
  record.contextId = event.context_id != 0 ? event.context_id : CUPTI_INVALID_CONTEXT_ID;
  record.streamId = event.async ? event.stream_id : CUPTI_INVALID_STREAM_ID;
  record.isAsync = event.async ? 1 : 0;
  if (event.from_pool) {
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  }
  HostLane().Write(record);
}

void RecordMemoryPool(const simcuda::MemoryPoolEvent& event) {
  if (!KindEnabled(CUPTI_ACTIVITY_KIND_MEMORY_POOL, 0)) return;
  CUpti_ActivityMemoryPool3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolOperationType = static_cast<CUpti_ActivityMemoryPoolOperationType>(event.change);
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.correlationId = event.correlation_id;
  record.processId = ProcessId();
  record.deviceId = event.device_id;
  record.minBytesToKeep = event.min_bytes_to_keep;
  record.address = event.address;
  record.size = event.used_bytes;  // The simulated device reserves nothing beyond that.
  record.utilizedSize = event.used_bytes;
  record.releaseThreshold = event.release_threshold;
  record.timestamp = ToRecordClock(event.time_ns);
  HostLane().Write(record);
}

void RecordResource(const ResourceEvent& event) {
  switch (event.resource) {
    case Resource::kContextCreated:
      // A client that came while the driver was starting up has not seen it say so.
      RecordDevicesOnce();
      if (KindEnabled(CUPTI_ACTIVITY_KIND_CONTEXT, event.context_id)) WriteContext(event);
      break;
    case Resource::kStreamCreated:
      if (KindEnabled(CUPTI_ACTIVITY_KIND_STREAM, event.context_id)) WriteStream(event);
      break;
    case Resource::kModuleLoaded:
      if (KindEnabled(CUPTI_ACTIVITY_KIND_MODULE, event.context_id)) WriteModule(event);
      break;
    default:
      break;
  }
}

void RecordDevicesOnce() {
  if (!KindEnabled(CUPTI_ACTIVITY_KIND_DEVICE, 0)) return;
  if (!OfClient<Devices>().recorded.exchange(true)) WriteDevices();
}

void RecordExisting(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
    OfClient<Devices>().recorded.store(true);
    WriteDevices();
    return;
  }
  const simcuda::Driver* driver = FindDriver();
  if (driver == nullptr) return;
  const auto visit = [](const ResourceEvent& event, void* user) {
    const auto wanted = *static_cast<const CUpti_ActivityKind*>(user);
    if (wanted == CUPTI_ACTIVITY_KIND_CONTEXT && event.resource == Resource::kContextCreated) {
      WriteContext(event);
    } else if (wanted == CUPTI_ACTIVITY_KIND_STREAM && event.resource == Resource::kStreamCreated) {
      WriteStream(event);
    }
  };
  driver->for_each_resource(visit, &kind);
}

void ForgetRecordedDevices() { OfClient<Devices>().recorded.store(false); }

}  // namespace simcupti

#include "tests/simcuda/cupti/observer_hooks.h"

#include <cupti.h>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/device_records.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/external_correlation.h"
#include "tests/simcuda/cupti/graph_trace.h"
#include "tests/simcuda/cupti/host_records.h"
#include "tests/simcuda/cupti/lane.h"
#include "tests/simcuda/cupti/resource_callbacks.h"
#include "tests/simcuda/cupti/subscriber.h"

namespace simcupti {
namespace {

uint8_t FlagsOf(const simcuda::ApiCall& call) {
  return ApiFlags(call.domain, call.cbid).load(std::memory_order_relaxed);
}

bool IsSuccessfulInit(const simcuda::ApiCall& call) {
  return call.domain == simcuda::ApiDomain::kDriver &&
         call.cbid == CUPTI_DRIVER_TRACE_CBID_cuInit && call.result == CUDA_SUCCESS;
}

void EnterForClient(simcuda::ApiCall* call) {
  const uint8_t flags = FlagsOf(*call);
  if (flags == 0 && !AnyContextSettings()) return;
  // The callback first: ids that it pushes hold for this call.
  if (flags & kApiEnterAndExitCalled) CallBackForApi(call, CUPTI_API_ENTER);
  if (ApiCallRecorded(call->domain, flags, call->context_id)) {
    WriteExternalCorrelations(call->correlation_id, call->context_id, HostLane());
  }
}

void ExitForClient(simcuda::ApiCall* call) {
  if (call->symbol_name != nullptr && !call->nested && KernelsAreSerialized(call->context_id)) {
    DeliverWork(true);
  }
  if (IsSuccessfulInit(*call)) {
    RecordDevicesOnce();
    CallBackForDriverStart();
  }
  const uint8_t flags = FlagsOf(*call);
  if (flags == 0 && !AnyContextSettings()) return;
  if (flags & kApiEnterAndExitCalled) CallBackForApi(call, CUPTI_API_EXIT);
  // Asked again: the callback may have switched everything off.
  if (ApiCallRecorded(call->domain, FlagsOf(*call), call->context_id)) RecordApiCall(*call);
}

void ApiEnter(simcuda::ApiCall* call) {
  if (OwnCalls::Active()) return;
  ForEachClient([&] { EnterForClient(call); });
}

void ApiExit(simcuda::ApiCall* call) {
  if (OwnCalls::Active()) return;
  ForEachClient([&] { ExitForClient(call); });
}

uint64_t Submitting(uint32_t context_id) {
  uint64_t kinds = 0;
  ForEachClient([&] { kinds |= EnabledDeviceKinds(context_id); });
  return kinds;
}

void DeviceWorkDone(const simcuda::DeviceWork& work) {
  const InDelivery in_delivery;
  ForEachClient([&] { RecordDeviceWork(work); });
}

void Synchronized(const simcuda::Synchronization& synchronization) {
  ForEachClient([&] {
    EndGraphsBefore(synchronization);
    RecordSynchronization(synchronization);
    CallBackForSynchronization(synchronization);
  });
}

void ResourceChanged(const simcuda::ResourceEvent& event) {
  ForEachClient([&] {
    RecordResource(event);
    CallBackForResource(event);
  });
}

void MemoryChanged(const simcuda::MemoryEvent& event) {
  ForEachClient([&] { RecordMemory(event); });
}

void MemoryPoolChanged(const simcuda::MemoryPoolEvent& event) { RecordMemoryPool(event); }

}  // namespace

const simcuda::Observer& ObserverHooks() {
  static constexpr simcuda::Observer observer = {ApiEnter,       ApiExit,          Submitting,
                                                 DeviceWorkDone, Synchronized,     ResourceChanged,
                                                 MemoryChanged,  MemoryPoolChanged};
  return observer;
}

}  // namespace simcupti

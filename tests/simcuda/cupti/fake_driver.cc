#include "tests/simcuda/cupti/fake_driver.h"

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace fake_driver {
namespace {

using simcuda::ResourceEvent;

std::atomic<const simcuda::Observer*> observer{nullptr};
std::atomic<uint64_t> clock_ns{1'000'000};
std::atomic<uint32_t> last_correlation_id{0};
std::atomic<int> times_asked{0};
std::atomic<int> times_asked_to_wait{0};

struct Description {
  std::mutex mutex;
  std::map<uint32_t, uint32_t> device_of_context;
  std::vector<std::pair<uint32_t, uint32_t>> streams;  // Context, stream.
  std::vector<simcuda::DeviceWork> waiting;
  uint32_t current_context = 0;
  int devices = 1;
};

Description& Current() {
  static Description* const description = new Description;
  return *description;
}

// Handles are ids in disguise, far from anything that is mapped.
constexpr uintptr_t kContextBase = 0x10000000000;
constexpr uintptr_t kStreamBase = 0x20000000000;

uint32_t ContextId(void* context) {
  const auto id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) - kContextBase);
  Description& description = Current();
  std::lock_guard lock(description.mutex);
  return description.device_of_context.count(id) != 0 ? id : 0;
}

uint32_t StreamId(void* context, void* stream, bool) {
  if (stream == nullptr) return 7;
  const auto id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream) - kStreamBase);
  const uint32_t context_id = ContextId(context);
  Description& description = Current();
  std::lock_guard lock(description.mutex);
  for (const auto& known : description.streams) {
    if (known == std::pair(context_id, id)) return id;
  }
  return 0;
}

uint32_t DeviceOfContext(void* context) {
  const uint32_t id = ContextId(context);
  Description& description = Current();
  std::lock_guard lock(description.mutex);
  return description.device_of_context[id];
}

void* CurrentContext() {
  const uint32_t id = Current().current_context;
  return id != 0 ? ContextHandle(id) : nullptr;
}

int DeviceCount() { return Current().devices; }

simcuda::DeviceWork Submitted(simcuda::DeviceWork work) {
  if (const simcuda::Observer* seen_by = observer.load()) {
    work.observer_data = seen_by->submitting(work.context_id);
  }
  return work;
}

void Deliver(bool wait) {
  ++(wait ? times_asked_to_wait : times_asked);
  std::vector<simcuda::DeviceWork> waiting;
  {
    std::lock_guard lock(Current().mutex);
    waiting = std::exchange(Current().waiting, {});
  }
  const simcuda::Observer* seen_by = observer.load();
  if (seen_by == nullptr) return;
  for (const simcuda::DeviceWork& work : waiting) seen_by->device_work(work);
}

void ForEachResource(void (*visit)(const ResourceEvent&, void*), void* user) {
  std::vector<ResourceEvent> events;
  {
    Description& description = Current();
    std::lock_guard lock(description.mutex);
    for (const auto& [context_id, device_id] : description.device_of_context) {
      ResourceEvent event{};
      event.resource = simcuda::Resource::kContextCreated;
      event.context = ContextHandle(context_id);
      event.context_id = context_id;
      event.device_id = device_id;
      events.push_back(event);
    }
    for (const auto& [context_id, stream_id] : description.streams) {
      ResourceEvent event{};
      event.resource = simcuda::Resource::kStreamCreated;
      event.context = ContextHandle(context_id);
      event.context_id = context_id;
      event.stream = StreamHandle(stream_id);
      event.stream_id = stream_id;
      events.push_back(event);
    }
  }
  for (const ResourceEvent& event : events) visit(event, user);
}

constexpr simcuda::Driver kDriver = {
    Now,         ContextId, StreamId,       DeviceOfContext, CurrentContext,
    DeviceCount, Deliver,   ForEachResource};

}  // namespace

void Reset() {
  Description& description = Current();
  std::lock_guard lock(description.mutex);
  description.device_of_context.clear();
  description.streams.clear();
  description.waiting.clear();
  description.current_context = 0;
  description.devices = 1;
  times_asked = 0;
  times_asked_to_wait = 0;
}

bool HasObserver() { return observer.load() != nullptr; }

uint64_t Now() { return ++clock_ns; }

void AddContext(uint32_t context_id, uint32_t device_id) {
  std::lock_guard lock(Current().mutex);
  Current().device_of_context[context_id] = device_id;
}

void AddStream(uint32_t context_id, uint32_t stream_id) {
  std::lock_guard lock(Current().mutex);
  Current().streams.emplace_back(context_id, stream_id);
}

void* ContextHandle(uint32_t context_id) {
  return reinterpret_cast<void*>(kContextBase + context_id);
}
void* StreamHandle(uint32_t stream_id) { return reinterpret_cast<void*>(kStreamBase + stream_id); }
void SetCurrentContext(uint32_t context_id) { Current().current_context = context_id; }
void SetDeviceCount(int count) { Current().devices = count; }

uint32_t Call(simcuda::ApiDomain domain, uint32_t callback_id,
              const std::function<void()>& inside) {
  simcuda::ApiCall call{};
  call.domain = domain;
  call.cbid = callback_id;
  call.context_id = 1;
  call.context = ContextHandle(1);
  return Call(call, inside);
}

uint32_t Call(simcuda::ApiCall call, const std::function<void()>& inside) {
  if (call.correlation_id == 0) call.correlation_id = ++last_correlation_id;
  call.pthread_id = pthread_self();
  call.system_thread_id = static_cast<uint64_t>(syscall(SYS_gettid));
  call.result_pointer = &call.result;
  call.start_ns = Now();
  // A call ends with the observer that it began with.
  const simcuda::Observer* seen_by = observer.load();
  if (seen_by != nullptr) seen_by->api_enter(&call);
  if (inside) inside();
  call.end_ns = Now();
  if (seen_by != nullptr) seen_by->api_exit(&call);
  return call.correlation_id;
}

void Complete(const simcuda::DeviceWork& work) {
  if (const simcuda::Observer* seen_by = observer.load()) seen_by->device_work(Submitted(work));
}
void Synchronize(const simcuda::Synchronization& synchronization) {
  if (const simcuda::Observer* seen_by = observer.load()) seen_by->synchronization(synchronization);
}
void Change(const simcuda::ResourceEvent& event) {
  if (const simcuda::Observer* seen_by = observer.load()) seen_by->resource(event);
}
void ChangeMemory(const simcuda::MemoryEvent& event) {
  if (const simcuda::Observer* seen_by = observer.load()) seen_by->memory(event);
}

void ChangeMemoryPool(const simcuda::MemoryPoolEvent& event) {
  if (const simcuda::Observer* seen_by = observer.load()) seen_by->memory_pool(event);
}

void CompleteWhenAsked(const simcuda::DeviceWork& work) {
  const simcuda::DeviceWork submitted = Submitted(work);
  std::lock_guard lock(Current().mutex);
  Current().waiting.push_back(submitted);
}

int TimesAsked() { return times_asked; }
int TimesAskedToWait() { return times_asked_to_wait; }

simcuda::DeviceWork Kernel(uint32_t correlation_id) {
  simcuda::DeviceWork work{};
  work.kind = simcuda::WorkKind::kKernel;
  work.context_id = 1;
  work.stream_id = 7;
  work.correlation_id = correlation_id;
  work.name = "_Z6kernelv";
  work.grid_x = work.grid_y = work.grid_z = 1;
  work.block_x = 32;
  work.block_y = work.block_z = 1;
  work.queued_ns = Now();
  work.submitted_ns = Now();
  work.start_ns = Now();
  work.end_ns = Now();
  return work;
}

}  // namespace fake_driver

extern "C" {

const simcuda::Driver* simcuda_set_observer(const simcuda::Observer* observer) {
  fake_driver::observer.store(observer);
  return &fake_driver::kDriver;
}

// What a DEVICE record asks. A call to the first one is seen by the observer, as in a true driver.
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  fake_driver::Call(simcuda::ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuDeviceGetName);
  std::strncpy(name, device == 0 ? "Fake 0" : "Fake 1", static_cast<size_t>(bytes));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 1;
  return CUDA_SUCCESS;
}
}

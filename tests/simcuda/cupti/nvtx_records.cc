#include "tests/simcuda/cupti/nvtx_records.h"

#include <cupti.h>

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/lane.h"
#include "tests/simcuda/cupti/thread_ids.h"

namespace simcupti {
namespace {

// True once the pushed ranges of this thread are gone: what it still pushes while it ends is not
// tracked.
thread_local bool thread_is_ending = false;

// What a thread has pushed and not popped.
struct PushedRanges {
  std::unordered_map<const char*, std::vector<uint32_t>> ids_by_domain;
  uint64_t generation = 0;
  ~PushedRanges() { thread_is_ending = true; }
};

struct StartedRanges {
  std::mutex mutex;
  std::unordered_map<uint64_t, const char*> domain_by_id;  // Guarded by mutex.
};

// Pushed ranges of an earlier generation count as closed.
struct PushGeneration {
  std::atomic<uint64_t> number{0};
};
std::atomic<uint32_t> last_marker_id{0};

StartedRanges& CurrentStartedRanges() { return OfClient<StartedRanges>(); }

// nullptr while the thread ends.
std::vector<uint32_t>* PushedIds(const char* domain) {
  if (thread_is_ending) return nullptr;
  static thread_local std::array<PushedRanges, kMostClients> of_clients;
  PushedRanges& pushed = of_clients[static_cast<size_t>(CurrentClient())];
  const uint64_t current = OfClient<PushGeneration>().number.load(std::memory_order_relaxed);
  if (pushed.generation != current) {
    pushed.ids_by_domain.clear();
    pushed.generation = current;
  }
  return &pushed.ids_by_domain[domain];
}

void WriteMarker(CUpti_ActivityFlag flag, uint32_t id, const char* domain, const char* name) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = flag;
  record.timestamp = NowNs();
  record.id = id;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = ProcessId();
  record.objectId.pt.threadId = RecordedIdOfThisThread();
  record.name = name;
  record.domain = domain;
  HostLane().Write(record);
}

// Returns the new marker's id.
uint32_t WriteNewMarker(CUpti_ActivityFlag flag, const char* domain, const char* name) {
  const uint32_t id = NewMarkerId();
  WriteMarker(flag, id, domain, name);
  return id;
}

void WriteEnd(uint32_t id, const char* domain) {
  WriteMarker(CUPTI_ACTIVITY_FLAG_MARKER_END, id, domain, nullptr);
}

void WriteName(CUpti_ActivityObjectKind object_kind, const CUpti_ActivityObjectKindId& object_id,
               const char* name) {
  CUpti_ActivityName record{};
  record.kind = CUPTI_ACTIVITY_KIND_NAME;
  record.objectKind = object_kind;
  record.objectId = object_id;
  record.name = name;
  HostLane().Write(record);
}

// The context that has this stream; nullptr if none has.
void* ContextOfStream(const simcuda::Driver& driver, void* stream) {
  struct Search {
    void* stream;
    void* context;
  } search{stream, nullptr};
  driver.for_each_resource(
      [](const simcuda::ResourceEvent& event, void* user) {
        auto* asked = static_cast<Search*>(user);
        if (event.resource == simcuda::Resource::kStreamCreated && event.stream == asked->stream) {
          asked->context = event.context;
        }
      },
      &search);
  return search.context;
}

}  // namespace

bool MarkersEnabled() { return KindEnabled(CUPTI_ACTIVITY_KIND_MARKER, 0); }
uint32_t NewMarkerId() { return last_marker_id.fetch_add(1) + 1; }
bool NamesEnabled() { return KindEnabled(CUPTI_ACTIVITY_KIND_NAME, 0); }

void RecordMark(const char* domain, const char* name) {
  WriteNewMarker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, domain, name);
}

int RecordPush(const char* domain, const char* name) {
  std::vector<uint32_t>* pushed = PushedIds(domain);
  if (pushed == nullptr) return -1;
  pushed->push_back(WriteNewMarker(CUPTI_ACTIVITY_FLAG_MARKER_START, domain, name));
  return static_cast<int>(pushed->size()) - 1;
}

int RecordPop(const char* domain) {
  std::vector<uint32_t>* pushed = PushedIds(domain);
  if (pushed == nullptr || pushed->empty()) return -1;
  WriteEnd(pushed->back(), domain);
  pushed->pop_back();
  return static_cast<int>(pushed->size());
}

void RecordStart(uint32_t id, const char* domain, const char* name) {
  WriteMarker(CUPTI_ACTIVITY_FLAG_MARKER_START, id, domain, name);
  StartedRanges& started = CurrentStartedRanges();
  std::lock_guard lock(started.mutex);
  started.domain_by_id.emplace(id, domain);
}

void RecordEnd(uint64_t id) {
  const char* domain = nullptr;
  {
    StartedRanges& started = CurrentStartedRanges();
    std::lock_guard lock(started.mutex);
    const auto found = started.domain_by_id.find(id);
    if (found == started.domain_by_id.end()) return;
    domain = found->second;
    started.domain_by_id.erase(found);
  }
  WriteEnd(static_cast<uint32_t>(id), domain);
}

void RecordThreadName(uint32_t thread_id, const char* name) {
  CUpti_ActivityObjectKindId id{};
  id.pt.processId = ProcessId();
  id.pt.threadId = thread_id;
  WriteName(CUPTI_ACTIVITY_OBJECT_THREAD, id, name);
}

void RecordDeviceName(int device, const char* name) {
  CUpti_ActivityObjectKindId id{};
  id.dcs.deviceId = static_cast<uint32_t>(device);
  WriteName(CUPTI_ACTIVITY_OBJECT_DEVICE, id, name);
}

void RecordContextName(void* context, const char* name) {
  const simcuda::Driver* driver = FindDriver();
  if (driver == nullptr || context == nullptr) return;
  CUpti_ActivityObjectKindId id{};
  id.dcs.contextId = driver->context_id(context);
  if (id.dcs.contextId == 0) return;
  id.dcs.deviceId = driver->device_of_context(context);
  WriteName(CUPTI_ACTIVITY_OBJECT_CONTEXT, id, name);
}

void RecordStreamName(void* stream, const char* name) {
  const simcuda::Driver* driver = FindDriver();
  if (driver == nullptr) return;
  void* context = stream != nullptr ? ContextOfStream(*driver, stream) : nullptr;
  // The default streams have the same handles in every context.
  if (context == nullptr) context = driver->current_context();
  if (context == nullptr) return;
  CUpti_ActivityObjectKindId id{};
  id.dcs.streamId = driver->stream_id(context, stream, false);
  if (id.dcs.streamId == 0) return;
  id.dcs.contextId = driver->context_id(context);
  id.dcs.deviceId = driver->device_of_context(context);
  WriteName(CUPTI_ACTIVITY_OBJECT_STREAM, id, name);
}

void ForgetOpenRanges() {
  OfClient<PushGeneration>().number.fetch_add(1);
  StartedRanges& started = CurrentStartedRanges();
  std::lock_guard lock(started.mutex);
  started.domain_by_id.clear();
}

}  // namespace simcupti

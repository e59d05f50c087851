#include "tests/simcuda/cupti/overhead_records.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/lane.h"
#include "tests/simcuda/cupti/thread_ids.h"

namespace simcupti {
namespace {

struct Noted {
  std::mutex mutex;
  std::vector<CUpti_ActivityOverhead3> records;
  std::atomic<bool> any{false};
};

Noted& CurrentNoted() { return OfClient<Noted>(); }

}  // namespace

void NoteOverhead(CUpti_ActivityOverheadKind kind, uint64_t start_ns, uint64_t end_ns) {
  if (!KindEnabled(CUPTI_ACTIVITY_KIND_OVERHEAD, 0)) return;
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = kind;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = ProcessId();
  record.objectId.pt.threadId = RecordedIdOfThisThread();
  record.start = start_ns;
  record.end = end_ns;
  Noted& noted = CurrentNoted();
  std::lock_guard lock(noted.mutex);
  noted.records.push_back(record);
  noted.any.store(true, std::memory_order_release);
}

void WriteNotedOverheads(Lane& lane) {
  Noted& noted = CurrentNoted();
  if (!noted.any.load(std::memory_order_acquire)) return;
  std::vector<CUpti_ActivityOverhead3> records;
  {
    std::lock_guard lock(noted.mutex);
    records = std::exchange(noted.records, {});
    noted.any.store(false, std::memory_order_relaxed);
  }
  for (const CUpti_ActivityOverhead3& record : records) lane.Write(record);
}

void ForgetNotedOverheads() {
  Noted& noted = CurrentNoted();
  std::lock_guard lock(noted.mutex);
  noted.records.clear();
  noted.any.store(false, std::memory_order_relaxed);
}

}  // namespace simcupti

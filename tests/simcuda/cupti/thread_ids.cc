#include "tests/simcuda/cupti/thread_ids.h"

#include <cupti.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "tests/simcuda/cupti/api_entry.h"

namespace simcupti {
namespace {

std::atomic<CUpti_ActivityThreadIdType> type{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};

}  // namespace

uint32_t ProcessId() {
  static std::atomic<uint32_t> id{0};
  static const bool refreshed_by_fork = [] {
    id.store(static_cast<uint32_t>(getpid()));
    pthread_atfork(nullptr, nullptr, [] { id.store(static_cast<uint32_t>(getpid())); });
    return true;
  }();
  static_cast<void>(refreshed_by_fork);
  return id.load(std::memory_order_relaxed);
}

uint32_t RecordedThreadId(uint64_t pthread_id, uint64_t system_thread_id) {
  const bool system = type.load(std::memory_order_relaxed) == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return static_cast<uint32_t>(system ? system_thread_id : pthread_id);
}

uint32_t RecordedIdOfThisThread() {
  return RecordedThreadId(pthread_self(), static_cast<uint64_t>(syscall(SYS_gettid)));
}

void ResetThreadIdType() { type.store(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT); }

}  // namespace simcupti

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType wanted) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  if (wanted != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
      wanted != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) {
    return simcupti::Result(CUPTI_ERROR_NOT_SUPPORTED);
  }
  simcupti::type.store(wanted);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* current) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  if (current == nullptr) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  *current = simcupti::type.load();
  return CUPTI_SUCCESS;
}

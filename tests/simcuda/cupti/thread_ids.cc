#include "tests/simcuda/cupti/thread_ids.h"

#include <cupti.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/client.h"

namespace simcupti {
namespace {

struct ThreadIds {
  std::atomic<CUpti_ActivityThreadIdType> type{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};
};

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
  const bool system = ThreadIdType() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return static_cast<uint32_t>(system ? system_thread_id : pthread_id);
}

uint32_t RecordedIdOfThisThread() {
  return RecordedThreadId(pthread_self(), static_cast<uint64_t>(syscall(SYS_gettid)));
}

CUpti_ActivityThreadIdType ThreadIdType() {
  return OfClient<ThreadIds>().type.load(std::memory_order_relaxed);
}

bool SetThreadIdType(CUpti_ActivityThreadIdType wanted) {
  if (wanted != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
      wanted != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) {
    return false;
  }
  OfClient<ThreadIds>().type.store(wanted);
  return true;
}

void ResetThreadIdType() { SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT); }

}  // namespace simcupti

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType wanted) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::Result(simcupti::SetThreadIdType(wanted) ? CUPTI_SUCCESS
                                                            : CUPTI_ERROR_NOT_SUPPORTED);
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* current) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  if (current == nullptr) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  *current = simcupti::ThreadIdType();
  return CUPTI_SUCCESS;
}

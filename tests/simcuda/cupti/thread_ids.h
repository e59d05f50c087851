// The ids by which records name threads and the process.
#ifndef TESTS_SIMCUDA_CUPTI_THREAD_IDS_H_
#define TESTS_SIMCUDA_CUPTI_THREAD_IDS_H_

#include <cupti.h>

#include <cstdint>

namespace simcupti {

uint32_t ProcessId();

// What a record says for a thread that has these two ids: pthread_self() cut to 32 bits, or
// gettid() if the client wants that.
uint32_t RecordedThreadId(uint64_t pthread_id, uint64_t system_thread_id);
uint32_t RecordedIdOfThisThread();

CUpti_ActivityThreadIdType ThreadIdType();
// False for a type that is none.
bool SetThreadIdType(CUpti_ActivityThreadIdType wanted);
void ResetThreadIdType();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_THREAD_IDS_H_

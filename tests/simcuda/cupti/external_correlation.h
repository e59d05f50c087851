// Ids of the client's own, pushed and popped by thread and kind, that tie API calls to what the
// client knows.
#ifndef TESTS_SIMCUDA_CUPTI_EXTERNAL_CORRELATION_H_
#define TESTS_SIMCUDA_CUPTI_EXTERNAL_CORRELATION_H_

#include <cupti.h>

#include <cstdint>

namespace simcupti {

class Lane;

// Writes one record for each kind that has an id on top on this thread, if these records are
// enabled.
void WriteExternalCorrelations(uint32_t correlation_id, uint32_t context_id, Lane& lane);

// Empties the stacks of all threads.
// Of the calling thread; `last_id` may be nullptr.
CUptiResult PushExternalCorrelation(CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult PopExternalCorrelation(CUpti_ExternalCorrelationKind kind, uint64_t* last_id);

void ForgetExternalCorrelations();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_EXTERNAL_CORRELATION_H_

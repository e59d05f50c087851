// Counts the records of a client that found no place.
//
// Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_DROPPED_RECORDS_H_
#define TESTS_SIMCUDA_CUPTI_DROPPED_RECORDS_H_

#include <cstddef>
#include <cstdint>

namespace simcupti {

// Counts one record for the client and, where the record has a context, for that context and
// stream. Context id 0: none.
void CountDroppedRecord(uint32_t context_id, uint32_t stream_id);

// The number since the last call, which starts anew from 0. The two counts are apart: taking one
// leaves the other.
size_t TakeDroppedRecords();
size_t TakeDroppedRecordsOf(uint32_t context_id, uint32_t stream_id);

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_DROPPED_RECORDS_H_

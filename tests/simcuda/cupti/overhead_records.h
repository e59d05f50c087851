// What the library's own work costs the program, as OVERHEAD records.
//
// They are noted when they happen and written before the next API record of any thread: writing
// them at once would ask for a new buffer in the middle of a flush.
#ifndef TESTS_SIMCUDA_CUPTI_OVERHEAD_RECORDS_H_
#define TESTS_SIMCUDA_CUPTI_OVERHEAD_RECORDS_H_

#include <cupti.h>

#include <cstdint>

namespace simcupti {

class Lane;

// Times on the clock of records. Does nothing while the kind is not enabled.
void NoteOverhead(CUpti_ActivityOverheadKind kind, uint64_t start_ns, uint64_t end_ns);

// Writes what has been noted; an atomic load if nothing has.
void WriteNotedOverheads(Lane& lane);

void ForgetNotedOverheads();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_OVERHEAD_RECORDS_H_

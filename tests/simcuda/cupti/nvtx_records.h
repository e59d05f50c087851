// MARKER and NAME records: what a program says through NVTX.
//
// Ask MarkersEnabled() or NamesEnabled() first: while a kind is off, that is all an NVTX call
// costs, and nothing is tracked. A range that was opened while markers were off has no records.
//
// Texts are from KeepText(). A domain is its name, nullptr for the default domain.
// Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_NVTX_RECORDS_H_
#define TESTS_SIMCUDA_CUPTI_NVTX_RECORDS_H_

#include <cstdint>

namespace simcupti {

bool MarkersEnabled();
bool NamesEnabled();

// Never 0, and never twice the same.
uint32_t NewMarkerId();

void RecordMark(const char* domain, const char* name);

// Ranges of the calling thread. Both return the range's level, from 0 on; a pop without a push
// returns -1 and records nothing.
int RecordPush(const char* domain, const char* name);
int RecordPop(const char* domain);

// Ranges that may end on another thread, by their id. An unknown id is ignored.
void RecordStart(uint32_t id, const char* domain, const char* name);
void RecordEnd(uint64_t id);

// Names of a thread (as the system numbers it), a device, a CUcontext and a CUstream. A context or
// stream that the driver does not know is ignored.
void RecordThreadName(uint32_t thread_id, const char* name);
void RecordDeviceName(int device, const char* name);
void RecordContextName(void* context, const char* name);
void RecordStreamName(void* stream, const char* name);

// What is open now gets no end.
void ForgetOpenRanges();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_NVTX_RECORDS_H_

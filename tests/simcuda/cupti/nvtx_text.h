// Texts that a program hands to NVTX, as records carry them: UTF-8, and alive for ever, since a
// client may read a record at any time.
//
// Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_NVTX_TEXT_H_
#define TESTS_SIMCUDA_CUPTI_NVTX_TEXT_H_

namespace simcupti {

// The one copy of each text: equal texts have the same address. No text gives an empty one.
const char* KeepText(const char* text);
const char* KeepText(const wchar_t* text);

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_NVTX_TEXT_H_

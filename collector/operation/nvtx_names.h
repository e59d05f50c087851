// Names that the program gives to things through NVTX (nvtxNameOsThread, nvtxNameCudaStream,
// nvtxDomainResourceCreate, ...).
//
// Threads and devices are named by numbers that events have as well: those names go to the
// collector thread. Contexts and streams are named by handles, whose numbers CUPTI alone knows: it
// is an NVTX tool itself, is told of them as if NVTX had called it, and answers with records of its
// own (CUPTI_ACTIVITY_KIND_NAME). Names given while nothing is captured are not known to it.
// Events' names are not kept: nothing that is shown names an event.
#ifndef COLLECTOR_OPERATION_NVTX_NAMES_H_
#define COLLECTOR_OPERATION_NVTX_NAMES_H_

#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tp::collect {

// A function of ours for a place in one of NVTX's tables.
struct NvtxReplacement {
  unsigned int id;
  NvtxFunctionPointer function;
};

// The functions that name things, of one of NVTX's modules.
std::span<const NvtxReplacement> NamingFunctions(NvtxCallbackModule module);

struct GivenName {
  bool is_thread;  // Else a device.
  uint32_t id;     // gettid(), or the device's number.
  std::string name;
};

// Collector thread: those that were given since the last call, oldest first.
std::vector<GivenName> TakeGivenNames();
// Names that were given too fast to be kept, so far.
uint64_t GivenNamesLeftOut();

// libcupti's InitializeInjectionNvtx2: it is called when the first context or stream is named after
// that. nullptr: CUPTI is told no more.
void TellCuptiNames(int (*initialize)(NvtxGetExportTableFunc_t));
// For tests: whether it then takes the names of both.
bool CuptiTakesNames(int (*initialize)(NvtxGetExportTableFunc_t));

// In the child of a fork: the lock may be held by a thread that does not exist there.
void ResetNameLockAfterFork();

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_NVTX_NAMES_H_

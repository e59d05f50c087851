// Makes NVTX's ranges operations of the calling thread (operation/thread_operations.h), and takes
// the names that it gives to things (operation/nvtx_names.h). NVTX is
// header-only: each module of a program asks on its own, at its first NVTX call (NVTX 3:
// NVTX_INJECTION64_PATH, InitializeInjectionNvtx2); and once more at its first call of an extension
// (InitializeInjectionNvtxExtension).
#ifndef COLLECTOR_OPERATION_NVTX_LISTENER_H_
#define COLLECTOR_OPERATION_NVTX_LISTENER_H_

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

namespace tp::collect {

// NvtxGetExportTableFunc_t of nvtx3/nvtxDetail/nvtxTypes.h.
using NvtxGetExportTable = const void* (*)(uint32_t export_table_id);

// Puts our functions into one module's tables. False if it has none that we know: NVTX then goes on
// without us. Any thread, also at the same time for several modules.
bool ListenToNvtx(NvtxGetExportTable get_export_table);

// For a module whose NVTX has looked for its tool already: puts our functions where there are none,
// or takes ours out again. False if another tool's were left where they are.
bool PutNvtxFunctions(const NvtxExportTableCallbacks& callbacks, bool ours);

// The same for a module's table of NVTX's payload extension (ModuleInfo of
// operation/nvtx_payload_abi.h). False for other extensions.
bool ListenToNvtxExtension(void* module_info);

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_NVTX_LISTENER_H_

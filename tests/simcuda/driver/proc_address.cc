// cuGetProcAddress: from a base name, a CUDA version and flags to the exported symbol.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace {

// Suffixes in the order of preference. A version came with a CUDA release; those that are not
// listed here are older than CUDA 12.
struct Renewed {
  const char* name;
  int since;
  const char* suffix;
};
constexpr Renewed kRenewed[] = {
    {"cuCtxCreate", 12050, "_v4"},
    {"cuMemAdvise", 12020, "_v2"},
    {"cuMemPrefetchAsync", 12020, "_v2"},
    {"cuGraphGetEdges", 12030, "_v2"},
    {"cuGraphNodeGetDependencies", 12030, "_v2"},
    {"cuGraphNodeGetDependentNodes", 12030, "_v2"},
    {"cuGraphAddDependencies", 12030, "_v2"},
    {"cuGraphRemoveDependencies", 12030, "_v2"},
    {"cuGraphAddNode", 12030, "_v2"},
    {"cuStreamGetCaptureInfo", 12030, "_v3"},
    {"cuStreamUpdateCaptureDependencies", 12030, "_v2"},
    {"cuEventElapsedTime", 12080, "_v2"},
};

void* Own(const std::string& symbol) {
  static void* self = [] {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(&simcuda_api_gate), &info) == 0) return (void*)nullptr;
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return self == nullptr ? nullptr : dlsym(self, symbol.c_str());
}

void* FindVersioned(const std::string& name, int version, const std::string& stream_suffix) {
  for (const Renewed& renewed : kRenewed) {
    if (name == renewed.name && version >= renewed.since) {
      return Own(name + renewed.suffix + stream_suffix);
    }
  }
  for (const char* suffix : {"_v3", "_v2", ""}) {
    bool too_new = false;
    for (const Renewed& renewed : kRenewed) {
      too_new |=
          name == renewed.name && version < renewed.since && strcmp(suffix, renewed.suffix) == 0;
    }
    if (too_new) continue;
    if (void* found = Own(name + suffix + stream_suffix)) return found;
  }
  return nullptr;
}

CUresult Find(const char* symbol, void** pfn, int version, cuuint64_t flags,
              CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || pfn == nullptr || version < 2000) return CUDA_ERROR_INVALID_VALUE;
  *pfn = nullptr;
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) {
    *pfn = FindVersioned(symbol, version, "_ptsz");
    if (*pfn == nullptr) *pfn = FindVersioned(symbol, version, "_ptds");
  }
  if (*pfn == nullptr && strncmp(symbol, "cu", 2) == 0) *pfn = FindVersioned(symbol, version, "");
  if (status != nullptr) {
    *status = *pfn == nullptr ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return *pfn == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

}  // namespace

DRIVER_ENTRY_ALWAYS(cuGetProcAddress_v2,
                    (const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                     CUdriverProcAddressQueryResult* symbolStatus),
                    (symbol, pfn, cudaVersion, flags, symbolStatus)) {
  return Find(symbol, pfn, cudaVersion, flags, symbolStatus);
}

DRIVER_ENTRY_ALWAYS(cuGetProcAddress,
                    (const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags),
                    (symbol, pfn, cudaVersion, flags)) {
  return Find(symbol, pfn, cudaVersion, flags, nullptr);
}

// The private tables that NVIDIA's own libraries ask for do not exist here.
DRIVER_ENTRY_ALWAYS(cuGetExportTable, (const void** ppExportTable, const CUuuid* pExportTableId),
                    (ppExportTable, pExportTableId)) {
  if (ppExportTable == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ppExportTable = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

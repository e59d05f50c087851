// A tool that lets CUPTI record what the collector has it record by default, and throws the records
// away: what CUPTI costs any profiler. Named by CUDA_INJECTION64_PATH; the buffers that it hands
// out are always the same few.
#include <cupti.h>
#include <dlfcn.h>

#include <array>
#include <atomic>

namespace {

constexpr size_t kBuffers = 64, kBytes = 128 << 10;
alignas(8) std::array<uint8_t[kBytes], kBuffers> buffers;
std::array<std::atomic<bool>, kBuffers> lent;

void CUPTIAPI Request(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = nullptr;
  *bytes = *most_records = 0;
  for (size_t i = 0; i < kBuffers; ++i) {
    if (lent[i].exchange(true)) continue;
    *buffer = buffers[i];
    *bytes = kBytes;
    return;
  }
}

void CUPTIAPI Complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) {
  lent[(buffer - buffers[0]) / kBytes] = false;
}

template <typename Function>
Function* LookUp(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  void* library = dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) return 0;
  LookUp<decltype(cuptiActivityRegisterCallbacks)>(library, "cuptiActivityRegisterCallbacks")(
      &Request, &Complete);
  auto* enable = LookUp<decltype(cuptiActivityEnable)>(library, "cuptiActivityEnable");
  for (CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                  CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME,
                                  CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_OVERHEAD}) {
    enable(kind);
  }
  return 1;
}

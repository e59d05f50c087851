#include "collector/operation/nvtx_names.h"

#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <iterator>
#include <new>
#include <string_view>
#include <type_traits>

#include "collector/operation/text.h"

namespace tp::collect {
namespace {

using NvtxInitialize = int (*)(NvtxGetExportTableFunc_t);

// Names that the collector thread has not taken yet.
constexpr size_t kMostWaiting = 1024;
constexpr size_t kLongestWaiting = 256;  // Descriptions keep less.
constexpr size_t kWideNameBytes = 1024;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
std::vector<GivenName>& Waiting() {
  static auto* waiting = new std::vector<GivenName>;  // Used until the process ends.
  return *waiting;
}
std::atomic<uint64_t> g_left_out{0};
std::atomic<NvtxInitialize> g_cupti{nullptr};

void Keep(bool is_thread, uint32_t id, std::string_view name) {
  pthread_mutex_lock(&g_lock);
  bool is_kept = false;
  try {
    if (Waiting().size() < kMostWaiting) {
      Waiting().push_back({is_thread, id, std::string(name.substr(0, kLongestWaiting))});
      is_kept = true;
    }
  } catch (const std::bad_alloc&) {
  }
  pthread_mutex_unlock(&g_lock);
  if (!is_kept) ++g_left_out;
}

// A copy of NVTX's tables for CUPTI to put its functions in. It takes none if it does not find all
// of its modules there (seen: the core's, synchronization's and CUDA's).
class CuptiTables {
 public:
  // nullptr if CUPTI has none.
  template <typename Function>
  static Function FunctionOf(NvtxCallbackModule module, unsigned int id) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] {
      if (NvtxInitialize initialize = g_cupti.load(std::memory_order_acquire)) initialize(&Export);
    });
    return reinterpret_cast<Function>(g_functions[module][id]);
  }

 private:
  static constexpr unsigned int kSizes[NVTX_CB_MODULE_SIZE] = {0,
                                                               NVTX_CBID_CORE_SIZE,
                                                               NVTX_CBID_CUDA_SIZE,
                                                               NVTX_CBID_OPENCL_SIZE,
                                                               NVTX_CBID_CUDART_SIZE,
                                                               NVTX_CBID_CORE2_SIZE,
                                                               NVTX_CBID_SYNC_SIZE};
  static constexpr size_t kMost = 17;
  static_assert(NVTX_CBID_CORE_SIZE <= kMost && NVTX_CBID_CUDA_SIZE <= kMost &&
                NVTX_CBID_OPENCL_SIZE <= kMost && NVTX_CBID_CUDART_SIZE <= kMost &&
                NVTX_CBID_CORE2_SIZE <= kMost && NVTX_CBID_SYNC_SIZE <= kMost);

  static const void* NVTX_API Export(uint32_t id) {
    static const NvtxExportTableCallbacks kCallbacks = {sizeof(kCallbacks), &Table};
    static const NvtxExportTableVersionInfo kVersion = {sizeof(kVersion), NVTX_VERSION, 0,
                                                        [](uint32_t) {}};
    if (id == NVTX_ETID_CALLBACKS) return &kCallbacks;
    return id == NVTX_ETID_VERSIONINFO ? &kVersion : nullptr;
  }

  static int NVTX_API Table(NvtxCallbackModule module, NvtxFunctionTable* table,
                            unsigned int* size) {
    if (module <= NVTX_CB_MODULE_INVALID || module >= NVTX_CB_MODULE_SIZE) return 0;
    for (unsigned int id = 0; id < kSizes[module]; ++id) {
      g_places[module][id] = &g_functions[module][id];
    }
    *table = g_places[module];
    *size = kSizes[module];
    return 1;
  }

  static NvtxFunctionPointer g_functions[NVTX_CB_MODULE_SIZE][kMost];
  static NvtxFunctionPointer* g_places[NVTX_CB_MODULE_SIZE][kMost];
};
NvtxFunctionPointer CuptiTables::g_functions[NVTX_CB_MODULE_SIZE][kMost];
NvtxFunctionPointer* CuptiTables::g_places[NVTX_CB_MODULE_SIZE][kMost];

// All kinds of things that can be named, by what they are named with.

// A thread is named by its number; by its handle (cut to 32 bits, too) if it names itself.
void NameThread(uint64_t thread, std::string_view name) {
  const auto own = reinterpret_cast<uint64_t>(pthread_self());
  if (thread == own || thread == static_cast<uint32_t>(own)) {
    thread = static_cast<uint64_t>(gettid());
  }
  if (thread > 0 && thread <= INT32_MAX) Keep(true, static_cast<uint32_t>(thread), name);
}

void NameDevice(uint64_t device, std::string_view name) {
  if (device <= INT32_MAX) Keep(false, static_cast<uint32_t>(device), name);
}

// CUPTI may keep the text: it lives for ever.
template <typename Function>
void TellCupti(NvtxCallbackModule module, unsigned int id, uint64_t handle, std::string_view name) {
  if (g_cupti.load(std::memory_order_acquire) == nullptr) return;
  auto function = CuptiTables::FunctionOf<Function>(module, id);
  if (function == nullptr) return;
  const std::string_view kept = RegisterText(name)->text();
  function(reinterpret_cast<void*>(handle), kept.data());
}

void NameContext(uint64_t handle, std::string_view name) {
  TellCupti<void(NVTX_API*)(void*, const char*)>(NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_NameCuContextA,
                                                 handle, name);
}
void NameStream(uint64_t handle, std::string_view name) {
  TellCupti<void(NVTX_API*)(void*, const char*)>(NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_NameCuStreamA,
                                                 handle, name);
}

using Name = void (*)(uint64_t, std::string_view);

template <Name kName>
void WithText(uint64_t thing, const char* text) {
  if (text != nullptr && *text != '\0') kName(thing, CutText(text));
}
template <Name kName>
void WithText(uint64_t thing, const wchar_t* text) {
  char utf8[kWideNameBytes];
  const size_t length = text == nullptr ? 0 : WideToUtf8(text, utf8, sizeof(utf8));
  if (length > 0) kName(thing, {utf8, length});
}

template <typename Thing>
uint64_t NumberOf(Thing thing) {
  if constexpr (std::is_pointer_v<Thing>) {
    return reinterpret_cast<uint64_t>(thing);
  } else {
    return static_cast<uint64_t>(static_cast<uint32_t>(thing));
  }
}

// NVTX's functions: those for numbers and those for handles, for narrow and wide texts.
template <Name kName, typename Thing, typename Char>
void NVTX_API Given(Thing thing, const Char* text) {
  WithText<kName>(NumberOf(thing), text);
}

template <Name kName>
void WithMessage(const nvtxResourceAttributes_t& resource) {
  const uint64_t thing = resource.identifier.ullValue;
  switch (resource.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return WithText<kName>(thing, resource.message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return WithText<kName>(thing, resource.message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (resource.message.registered == nullptr) return;
      return kName(thing,
                   reinterpret_cast<const RegisteredText*>(resource.message.registered)->text());
    default:
      return;
  }
}

nvtxResourceHandle_t NVTX_API CreateResource(nvtxDomainHandle_t,
                                             nvtxResourceAttributes_t* resource) {
  if (resource == nullptr) return nullptr;
  switch (resource->identifierType) {
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE:
    case NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX:
      WithMessage<NameThread>(*resource);
      break;
    case NVTX_RESOURCE_TYPE_CUDA_DEVICE:
    case NVTX_RESOURCE_TYPE_CUDART_DEVICE:
      WithMessage<NameDevice>(*resource);
      break;
    case NVTX_RESOURCE_TYPE_CUDA_CONTEXT:
      WithMessage<NameContext>(*resource);
      break;
    case NVTX_RESOURCE_TYPE_CUDA_STREAM:
    case NVTX_RESOURCE_TYPE_CUDART_STREAM:
      WithMessage<NameStream>(*resource);
      break;
    default:
      break;
  }
  // Nothing is to be done when it is destroyed: the thing itself may live on.
  return nullptr;
}

template <typename Function>
NvtxFunctionPointer As(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

std::span<const NvtxReplacement> NamingFunctions(NvtxCallbackModule module) {
  static const NvtxReplacement kCore[] = {
      {NVTX_CBID_CORE_NameOsThreadA, As(Given<NameThread, uint32_t, char>)},
      {NVTX_CBID_CORE_NameOsThreadW, As(Given<NameThread, uint32_t, wchar_t>)},
  };
  static const NvtxReplacement kCore2[] = {
      {NVTX_CBID_CORE2_DomainResourceCreate, As(CreateResource)},
  };
  static const NvtxReplacement kCuda[] = {
      {NVTX_CBID_CUDA_NameCuDeviceA, As(Given<NameDevice, int, char>)},
      {NVTX_CBID_CUDA_NameCuDeviceW, As(Given<NameDevice, int, wchar_t>)},
      {NVTX_CBID_CUDA_NameCuContextA, As(Given<NameContext, void*, char>)},
      {NVTX_CBID_CUDA_NameCuContextW, As(Given<NameContext, void*, wchar_t>)},
      {NVTX_CBID_CUDA_NameCuStreamA, As(Given<NameStream, void*, char>)},
      {NVTX_CBID_CUDA_NameCuStreamW, As(Given<NameStream, void*, wchar_t>)},
  };
  static const NvtxReplacement kRuntime[] = {
      {NVTX_CBID_CUDART_NameCudaDeviceA, As(Given<NameDevice, int, char>)},
      {NVTX_CBID_CUDART_NameCudaDeviceW, As(Given<NameDevice, int, wchar_t>)},
      {NVTX_CBID_CUDART_NameCudaStreamA, As(Given<NameStream, void*, char>)},
      {NVTX_CBID_CUDART_NameCudaStreamW, As(Given<NameStream, void*, wchar_t>)},
  };
  switch (module) {
    case NVTX_CB_MODULE_CORE:
      return kCore;
    case NVTX_CB_MODULE_CORE2:
      return kCore2;
    case NVTX_CB_MODULE_CUDA:
      return kCuda;
    case NVTX_CB_MODULE_CUDART:
      return kRuntime;
    default:
      return {};
  }
}

std::vector<GivenName> TakeGivenNames() {
  std::vector<GivenName> taken;
  pthread_mutex_lock(&g_lock);
  taken.swap(Waiting());
  pthread_mutex_unlock(&g_lock);
  return taken;
}

uint64_t GivenNamesLeftOut() { return g_left_out; }

void TellCuptiNames(NvtxInitialize initialize) {
  g_cupti.store(initialize, std::memory_order_release);
}

bool CuptiTakesNames(NvtxInitialize initialize) {
  TellCuptiNames(initialize);
  const bool takes = CuptiTables::FunctionOf<NvtxFunctionPointer>(
                         NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_NameCuStreamA) != nullptr &&
                     CuptiTables::FunctionOf<NvtxFunctionPointer>(
                         NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_NameCuContextA) != nullptr;
  TellCuptiNames(nullptr);
  return takes;
}

void ResetNameLockAfterFork() { g_lock = PTHREAD_MUTEX_INITIALIZER; }

}  // namespace tp::collect

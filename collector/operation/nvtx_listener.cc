#include "collector/operation/nvtx_listener.h"

#include <nvtx3/nvToolsExt.h>

#include <new>
#include <span>

#include "collector/operation/nvtx_names.h"
#include "collector/operation/text.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

static_assert(sizeof(nvtxRangeId_t) == sizeof(uint64_t));

constexpr size_t kWideBytes = 8192;

const Domain* DomainOf(nvtxDomainHandle_t handle) {
  return reinterpret_cast<const Domain*>(handle);
}

int PushText(const Domain* domain, const RangeText& text) {
  ThreadOperations* thread = ThreadOperations::Current();
  if (thread != nullptr) return thread->Push(domain, text);
  ThreadOperations::CountWithoutRoom();
  return NVTX_NO_PUSH_POP_TRACKING;
}

int PopIn(const Domain* domain) {
  ThreadOperations* thread = ThreadOperations::Current();
  return thread == nullptr ? NVTX_NO_PUSH_POP_TRACKING : thread->Pop(domain);
}

nvtxRangeId_t StartText(const Domain* domain, const RangeText& text) {
  ThreadOperations* thread = ThreadOperations::Current();
  if (thread != nullptr) return thread->Start(domain, text);
  ThreadOperations::CountWithoutRoom();
  return 0;
}

void EndRange(nvtxRangeId_t id) {
  if (id == 0) return;
  if (ThreadOperations* thread = ThreadOperations::Current(); thread != nullptr) thread->End(id);
}

// Calls `use(RangeText)` with a narrow, wide or registered text.
template <typename Use>
auto WithAscii(const char* text, Use&& use) {
  return use(RangeText{text == nullptr ? std::string_view() : CutText(text)});
}

template <typename Use>
auto WithWide(const wchar_t* text, Use&& use) {
  char utf8[kWideBytes];
  size_t length = text == nullptr ? 0 : WideToUtf8(text, utf8, sizeof(utf8));
  return use(RangeText{{utf8, length}});
}

template <typename Use>
auto WithAttributes(const nvtxEventAttributes_t* attributes, Use&& use) {
  if (attributes == nullptr) return use(RangeText{});
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return WithAscii(attributes->message.ascii, use);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return WithWide(attributes->message.unicode, use);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return use(
          RangeText{{}, reinterpret_cast<const RegisteredText*>(attributes->message.registered)});
    default:
      return use(RangeText{});
  }
}

// The core module: the default domain.

int NVTX_API RangePushEx(const nvtxEventAttributes_t* attributes) {
  return WithAttributes(attributes, [](const RangeText& text) { return PushText(nullptr, text); });
}
int NVTX_API RangePushA(const char* message) {
  return WithAscii(message, [](const RangeText& text) { return PushText(nullptr, text); });
}
int NVTX_API RangePushW(const wchar_t* message) {
  return WithWide(message, [](const RangeText& text) { return PushText(nullptr, text); });
}
int NVTX_API RangePop() { return PopIn(nullptr); }

nvtxRangeId_t NVTX_API RangeStartEx(const nvtxEventAttributes_t* attributes) {
  return WithAttributes(attributes, [](const RangeText& text) { return StartText(nullptr, text); });
}
nvtxRangeId_t NVTX_API RangeStartA(const char* message) {
  return WithAscii(message, [](const RangeText& text) { return StartText(nullptr, text); });
}
nvtxRangeId_t NVTX_API RangeStartW(const wchar_t* message) {
  return WithWide(message, [](const RangeText& text) { return StartText(nullptr, text); });
}
void NVTX_API RangeEnd(nvtxRangeId_t id) { EndRange(id); }

// The core2 module: named domains and registered strings.

int NVTX_API DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return WithAttributes(
      attributes, [domain](const RangeText& text) { return PushText(DomainOf(domain), text); });
}
int NVTX_API DomainRangePop(nvtxDomainHandle_t domain) { return PopIn(DomainOf(domain)); }

nvtxRangeId_t NVTX_API DomainRangeStartEx(nvtxDomainHandle_t domain,
                                          const nvtxEventAttributes_t* attributes) {
  return WithAttributes(
      attributes, [domain](const RangeText& text) { return StartText(DomainOf(domain), text); });
}
void NVTX_API DomainRangeEnd(nvtxDomainHandle_t, nvtxRangeId_t id) { EndRange(id); }

nvtxStringHandle_t HandleOf(const RegisteredText* text) {
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<RegisteredText*>(text));
}
nvtxDomainHandle_t HandleOf(const Domain* domain) {
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<Domain*>(domain));
}

nvtxStringHandle_t NVTX_API DomainRegisterStringA(nvtxDomainHandle_t, const char* text) {
  return WithAscii(text, [](const RangeText& range) { return HandleOf(RegisterText(range.text)); });
}
nvtxStringHandle_t NVTX_API DomainRegisterStringW(nvtxDomainHandle_t, const wchar_t* text) {
  return WithWide(text, [](const RangeText& range) { return HandleOf(RegisterText(range.text)); });
}
nvtxDomainHandle_t NVTX_API DomainCreateA(const char* name) {
  return WithAscii(name,
                   [](const RangeText& range) { return HandleOf(RegisterDomain(range.text)); });
}
nvtxDomainHandle_t NVTX_API DomainCreateW(const wchar_t* name) {
  return WithWide(name,
                  [](const RangeText& range) { return HandleOf(RegisterDomain(range.text)); });
}
void NVTX_API DomainDestroy(nvtxDomainHandle_t) {
}  // Its ranges may still be on their way to the daemon.

template <typename Function>
NvtxFunctionPointer Pointer(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

bool Replace(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
             std::span<const NvtxReplacement> replacements) {
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks.GetModuleFunctionTable == nullptr ||
      callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) {
    return false;
  }
  for (const NvtxReplacement& replacement : replacements) {
    if (replacement.id < size && table[replacement.id] != nullptr) {
      *table[replacement.id] = replacement.function;
    }
  }
  return true;
}

}  // namespace

bool ListenToNvtx(NvtxGetExportTable get_export_table) {
  if (get_export_table == nullptr) return false;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) {
    return false;
  }
  static const NvtxReplacement kCore[] = {
      {NVTX_CBID_CORE_RangePushEx, Pointer(RangePushEx)},
      {NVTX_CBID_CORE_RangePushA, Pointer(RangePushA)},
      {NVTX_CBID_CORE_RangePushW, Pointer(RangePushW)},
      {NVTX_CBID_CORE_RangePop, Pointer(RangePop)},
      {NVTX_CBID_CORE_RangeStartEx, Pointer(RangeStartEx)},
      {NVTX_CBID_CORE_RangeStartA, Pointer(RangeStartA)},
      {NVTX_CBID_CORE_RangeStartW, Pointer(RangeStartW)},
      {NVTX_CBID_CORE_RangeEnd, Pointer(RangeEnd)},
  };
  static const NvtxReplacement kCore2[] = {
      {NVTX_CBID_CORE2_DomainRangePushEx, Pointer(DomainRangePushEx)},
      {NVTX_CBID_CORE2_DomainRangePop, Pointer(DomainRangePop)},
      {NVTX_CBID_CORE2_DomainRangeStartEx, Pointer(DomainRangeStartEx)},
      {NVTX_CBID_CORE2_DomainRangeEnd, Pointer(DomainRangeEnd)},
      {NVTX_CBID_CORE2_DomainRegisterStringA, Pointer(DomainRegisterStringA)},
      {NVTX_CBID_CORE2_DomainRegisterStringW, Pointer(DomainRegisterStringW)},
      {NVTX_CBID_CORE2_DomainCreateA, Pointer(DomainCreateA)},
      {NVTX_CBID_CORE2_DomainCreateW, Pointer(DomainCreateW)},
      {NVTX_CBID_CORE2_DomainDestroy, Pointer(DomainDestroy)},
  };
  bool core = Replace(*callbacks, NVTX_CB_MODULE_CORE, kCore);
  bool core2 = Replace(*callbacks, NVTX_CB_MODULE_CORE2, kCore2);
  for (NvtxCallbackModule module :
       {NVTX_CB_MODULE_CORE, NVTX_CB_MODULE_CORE2, NVTX_CB_MODULE_CUDA, NVTX_CB_MODULE_CUDART}) {
    Replace(*callbacks, module, NamingFunctions(module));
  }
  return core || core2;
}

}  // namespace tp::collect

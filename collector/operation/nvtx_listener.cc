#include "collector/operation/nvtx_listener.h"

#include <nvtx3/nvToolsExt.h>

#include <new>
#include <span>

#include "collector/operation/nvtx_names.h"
#include "collector/operation/nvtx_payload_abi.h"
#include "collector/operation/nvtx_payloads.h"
#include "collector/operation/nvtx_registry.h"
#include "collector/operation/operation_details.h"
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
  return use(RangeText{.text = text == nullptr ? std::string_view("") : CutText(text)});
}

template <typename Use>
auto WithWide(const wchar_t* text, Use&& use) {
  char utf8[kWideBytes];
  size_t length = text == nullptr ? 0 : WideToUtf8(text, utf8, sizeof(utf8));
  return use(RangeText{.text = {utf8, length}});
}

template <typename Use>
auto WithMessage(const nvtxEventAttributes_t& attributes, Use&& use) {
  switch (attributes.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return WithAscii(attributes.message.ascii, use);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return WithWide(attributes.message.unicode, use);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      // NVTX gave the program nothing when it registered a text while no tool was there.
      if (attributes.message.registered == nullptr) {
        return use(RangeText{.text = "(registered before we came)"});
      }
      return use(RangeText{
          .registered = reinterpret_cast<const RegisteredText*>(attributes.message.registered)});
    default:
      return use(RangeText{});
  }
}

void PutDetails(const nvtxEventAttributes_t& attributes, DetailsWriter* writer) {
  NvtxHeader header = {.category = attributes.category,
                       .payload_type = attributes.payloadType,
                       .payload = attributes.payload.ullValue,
                       .payloads = 0};
  writer->Put(header);
  if (attributes.payloadType != nvtx::kPayloadTypeExtension || attributes.reserved0 < 0) return;
  header.payloads =
      PutPayloads(reinterpret_cast<const nvtx::PayloadData*>(attributes.payload.ullValue),
                  static_cast<size_t>(attributes.reserved0), writer);
  writer->PutFirst(header);
}

template <typename Use>
auto WithAttributes(const nvtxEventAttributes_t* attributes, Use&& use) {
  if (attributes == nullptr) return use(RangeText{});
  if (attributes->payloadType == NVTX_PAYLOAD_UNKNOWN && attributes->category == 0) {
    return WithMessage(*attributes, use);
  }
  DetailsWriter writer;
  PutDetails(*attributes, &writer);
  return WithMessage(*attributes, [&](RangeText text) {
    text.details = writer.bytes();
    text.form = DetailsForm::kNvtx;
    return use(text);
  });
}

// Calls `use(RangeText)` with what an event of payloads alone says.
template <typename Use>
auto WithPayloads(const nvtx::PayloadData* payloads, size_t count, Use&& use) {
  DetailsWriter writer;
  NvtxHeader header = {};
  writer.Put(header);
  header.payloads = PutPayloads(payloads, count, &writer);
  writer.PutFirst(header);
  return use(RangeText{
      .text = MessageOf(payloads, count), .details = writer.bytes(), .form = DetailsForm::kNvtx});
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

void NVTX_API NameCategoryA(uint32_t category, const char* name) {
  WithAscii(name,
            [category](const RangeText& text) { NameCategory(nullptr, category, text.text); });
}
void NVTX_API NameCategoryW(uint32_t category, const wchar_t* name) {
  WithWide(name, [category](const RangeText& text) { NameCategory(nullptr, category, text.text); });
}

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

void NVTX_API DomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char* name) {
  WithAscii(name,
            [=](const RangeText& text) { NameCategory(DomainOf(domain), category, text.text); });
}
void NVTX_API DomainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category,
                                  const wchar_t* name) {
  WithWide(name,
           [=](const RangeText& text) { NameCategory(DomainOf(domain), category, text.text); });
}

// The payload extension.

uint64_t NVTX_API SchemaRegister(nvtxDomainHandle_t domain,
                                 const nvtx::SchemaAttributes* attributes) {
  try {
    return RegisterSchema(DomainOf(domain), attributes);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}
uint64_t NVTX_API EnumRegister(nvtxDomainHandle_t domain, const nvtx::EnumAttributes* attributes) {
  try {
    return RegisterEnumeration(DomainOf(domain), attributes);
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

int NVTX_API RangePushPayload(nvtxDomainHandle_t domain, const nvtx::PayloadData* payloads,
                              size_t count) {
  return WithPayloads(payloads, count,
                      [domain](const RangeText& text) { return PushText(DomainOf(domain), text); });
}
int NVTX_API RangePopPayload(nvtxDomainHandle_t domain, const nvtx::PayloadData* payloads,
                             size_t count) {
  return WithPayloads(payloads, count, [domain](const RangeText& text) {
    ThreadOperations* thread = ThreadOperations::Current();
    if (thread == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
    thread->AddToInnermost(DomainOf(domain), text.details, text.form);
    return thread->Pop(DomainOf(domain));
  });
}
nvtxRangeId_t NVTX_API RangeStartPayload(nvtxDomainHandle_t domain,
                                         const nvtx::PayloadData* payloads, size_t count) {
  return WithPayloads(payloads, count, [domain](const RangeText& text) {
    return StartText(DomainOf(domain), text);
  });
}
void NVTX_API RangeEndPayload(nvtxDomainHandle_t domain, nvtxRangeId_t id,
                              const nvtx::PayloadData* payloads, size_t count) {
  WithPayloads(payloads, count, [=](const RangeText& text) {
    ThreadOperations* thread = ThreadOperations::Current();
    if (thread == nullptr || id == 0) return;
    thread->AddTo(id, DomainOf(domain), text.details, text.form);
    thread->End(id);
  });
}

template <typename Function>
NvtxFunctionPointer Pointer(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

// Calls `visit(NvtxFunctionPointer* place, NvtxFunctionPointer ours)` for each; false if the module
// has no such table.
template <typename Visit>
bool ForEachPlace(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
                  std::span<const NvtxReplacement> replacements, Visit&& visit) {
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks.GetModuleFunctionTable == nullptr ||
      callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) {
    return false;
  }
  for (const NvtxReplacement& replacement : replacements) {
    if (replacement.id < size && table[replacement.id] != nullptr) {
      visit(table[replacement.id], replacement.function);
    }
  }
  return true;
}

// All our functions.
template <typename Visit>
bool ForEachPlace(const NvtxExportTableCallbacks& callbacks, const Visit& visit) {
  static const NvtxReplacement kCore[] = {
      {NVTX_CBID_CORE_RangePushEx, Pointer(RangePushEx)},
      {NVTX_CBID_CORE_RangePushA, Pointer(RangePushA)},
      {NVTX_CBID_CORE_RangePushW, Pointer(RangePushW)},
      {NVTX_CBID_CORE_RangePop, Pointer(RangePop)},
      {NVTX_CBID_CORE_RangeStartEx, Pointer(RangeStartEx)},
      {NVTX_CBID_CORE_RangeStartA, Pointer(RangeStartA)},
      {NVTX_CBID_CORE_RangeStartW, Pointer(RangeStartW)},
      {NVTX_CBID_CORE_RangeEnd, Pointer(RangeEnd)},
      {NVTX_CBID_CORE_NameCategoryA, Pointer(NameCategoryA)},
      {NVTX_CBID_CORE_NameCategoryW, Pointer(NameCategoryW)},
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
      {NVTX_CBID_CORE2_DomainNameCategoryA, Pointer(DomainNameCategoryA)},
      {NVTX_CBID_CORE2_DomainNameCategoryW, Pointer(DomainNameCategoryW)},
  };
  bool core = ForEachPlace(callbacks, NVTX_CB_MODULE_CORE, kCore, visit);
  bool core2 = ForEachPlace(callbacks, NVTX_CB_MODULE_CORE2, kCore2, visit);
  for (NvtxCallbackModule module :
       {NVTX_CB_MODULE_CORE, NVTX_CB_MODULE_CORE2, NVTX_CB_MODULE_CUDA, NVTX_CB_MODULE_CUDART}) {
    ForEachPlace(callbacks, module, NamingFunctions(module), visit);
  }
  return core || core2;
}

}  // namespace

bool ListenToNvtx(NvtxGetExportTable get_export_table) {
  if (get_export_table == nullptr) return false;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) {
    return false;
  }
  return ForEachPlace(*callbacks,
                      [](NvtxFunctionPointer* place, NvtxFunctionPointer ours) { *place = ours; });
}

bool PutNvtxFunctions(const NvtxExportTableCallbacks& callbacks, bool ours) {
  bool is_ours_alone = true;
  ForEachPlace(callbacks, [&](NvtxFunctionPointer* place, NvtxFunctionPointer function) {
    // Others may do the same at any time.
    NvtxFunctionPointer expected = ours ? nullptr : function;
    __atomic_compare_exchange_n(place, &expected, ours ? function : nullptr, /*weak=*/false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    is_ours_alone &= expected == nullptr || expected == function;
  });
  return is_ours_alone;
}

bool ListenToNvtxExtension(void* module_info) {
  const auto* module = static_cast<const nvtx::ModuleInfo*>(module_info);
  if (module == nullptr || module->struct_size < sizeof(nvtx::ModuleInfo) ||
      module->module_id != nvtx::kPayloadModule ||
      module->compatibility >> 8 != nvtx::kCompatible || module->segment_count == 0) {
    return false;
  }
  const struct {
    size_t slot;
    NvtxFunctionPointer function;
  } kFunctions[] = {
      {nvtx::kSchemaRegister, Pointer(SchemaRegister)},
      {nvtx::kEnumRegister, Pointer(EnumRegister)},
      {nvtx::kRangePushPayload, Pointer(RangePushPayload)},
      {nvtx::kRangePopPayload, Pointer(RangePopPayload)},
      {nvtx::kRangeStartPayload, Pointer(RangeStartPayload)},
      {nvtx::kRangeEndPayload, Pointer(RangeEndPayload)},
  };
  const nvtx::ModuleSegment& segment = module->segments[0];
  for (const auto& [slot, function] : kFunctions) {
    if (slot < segment.slot_count) segment.slots[slot] = reinterpret_cast<intptr_t>(function);
  }
  return true;
}

}  // namespace tp::collect

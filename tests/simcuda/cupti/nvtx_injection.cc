// The NVTX tool that the library is where NVTX_INJECTION64_PATH names it: NVTX calls of the program
// come here. Domains and registered strings are handed out always, since a program makes them once
// and uses them when records may be wanted.

#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/nvtx_records.h"
#include "tests/simcuda/cupti/nvtx_text.h"

namespace simcupti {
namespace {

// A handle is the kept text itself: a domain's name, a registered string.
template <class Handle>
Handle HandleOf(const char* text) {
  return reinterpret_cast<Handle>(const_cast<char*>(text));
}
const char* TextOf(const void* handle) { return static_cast<const char*>(handle); }

// What a range or mark is called, in each of the ways in which a program may say it.
const char* NameIn(const char* text) { return KeepText(text); }
const char* NameIn(const wchar_t* text) { return KeepText(text); }
const char* NameIn(const nvtxEventAttributes_t* attributes) {
  switch (attributes != nullptr ? attributes->messageType : NVTX_MESSAGE_UNKNOWN) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return KeepText(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return KeepText(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (attributes->message.registered != nullptr) return TextOf(attributes->message.registered);
      [[fallthrough]];
    default:
      return KeepText("");
  }
}

template <class Text>
void DomainMark(nvtxDomainHandle_t domain, Text text) {
  ForEachClient([&] {
    if (MarkersEnabled()) RecordMark(TextOf(domain), NameIn(text));
  });
}
template <class Text>
int DomainPush(nvtxDomainHandle_t domain, Text text) {
  int level = NVTX_NO_PUSH_POP_TRACKING;
  ForEachClient([&] {
    if (MarkersEnabled()) level = RecordPush(TextOf(domain), NameIn(text));
  });
  return level;
}
int DomainPop(nvtxDomainHandle_t domain) {
  int level = NVTX_NO_PUSH_POP_TRACKING;
  ForEachClient([&] {
    if (MarkersEnabled()) level = RecordPop(TextOf(domain));
  });
  return level;
}
template <class Text>
nvtxRangeId_t DomainStart(nvtxDomainHandle_t domain, Text text) {
  uint32_t id = 0;
  ForEachClient([&] {
    if (!MarkersEnabled()) return;
    if (id == 0) id = NewMarkerId();
    RecordStart(id, TextOf(domain), NameIn(text));
  });
  return id;
}
void DomainEnd(nvtxDomainHandle_t, nvtxRangeId_t id) {
  ForEachClient([&] {
    if (MarkersEnabled()) RecordEnd(id);
  });
}

template <class Text>
void Mark(Text text) {
  DomainMark(nullptr, text);
}
template <class Text>
int Push(Text text) {
  return DomainPush(nullptr, text);
}
int Pop() { return DomainPop(nullptr); }
template <class Text>
nvtxRangeId_t Start(Text text) {
  return DomainStart(nullptr, text);
}
void End(nvtxRangeId_t id) { DomainEnd(nullptr, id); }

template <class Char>
nvtxDomainHandle_t CreateDomain(const Char* name) {
  return HandleOf<nvtxDomainHandle_t>(KeepText(name));
}
template <class Char>
nvtxStringHandle_t RegisterString(nvtxDomainHandle_t, const Char* text) {
  return HandleOf<nvtxStringHandle_t>(KeepText(text));
}

template <auto kRecord, class Object, class Char>
void Name(Object object, const Char* name) {
  ForEachClient([&] {
    if (NamesEnabled()) kRecord(object, KeepText(name));
  });
}

struct Taken {
  unsigned int id;
  NvtxFunctionPointer function;
};

// Whose type must be the one that NVTX calls it with.
template <class Type>
NvtxFunctionPointer As(Type function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

template <size_t kCount>
bool Take(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
          const Taken (&all_taken)[kCount]) {
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) {
    return false;
  }
  for (const Taken& taken : all_taken) {
    if (taken.id < size && table[taken.id] != nullptr) *table[taken.id] = taken.function;
  }
  return true;
}

bool TakeCore(const NvtxExportTableCallbacks& callbacks) {
  using Attributes = const nvtxEventAttributes_t*;
  using Narrow = const char*;
  using Wide = const wchar_t*;
  const Taken core[] = {
      {NVTX_CBID_CORE_MarkEx, As<nvtxMarkEx_impl_fntype>(Mark<Attributes>)},
      {NVTX_CBID_CORE_MarkA, As<nvtxMarkA_impl_fntype>(Mark<Narrow>)},
      {NVTX_CBID_CORE_MarkW, As<nvtxMarkW_impl_fntype>(Mark<Wide>)},
      {NVTX_CBID_CORE_RangeStartEx, As<nvtxRangeStartEx_impl_fntype>(Start<Attributes>)},
      {NVTX_CBID_CORE_RangeStartA, As<nvtxRangeStartA_impl_fntype>(Start<Narrow>)},
      {NVTX_CBID_CORE_RangeStartW, As<nvtxRangeStartW_impl_fntype>(Start<Wide>)},
      {NVTX_CBID_CORE_RangeEnd, As<nvtxRangeEnd_impl_fntype>(End)},
      {NVTX_CBID_CORE_RangePushEx, As<nvtxRangePushEx_impl_fntype>(Push<Attributes>)},
      {NVTX_CBID_CORE_RangePushA, As<nvtxRangePushA_impl_fntype>(Push<Narrow>)},
      {NVTX_CBID_CORE_RangePushW, As<nvtxRangePushW_impl_fntype>(Push<Wide>)},
      {NVTX_CBID_CORE_RangePop, As<nvtxRangePop_impl_fntype>(Pop)},
      {NVTX_CBID_CORE_NameOsThreadA,
       As<nvtxNameOsThreadA_impl_fntype>(Name<RecordThreadName, uint32_t, char>)},
      {NVTX_CBID_CORE_NameOsThreadW,
       As<nvtxNameOsThreadW_impl_fntype>(Name<RecordThreadName, uint32_t, wchar_t>)},
  };
  const Taken core2[] = {
      {NVTX_CBID_CORE2_DomainMarkEx, As<nvtxDomainMarkEx_impl_fntype>(DomainMark<Attributes>)},
      {NVTX_CBID_CORE2_DomainRangeStartEx,
       As<nvtxDomainRangeStartEx_impl_fntype>(DomainStart<Attributes>)},
      {NVTX_CBID_CORE2_DomainRangeEnd, As<nvtxDomainRangeEnd_impl_fntype>(DomainEnd)},
      {NVTX_CBID_CORE2_DomainRangePushEx,
       As<nvtxDomainRangePushEx_impl_fntype>(DomainPush<Attributes>)},
      {NVTX_CBID_CORE2_DomainRangePop, As<nvtxDomainRangePop_impl_fntype>(DomainPop)},
      {NVTX_CBID_CORE2_DomainRegisterStringA,
       As<nvtxDomainRegisterStringA_impl_fntype>(RegisterString<char>)},
      {NVTX_CBID_CORE2_DomainRegisterStringW,
       As<nvtxDomainRegisterStringW_impl_fntype>(RegisterString<wchar_t>)},
      {NVTX_CBID_CORE2_DomainCreateA, As<nvtxDomainCreateA_impl_fntype>(CreateDomain<char>)},
      {NVTX_CBID_CORE2_DomainCreateW, As<nvtxDomainCreateW_impl_fntype>(CreateDomain<wchar_t>)},
  };
  // As the real ones do (11.7 to 12.9), which go no further without all three.
  NvtxFunctionTable synchronization = nullptr;
  unsigned int size = 0;
  return Take(callbacks, NVTX_CB_MODULE_CORE, core) &&
         Take(callbacks, NVTX_CB_MODULE_CORE2, core2) &&
         callbacks.GetModuleFunctionTable(NVTX_CB_MODULE_SYNC, &synchronization, &size) != 0;
}

// Events have no object kind, so that CUPTI has no record for their names.
void TakeNamesOfCudaObjects(const NvtxExportTableCallbacks& callbacks) {
  const Taken driver_objects[] = {
      {NVTX_CBID_CUDA_NameCuDeviceA,
       As<nvtxNameCuDeviceA_fakeimpl_fntype>(Name<RecordDeviceName, int, char>)},
      {NVTX_CBID_CUDA_NameCuDeviceW,
       As<nvtxNameCuDeviceW_fakeimpl_fntype>(Name<RecordDeviceName, int, wchar_t>)},
      {NVTX_CBID_CUDA_NameCuContextA,
       As<nvtxNameCuContextA_fakeimpl_fntype>(Name<RecordContextName, void*, char>)},
      {NVTX_CBID_CUDA_NameCuContextW,
       As<nvtxNameCuContextW_fakeimpl_fntype>(Name<RecordContextName, void*, wchar_t>)},
      {NVTX_CBID_CUDA_NameCuStreamA,
       As<nvtxNameCuStreamA_fakeimpl_fntype>(Name<RecordStreamName, void*, char>)},
      {NVTX_CBID_CUDA_NameCuStreamW,
       As<nvtxNameCuStreamW_fakeimpl_fntype>(Name<RecordStreamName, void*, wchar_t>)},
  };
  const Taken runtime_objects[] = {
      {NVTX_CBID_CUDART_NameCudaDeviceA,
       As<nvtxNameCudaDeviceA_fakeimpl_fntype>(Name<RecordDeviceName, int, char>)},
      {NVTX_CBID_CUDART_NameCudaDeviceW,
       As<nvtxNameCudaDeviceW_fakeimpl_fntype>(Name<RecordDeviceName, int, wchar_t>)},
      {NVTX_CBID_CUDART_NameCudaStreamA,
       As<nvtxNameCudaStreamA_fakeimpl_fntype>(Name<RecordStreamName, void*, char>)},
      {NVTX_CBID_CUDART_NameCudaStreamW,
       As<nvtxNameCudaStreamW_fakeimpl_fntype>(Name<RecordStreamName, void*, wchar_t>)},
  };
  Take(callbacks, NVTX_CB_MODULE_CUDA, driver_objects);
  Take(callbacks, NVTX_CB_MODULE_CUDART, runtime_objects);
}

}  // namespace
}  // namespace simcupti

// Called once for every module of the program that uses NVTX.
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  if (simcupti::Enter(__func__) != CUPTI_SUCCESS || get_export_table == nullptr) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable == nullptr) return 0;
  if (!simcupti::TakeCore(*callbacks)) return 0;
  simcupti::TakeNamesOfCudaObjects(*callbacks);
  return 1;
}

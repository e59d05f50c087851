#include "collector/cupti/activity_reader.h"

#include <cstddef>
#include <cstring>
#include <string_view>

#include "proto/function_name.h"

namespace tp::collect {
namespace {

constexpr size_t kKernelNameSlots = 4096;
constexpr uint32_t kMostCallbackIds = 4096;

// What is read below is where it has been since CUPTI 11.0; later versions only add fields behind.
static_assert(offsetof(CUpti_ActivityKernel10, start) == 16);
static_assert(offsetof(CUpti_ActivityKernel10, streamId) == 48);
static_assert(offsetof(CUpti_ActivityKernel10, correlationId) == 92);
static_assert(offsetof(CUpti_ActivityKernel10, name) == 104);
static_assert(offsetof(CUpti_ActivityKernel10, graphNodeId) == 144);
static_assert(offsetof(CUpti_ActivityMemcpy6, bytes) == 8);
static_assert(offsetof(CUpti_ActivityMemcpy6, correlationId) == 44);
static_assert(offsetof(CUpti_ActivityMemcpy6, graphNodeId) == 64);
static_assert(offsetof(CUpti_ActivityMemcpyPtoP4, correlationId) == 60);
static_assert(offsetof(CUpti_ActivityMemset4, correlationId) == 44);
static_assert(offsetof(CUpti_ActivityMemset4, memoryKind) == 50);
static_assert(offsetof(CUpti_ActivityAPI, correlationId) == 32);

template <typename Record>
const Record& As(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

// The fields that kernels, copies and fills have in common.
template <typename Record>
Work CommonFields(const Record& record) {
  Work work = {};
  work.start_ns = static_cast<int64_t>(record.start);
  work.end_ns = static_cast<int64_t>(record.end);
  work.correlation_id = record.correlationId;
  work.device = record.deviceId;
  work.context = record.contextId;
  work.stream = record.streamId;
  work.graph_node = record.graphNodeId;
  return work;
}

}  // namespace

ActivityReader::ActivityReader(const CuptiApi* api, StringTable* strings, BatchEncoder* encoder,
                               const UncorrelatedThreads* uncorrelated)
    : api_(api),
      strings_(strings),
      encoder_(encoder),
      uncorrelated_(uncorrelated),
      kernel_names_(kKernelNameSlots) {}

void ActivityReader::Read(const FilledBuffer& buffer, void (*batch_full)(void*), void* user) {
  CUpti_Activity* record = nullptr;
  for (;;) {
    CUptiResult result = api_->ActivityGetNextRecord(buffer.memory, buffer.valid_bytes, &record);
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED) return;
    if (result != CUPTI_SUCCESS) {
      // Nothing says where the next record would begin.
      if (buffer.valid_bytes > 0) ++unreadable_;
      return;
    }
    ReadRecord(record);
    batch_full(user);
  }
}

void ActivityReader::ReadRecord(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return ReadKernel(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return ReadCopy(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return ReadPeerCopy(record);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return ReadFill(record);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return ReadCall(record, EventKind::kRuntimeCall, CUPTI_CB_DOMAIN_RUNTIME_API);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return ReadCall(record, EventKind::kDriverCall, CUPTI_CB_DOMAIN_DRIVER_API);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return ReadCorrelation(record);
    default:
      ++unreadable_;
  }
}

void ActivityReader::ReadKernel(const CUpti_Activity* record) {
  const auto& kernel = As<CUpti_ActivityKernel10>(record);
  Work work = CommonFields(kernel);
  work.name = KernelNameId(kernel.name);
  encoder_->AddWork(EventKind::kKernel, work);
}

void ActivityReader::ReadCopy(const CUpti_Activity* record) {
  const auto& copy = As<CUpti_ActivityMemcpy6>(record);
  Work work = CommonFields(copy);
  work.bytes = copy.bytes;
  work.copy_kind = copy.copyKind;
  work.source_memory = copy.srcKind;
  work.destination_memory = copy.dstKind;
  encoder_->AddWork(EventKind::kCopy, work);
}

void ActivityReader::ReadPeerCopy(const CUpti_Activity* record) {
  const auto& copy = As<CUpti_ActivityMemcpyPtoP4>(record);
  Work work = CommonFields(copy);
  work.bytes = copy.bytes;
  work.copy_kind = copy.copyKind;
  work.source_memory = copy.srcKind;
  work.destination_memory = copy.dstKind;
  work.destination_device_plus_one = copy.dstDeviceId + 1;
  encoder_->AddWork(EventKind::kCopy, work);
}

void ActivityReader::ReadFill(const CUpti_Activity* record) {
  const auto& fill = As<CUpti_ActivityMemset4>(record);
  Work work = CommonFields(fill);
  work.bytes = fill.bytes;
  work.source_memory = fill.memoryKind;
  work.destination_memory = fill.memoryKind;
  work.value = fill.value;
  encoder_->AddWork(EventKind::kFill, work);
}

void ActivityReader::ReadCall(const CUpti_Activity* record, EventKind kind,
                              CUpti_CallbackDomain domain) {
  const auto& api = As<CUpti_ActivityAPI>(record);
  if (__builtin_expect(api.threadId == own_thread_, 0)) return;
  Call call = {};
  call.start_ns = static_cast<int64_t>(api.start);
  call.end_ns = static_cast<int64_t>(api.end);
  call.correlation_id = api.correlationId;
  call.thread_id = api.threadId;
  call.cbid = api.cbid;
  call.result = api.returnValue;
  call.name = CallName(domain, api.cbid);
  encoder_->AddCall(kind, call);
  if (__builtin_expect(!uncorrelated_->empty(), 0)) {
    uint64_t operation = uncorrelated_->OperationOf(call.thread_id, call.start_ns);
    if (operation != 0) AddLaunchOperation(call.correlation_id, operation);
  }
}

void ActivityReader::ReadCorrelation(const CUpti_Activity* record) {
  const auto& correlation = As<CUpti_ActivityExternalCorrelation>(record);
  if (correlation.externalKind != kOperationCorrelation) return;  // Another tool's.
  AddLaunchOperation(correlation.correlationId, correlation.externalId);
}

void ActivityReader::AddLaunchOperation(uint32_t correlation_id, uint64_t operation_id) {
  // A runtime call and the driver call in it come with a record each.
  if (correlation_id == last_correlation_ && operation_id == last_operation_) return;
  last_correlation_ = correlation_id;
  last_operation_ = operation_id;
  encoder_->AddLaunchOperation(correlation_id, operation_id);
}

StringId ActivityReader::KernelNameId(const char* name) {
  if (name == nullptr) return 0;
  size_t slot = (reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15u) >> 52;
  static_assert(kKernelNameSlots == size_t{1} << (64 - 52));
  KernelName& known = kernel_names_[slot];
  // The memory of an unloaded module's names can come to hold others.
  std::string_view text(name);
  if (known.text != name || strings_->Text(known.id) != text) {
    known.text = name;
    known.id = strings_->Intern(text);
  }
  return known.id;
}

StringId ActivityReader::CallName(CUpti_CallbackDomain domain, uint32_t cbid) {
  std::vector<StringId>& names = call_names_[domain == CUPTI_CB_DOMAIN_DRIVER_API ? 1 : 0];
  if (cbid < names.size() && names[cbid] != 0) return names[cbid];
  const char* name = nullptr;
  if (api_->GetCallbackName(domain, cbid, &name) != CUPTI_SUCCESS || name == nullptr) {
    name = "(unknown call)";
  }
  StringId id = strings_->Intern(domain == CUPTI_CB_DOMAIN_RUNTIME_API ? RuntimeFunctionName(name)
                                                                       : std::string_view(name));
  if (cbid < kMostCallbackIds) {
    if (cbid >= names.size()) names.resize(cbid + 1);
    names[cbid] = id;
  }
  return id;
}

}  // namespace tp::collect

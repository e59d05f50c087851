#include "collector/cupti/activity_reader.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "collector/cupti/chatty_calls.h"

namespace tp::collect {
namespace {

constexpr size_t kKernelNameSlots = 4096;
constexpr uint32_t kMostCallbackIds = 4096;
constexpr uint32_t kCuptiWithClusters = 18;  // CUDA 11.8.

// What is read below is where it has been since CUPTI 11.0; later versions only add fields behind.
static_assert(offsetof(CUpti_ActivityKernel10, start) == 16);
static_assert(offsetof(CUpti_ActivityKernel10, streamId) == 48);
static_assert(offsetof(CUpti_ActivityKernel10, correlationId) == 92);
static_assert(offsetof(CUpti_ActivityKernel10, name) == 104);
static_assert(offsetof(CUpti_ActivityKernel10, registersPerThread) == 6);
static_assert(offsetof(CUpti_ActivityKernel10, gridX) == 52);
static_assert(offsetof(CUpti_ActivityKernel10, localMemoryPerThread) == 84);
static_assert(offsetof(LaunchConfiguration, local_bytes_per_thread) == 84 - 52);
static_assert(offsetof(CUpti_ActivityKernel10, queued) == 120);
static_assert(offsetof(CUpti_ActivityKernel10, launchType) == 136);
static_assert(offsetof(CUpti_ActivityKernel10, graphNodeId) == 144);
static_assert(offsetof(CUpti_ActivityMemcpy6, bytes) == 8);
static_assert(offsetof(CUpti_ActivityMemcpy6, correlationId) == 44);
static_assert(offsetof(CUpti_ActivityMemcpy6, graphNodeId) == 64);
static_assert(offsetof(CUpti_ActivityMemcpyPtoP4, correlationId) == 60);
static_assert(offsetof(CUpti_ActivityMemset4, correlationId) == 44);
static_assert(offsetof(CUpti_ActivityMemset4, memoryKind) == 50);
static_assert(offsetof(CUpti_ActivityAPI, correlationId) == 32);
static_assert(offsetof(CUpti_ActivityGraphTrace2, streamId) == 36);
static_assert(offsetof(CUpti_ActivitySynchronization2, cudaEventId) == 36);
static_assert(offsetof(CUpti_ActivityMemory4, isAsync) == 72);
static_assert(offsetof(CUpti_ActivityMemory4, memoryPoolConfig) == 80);
static_assert(offsetof(CUpti_ActivityMemoryPool3, timestamp) == 56);
static_assert(offsetof(CUpti_ActivityOverhead3, end) == 32);
static_assert(offsetof(CUpti_ActivityJit2, correlationId) == 32);

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

// "cudaMemcpyAsync_ptsz_v7000" as the program calls it, "cudaMemcpyAsync". (A driver function's
// "_v2" is part of its name.)
std::string_view RuntimeFunctionName(std::string_view name) {
  size_t version = name.rfind("_v");
  if (version != name.npos && name.find_first_not_of("0123456789", version + 2) == name.npos) {
    name = name.substr(0, version);
  }
  for (std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return name;
}

const char* OverheadText(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "driver compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "CUPTI resource creation";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "module loading by the runtime";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "lazy function loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "command buffer full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "CUPTI buffer request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
      return "CUPTI unified memory initialization";
    default:
      return "unknown overhead";
  }
}

std::string CompilationText(CUpti_ActivityJitEntryType entry,
                            CUpti_ActivityJitOperationType operation) {
  std::string text = entry == CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN     ? "PTX to cubin"
                     : entry == CUPTI_ACTIVITY_JIT_ENTRY_NVVM_IR_TO_PTX ? "NVVM IR to PTX"
                                                                        : "unknown compilation";
  if (operation == CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD) text += " (loaded from the cache)";
  if (operation == CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE) text += " (stored in the cache)";
  return text;
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
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return ReadGraph(record);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return ReadSynchronization(record);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return ReadMemory(record);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return ReadMemoryPool(record);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return ReadOverhead(record);
    case CUPTI_ACTIVITY_KIND_JIT:
      return ReadCompilation(record);
    default:
      ++unreadable_;
  }
}

void ActivityReader::ReadKernel(const CUpti_Activity* record) {
  const auto& kernel = As<CUpti_ActivityKernel10>(record);
  Work work = CommonFields(kernel);
  work.name = KernelNameId(kernel.name);
  work.queued_ns = static_cast<int64_t>(kernel.queued);
  work.submitted_ns = static_cast<int64_t>(kernel.submitted);
  LaunchConfiguration launch;
  // Grid, block and shared memory are in the same order, without gaps.
  memcpy(&launch, &kernel.gridX, offsetof(LaunchConfiguration, registers_per_thread));
  launch.registers_per_thread = kernel.registersPerThread;
  launch.launch_type = kernel.launchType;
  if (api_->version >= kCuptiWithClusters) {
    memcpy(launch.cluster, &kernel.clusterX, sizeof(launch.cluster));
  } else {
    memset(launch.cluster, 0, sizeof(launch.cluster));
  }
  encoder_->AddKernel(work, launch);
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

void ActivityReader::ReadGraph(const CUpti_Activity* record) {
  const auto& graph = As<CUpti_ActivityGraphTrace2>(record);
  Work work = {};
  work.start_ns = static_cast<int64_t>(graph.start);
  work.end_ns = static_cast<int64_t>(graph.end);
  work.correlation_id = graph.correlationId;
  work.device = graph.deviceId;
  work.context = graph.contextId;
  work.stream = graph.streamId;
  work.graph_id = graph.graphId;
  encoder_->AddWork(EventKind::kGraph, work);
}

void ActivityReader::ReadSynchronization(const CUpti_Activity* record) {
  const auto& wait = As<CUpti_ActivitySynchronization2>(record);
  Synchronization synchronization = {};
  synchronization.start_ns = static_cast<int64_t>(wait.start);
  synchronization.end_ns = static_cast<int64_t>(wait.end);
  synchronization.correlation_id = wait.correlationId;
  synchronization.type = wait.type;
  synchronization.context = wait.contextId;
  static_assert(CUPTI_SYNCHRONIZATION_INVALID_VALUE == UINT32_MAX);
  synchronization.stream_plus_one = wait.streamId + 1;  // The invalid value becomes 0.
  synchronization.event_plus_one = wait.cudaEventId + 1;
  encoder_->AddSynchronization(synchronization);
}

void ActivityReader::ReadMemory(const CUpti_Activity* record) {
  const auto& memory = As<CUpti_ActivityMemory4>(record);
  MemoryEvent event = {};
  event.time_ns = static_cast<int64_t>(memory.timestamp);
  if (memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) {
    event.operation = MemoryOperation::kAllocation;
  } else if (memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
    event.operation = MemoryOperation::kRelease;
  }
  event.kind = memory.memoryKind;
  event.address = memory.address;
  event.bytes = memory.bytes;
  event.correlation_id = memory.correlationId;
  event.device = memory.deviceId;
  static_assert(CUPTI_INVALID_CONTEXT_ID == UINT32_MAX && CUPTI_INVALID_STREAM_ID == UINT32_MAX);
  event.context_plus_one = memory.contextId + 1;
  if (memory.isAsync != 0) event.stream_plus_one = memory.streamId + 1;
  event.from_pool =
      memory.memoryPoolConfig.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID;
  encoder_->AddMemory(event);
}

void ActivityReader::ReadMemoryPool(const CUpti_Activity* record) {
  const auto& pool = As<CUpti_ActivityMemoryPool3>(record);
  MemoryEvent event = {};
  event.time_ns = static_cast<int64_t>(pool.timestamp);
  switch (pool.memoryPoolOperationType) {
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED:
      event.operation = MemoryOperation::kPoolCreation;
      break;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED:
      event.operation = MemoryOperation::kPoolDestruction;
      break;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED:
      event.operation = MemoryOperation::kPoolTrim;
      break;
    default:
      break;
  }
  event.address = pool.address;
  event.correlation_id = pool.correlationId;
  event.device = pool.deviceId;
  encoder_->AddMemory(event);
}

void ActivityReader::ReadOverhead(const CUpti_Activity* record) {
  const auto& overhead = As<CUpti_ActivityOverhead3>(record);
  Call call = {};
  call.start_ns = static_cast<int64_t>(overhead.start);
  call.end_ns = static_cast<int64_t>(overhead.end);
  if (overhead.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
    call.thread_id = overhead.objectId.pt.threadId;
  }
  call.name = strings_->Intern(OverheadText(overhead.overheadKind));
  encoder_->AddCall(EventKind::kOverhead, call);
}

void ActivityReader::ReadCompilation(const CUpti_Activity* record) {
  const auto& jit = As<CUpti_ActivityJit2>(record);
  Call call = {};
  call.start_ns = static_cast<int64_t>(jit.start);
  call.end_ns = static_cast<int64_t>(jit.end);
  call.correlation_id = jit.correlationId;
  call.name = strings_->Intern(CompilationText(jit.jitEntryType, jit.jitOperationType));
  encoder_->AddCall(EventKind::kCompilation, call);
}

void ActivityReader::ReadCall(const CUpti_Activity* record, EventKind kind,
                              CUpti_CallbackDomain domain) {
  const auto& api = As<CUpti_ActivityAPI>(record);
  if (__builtin_expect(leaves_out_chatty_calls_, 0) && IsChatty(domain, api.cbid)) return;
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

#include "collector/cupti/activity_reader.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "collector/cupti/chatty_calls.h"
#include "proto/function_name.h"

namespace tp::collect {
namespace {

constexpr size_t kKernelNameSlots = 4096;
constexpr uint32_t kMostCallbackIds = 4096;

// Grid, block and shared memory are in one order in records and configurations, without gaps.
static_assert(offsetof(CUpti_ActivityKernel5, localMemoryPerThread) -
                  offsetof(CUpti_ActivityKernel5, gridX) ==
              offsetof(LaunchConfiguration, local_bytes_per_thread));

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

// As much of it as a description may keep, and a byte to tell that there is more.
std::string_view TextOf(const char* text) {
  if (text == nullptr) return {};
  return {text, strnlen(text, kLongestDescribedName + 1)};
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

ActivityReader::ActivityReader(const CuptiClient* cupti, StringTable* strings,
                               BatchEncoder* encoder, Descriptions* descriptions,
                               const UncorrelatedThreads* uncorrelated,
                               const ReopenedRanges* reopened)
    : cupti_(cupti),
      strings_(strings),
      encoder_(encoder),
      descriptions_(descriptions),
      uncorrelated_(uncorrelated),
      reopened_(reopened),
      kernel_names_(kKernelNameSlots) {}

void ActivityReader::Read(const FilledBuffer& buffer, void (*batch_full)(void*), void* user) {
  const uint8_t* const end = buffer.memory + buffer.valid_bytes;
  CUpti_Activity* record = nullptr;
  CUptiResult result = cupti_->NextRecord(buffer.memory, buffer.valid_bytes, &record);
  while (result == CUPTI_SUCCESS) {
    // A record is as long as the way to the next one; the last is all that is left.
    CUpti_Activity* next = record;
    result = cupti_->NextRecord(buffer.memory, buffer.valid_bytes, &next);
    const auto* begin = reinterpret_cast<const uint8_t*>(record);
    const auto* after = result == CUPTI_SUCCESS ? reinterpret_cast<const uint8_t*>(next) : end;
    const bool exact = result == CUPTI_SUCCESS || result == CUPTI_ERROR_MAX_LIMIT_REACHED;
    if (!ReadRecord({record, static_cast<size_t>(after - begin), exact, cupti_->api().version})) {
      ++unreadable_;
    }
    record = next;
    batch_full(user);
  }
  // Otherwise nothing says where the next record would begin.
  if (result != CUPTI_ERROR_MAX_LIMIT_REACHED && buffer.valid_bytes > 0) ++unreadable_;
}

bool ActivityReader::ReadRecord(const ActivityRecord& record) {
  switch (record.kind()) {
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
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return ReadDevice(record);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return ReadContext(record);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return ReadStream(record);
    case CUPTI_ACTIVITY_KIND_NAME:
      return ReadName(record);
    default:
      return false;
  }
}

bool ActivityReader::ReadKernel(const ActivityRecord& record) {
  const auto* kernel = record.As<CUpti_ActivityKernel5>();
  if (kernel == nullptr) return false;
  Work work = CommonFields(*kernel);
  work.name = KernelNameId(kernel->name);
  work.queued_ns = static_cast<int64_t>(kernel->queued);
  work.submitted_ns = static_cast<int64_t>(kernel->submitted);
  LaunchConfiguration launch;
  memcpy(&launch, &kernel->gridX, offsetof(LaunchConfiguration, registers_per_thread));
  launch.registers_per_thread = kernel->registersPerThread;
  launch.launch_type = kernel->launchType;
  launch.cluster[0] = record.Get(kKernelClusterX);
  launch.cluster[1] = record.Get(kKernelClusterY);
  launch.cluster[2] = record.Get(kKernelClusterZ);
  encoder_->AddKernel(work, launch);
  return true;
}

bool ActivityReader::ReadCopy(const ActivityRecord& record) {
  const auto* copy = record.As<CUpti_ActivityMemcpy3>();
  if (copy == nullptr) return false;
  Work work = CommonFields(*copy);
  work.bytes = copy->bytes;
  work.copy_kind = copy->copyKind;
  work.source_memory = copy->srcKind;
  work.destination_memory = copy->dstKind;
  encoder_->AddWork(EventKind::kCopy, work);
  return true;
}

bool ActivityReader::ReadPeerCopy(const ActivityRecord& record) {
  const auto* copy = record.As<CUpti_ActivityMemcpyPtoP2>();
  if (copy == nullptr) return false;
  Work work = CommonFields(*copy);
  work.bytes = copy->bytes;
  work.copy_kind = copy->copyKind;
  work.source_memory = copy->srcKind;
  work.destination_memory = copy->dstKind;
  work.destination_device_plus_one = copy->dstDeviceId + 1;
  encoder_->AddWork(EventKind::kCopy, work);
  return true;
}

bool ActivityReader::ReadFill(const ActivityRecord& record) {
  const auto* fill = record.As<CUpti_ActivityMemset2>();
  if (fill == nullptr) return false;
  Work work = CommonFields(*fill);
  work.bytes = fill->bytes;
  work.source_memory = fill->memoryKind;
  work.destination_memory = fill->memoryKind;
  work.value = fill->value;
  encoder_->AddWork(EventKind::kFill, work);
  return true;
}

bool ActivityReader::ReadGraph(const ActivityRecord& record) {
  const auto* graph = record.As<CUpti_ActivityGraphTrace>();
  if (graph == nullptr) return false;
  Work work = {};
  work.start_ns = static_cast<int64_t>(graph->start);
  work.end_ns = static_cast<int64_t>(graph->end);
  work.correlation_id = graph->correlationId;
  work.device = graph->deviceId;
  work.context = graph->contextId;
  work.stream = graph->streamId;
  work.graph_id = graph->graphId;
  encoder_->AddWork(EventKind::kGraph, work);
  return true;
}

bool ActivityReader::ReadSynchronization(const ActivityRecord& record) {
  const auto* wait = record.As<CUpti_ActivitySynchronization>();
  if (wait == nullptr) return false;
  Synchronization synchronization = {};
  synchronization.start_ns = static_cast<int64_t>(wait->start);
  synchronization.end_ns = static_cast<int64_t>(wait->end);
  synchronization.correlation_id = wait->correlationId;
  synchronization.type = wait->type;
  synchronization.context = wait->contextId;
  static_assert(CUPTI_SYNCHRONIZATION_INVALID_VALUE == UINT32_MAX);
  synchronization.stream_plus_one = wait->streamId + 1;  // The invalid value becomes 0.
  synchronization.event_plus_one = wait->cudaEventId + 1;
  encoder_->AddSynchronization(synchronization);
  return true;
}

bool ActivityReader::ReadMemory(const ActivityRecord& record) {
  const auto* memory = record.As<CUpti_ActivityMemory2>();
  if (memory == nullptr) return false;
  MemoryEvent event = {};
  event.time_ns = static_cast<int64_t>(memory->timestamp);
  if (memory->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) {
    event.operation = MemoryOperation::kAllocation;
  } else if (memory->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
    event.operation = MemoryOperation::kRelease;
  }
  event.kind = memory->memoryKind;
  event.address = memory->address;
  event.bytes = memory->bytes;
  event.correlation_id = memory->correlationId;
  event.device = memory->deviceId;
  static_assert(CUPTI_INVALID_CONTEXT_ID == UINT32_MAX && CUPTI_INVALID_STREAM_ID == UINT32_MAX);
  event.context_plus_one = memory->contextId + 1;
  if (memory->isAsync != 0) event.stream_plus_one = memory->streamId + 1;
  event.from_pool =
      memory->memoryPoolConfig.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID;
  encoder_->AddMemory(event);
  return true;
}

bool ActivityReader::ReadMemoryPool(const ActivityRecord& record) {
  const auto* pool = record.As<CUpti_ActivityMemoryPool>();
  if (pool == nullptr) return false;
  MemoryEvent event = {};
  event.time_ns = static_cast<int64_t>(pool->timestamp);
  switch (pool->memoryPoolOperationType) {
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
  event.address = pool->address;
  event.correlation_id = pool->correlationId;
  event.device = pool->deviceId;
  encoder_->AddMemory(event);
  return true;
}

bool ActivityReader::ReadOverhead(const ActivityRecord& record) {
  const auto* overhead = record.As<CUpti_ActivityOverhead>();
  if (overhead == nullptr) return false;
  Call call = {};
  call.start_ns = static_cast<int64_t>(overhead->start);
  call.end_ns = static_cast<int64_t>(overhead->end);
  if (overhead->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) {
    call.thread_id = overhead->objectId.pt.threadId;
  }
  call.name = strings_->Intern(OverheadText(overhead->overheadKind));
  encoder_->AddCall(EventKind::kOverhead, call);
  return true;
}

bool ActivityReader::ReadCompilation(const ActivityRecord& record) {
  const auto* jit = record.As<CUpti_ActivityJit>();
  if (jit == nullptr) return false;
  Call call = {};
  call.start_ns = static_cast<int64_t>(jit->start);
  call.end_ns = static_cast<int64_t>(jit->end);
  call.correlation_id = jit->correlationId;
  call.name = strings_->Intern(CompilationText(jit->jitEntryType, jit->jitOperationType));
  encoder_->AddCall(EventKind::kCompilation, call);
  return true;
}

bool ActivityReader::ReadCall(const ActivityRecord& record, EventKind kind,
                              CUpti_CallbackDomain domain) {
  const auto* api = record.As<CUpti_ActivityAPI>();
  if (api == nullptr) return false;
  if (__builtin_expect(leaves_out_chatty_calls_, 0) && IsChatty(domain, api->cbid)) return true;
  if (__builtin_expect(api->threadId == own_thread_, 0)) return true;
  if (__builtin_expect(api->threadId != last_thread_, 0)) {
    last_thread_ = api->threadId;
    if (thread_seen_) thread_seen_(last_thread_);
  }
  Call call = {};
  call.start_ns = static_cast<int64_t>(api->start);
  call.end_ns = static_cast<int64_t>(api->end);
  call.correlation_id = api->correlationId;
  call.thread_id = api->threadId;
  call.cbid = api->cbid;
  call.result = api->returnValue;
  call.name = CallName(domain, api->cbid);
  encoder_->AddCall(kind, call);
  if (__builtin_expect(!uncorrelated_->empty(), 0)) {
    uint64_t operation = uncorrelated_->OperationOf(call.thread_id, call.start_ns);
    if (operation != 0) AddLaunchOperation(call.correlation_id, operation);
  }
  return true;
}

bool ActivityReader::ReadCorrelation(const ActivityRecord& record) {
  const auto* correlation = record.As<CUpti_ActivityExternalCorrelation>();
  if (correlation == nullptr) return false;
  // Otherwise it is another tool's.
  if (correlation->externalKind == kOperationCorrelation) {
    AddLaunchOperation(correlation->correlationId, correlation->externalId);
  }
  return true;
}

bool ActivityReader::ReadDevice(const ActivityRecord& record) {
  const auto* source = record.As<CUpti_ActivityDevice2>();
  if (source == nullptr) return false;
  Device device = {};
  device.id = source->id;
  device.name = TextOf(source->name);
  device.uuid = {source->uuid.bytes, sizeof(source->uuid.bytes)};
  if (device.uuid.find_first_not_of('\0') == std::string_view::npos) device.uuid = {};
  device.compute_major = source->computeCapabilityMajor;
  device.compute_minor = source->computeCapabilityMinor;
  device.memory_bytes = source->globalMemorySize;
  device.memory_kilobytes_per_second = source->globalMemoryBandwidth;
  device.multiprocessors = source->numMultiprocessors;
  device.core_clock_khz = source->coreClockRate;
  device.l2_cache_bytes = source->l2CacheSize;
  device.threads_per_warp = source->numThreadsPerWarp;
  device.threads_per_block = source->maxThreadsPerBlock;
  device.threads_per_multiprocessor = source->maxWarpsPerMultiprocessor * source->numThreadsPerWarp;
  device.registers_per_block = source->maxRegistersPerBlock;
  device.registers_per_multiprocessor = source->maxRegistersPerMultiprocessor;
  device.shared_bytes_per_block = source->maxSharedMemoryPerBlock;
  device.shared_bytes_per_multiprocessor = source->maxSharedMemoryPerMultiprocessor;
  descriptions_->SetDevice(device);
  return true;
}

bool ActivityReader::ReadContext(const ActivityRecord& record) {
  const auto* context = record.As<CUpti_ActivityContext>();
  if (context == nullptr) return false;
  descriptions_->SetContext({.id = context->contextId,
                             .device = context->deviceId,
                             .api_kind = context->computeApiKind,
                             .null_stream = context->nullStreamId});
  return true;
}

bool ActivityReader::ReadStream(const ActivityRecord& record) {
  const auto* stream = record.As<CUpti_ActivityStream>();
  if (stream == nullptr) return false;
  descriptions_->SetStream({.context = stream->contextId,
                            .id = stream->streamId,
                            .flag = static_cast<uint32_t>(stream->flag),
                            .priority = static_cast<int32_t>(stream->priority)});
  return true;
}

// Threads and devices are known by their names already: they were given to us.
bool ActivityReader::ReadName(const ActivityRecord& record) {
  const auto* name = record.As<CUpti_ActivityName>();
  if (name == nullptr) return false;
  const auto& id = name->objectId.dcs;
  if (name->objectKind == CUPTI_ACTIVITY_OBJECT_CONTEXT) {
    descriptions_->GiveContextName(id.contextId, TextOf(name->name));
  } else if (name->objectKind == CUPTI_ACTIVITY_OBJECT_STREAM) {
    descriptions_->GiveStreamName(id.contextId, id.streamId, TextOf(name->name));
  }
  return true;
}

void ActivityReader::AddLaunchOperation(uint32_t correlation_id, uint64_t range_id) {
  const uint64_t operation_id = reopened_->OperationOf(range_id);
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
  if (known.text == name) {
    const std::string_view text = strings_->Text(known.id);
    if (!text.empty() && strncmp(name, text.data(), text.size()) == 0 &&
        name[text.size()] == '\0') {
      return known.id;
    }
  }
  known.text = name;
  known.id = strings_->Intern(name);
  return known.id;
}

StringId ActivityReader::CallName(CUpti_CallbackDomain domain, uint32_t cbid) {
  std::vector<StringId>& names = call_names_[domain == CUPTI_CB_DOMAIN_DRIVER_API ? 1 : 0];
  if (cbid < names.size() && names[cbid] != 0) return names[cbid];
  const char* name = nullptr;
  if (cupti_->api().GetCallbackName(domain, cbid, &name) != CUPTI_SUCCESS || name == nullptr) {
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

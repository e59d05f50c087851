#include "tests/simcuda/cupti/record_layout.h"

#include <cstdio>
#include <cstdlib>

#include "tests/simcuda/cupti/api_entry.h"

namespace simcupti {
namespace {

constexpr RecordLayout Cuda130() {
  RecordLayout layout{CUPTI_API_VERSION, {}};
  auto& bytes = layout.bytes;
  bytes[CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(CUpti_ActivityMemcpy6);
  bytes[CUPTI_ACTIVITY_KIND_MEMSET] = sizeof(CUpti_ActivityMemset4);
  bytes[CUPTI_ACTIVITY_KIND_KERNEL] = sizeof(CUpti_ActivityKernel10);
  bytes[CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(CUpti_ActivityAPI);
  bytes[CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(CUpti_ActivityAPI);
  bytes[CUPTI_ACTIVITY_KIND_DEVICE] = sizeof(CUpti_ActivityDevice5);
  bytes[CUPTI_ACTIVITY_KIND_CONTEXT] = sizeof(CUpti_ActivityContext3);
  bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(CUpti_ActivityKernel10);
  bytes[CUPTI_ACTIVITY_KIND_NAME] = sizeof(CUpti_ActivityName);
  bytes[CUPTI_ACTIVITY_KIND_MARKER] = sizeof(CUpti_ActivityMarker2);
  bytes[CUPTI_ACTIVITY_KIND_MARKER_DATA] = sizeof(CUpti_ActivityMarkerData2);
  bytes[CUPTI_ACTIVITY_KIND_OVERHEAD] = sizeof(CUpti_ActivityOverhead3);
  bytes[CUPTI_ACTIVITY_KIND_CDP_KERNEL] = sizeof(CUpti_ActivityCdpKernel);
  bytes[CUPTI_ACTIVITY_KIND_PREEMPTION] = sizeof(CUpti_ActivityPreemption);
  bytes[CUPTI_ACTIVITY_KIND_ENVIRONMENT] = sizeof(CUpti_ActivityEnvironment);
  bytes[CUPTI_ACTIVITY_KIND_MEMCPY2] = sizeof(CUpti_ActivityMemcpyPtoP4);
  bytes[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = sizeof(CUpti_ActivityUnifiedMemoryCounter3);
  bytes[CUPTI_ACTIVITY_KIND_FUNCTION] = sizeof(CUpti_ActivityFunction);
  bytes[CUPTI_ACTIVITY_KIND_MODULE] = sizeof(CUpti_ActivityModule);
  bytes[CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE] = sizeof(CUpti_ActivityDeviceAttribute);
  bytes[CUPTI_ACTIVITY_KIND_OPENACC_DATA] = sizeof(CUpti_ActivityOpenAccData);
  bytes[CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH] = sizeof(CUpti_ActivityOpenAccLaunch);
  bytes[CUPTI_ACTIVITY_KIND_OPENACC_OTHER] = sizeof(CUpti_ActivityOpenAccOther);
  bytes[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = sizeof(CUpti_ActivityCudaEvent2);
  bytes[CUPTI_ACTIVITY_KIND_STREAM] = sizeof(CUpti_ActivityStream);
  bytes[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = sizeof(CUpti_ActivitySynchronization2);
  bytes[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = sizeof(CUpti_ActivityExternalCorrelation);
  bytes[CUPTI_ACTIVITY_KIND_NVLINK] = sizeof(CUpti_ActivityNvLink4);
  bytes[CUPTI_ACTIVITY_KIND_MEMORY] = sizeof(CUpti_ActivityMemory);
  bytes[CUPTI_ACTIVITY_KIND_PCIE] = sizeof(CUpti_ActivityPcie);
  bytes[CUPTI_ACTIVITY_KIND_OPENMP] = sizeof(CUpti_ActivityOpenMp);
  bytes[CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API] = sizeof(CUpti_ActivityAPI);
  bytes[CUPTI_ACTIVITY_KIND_MEMORY2] = sizeof(CUpti_ActivityMemory4);
  bytes[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = sizeof(CUpti_ActivityMemoryPool3);
  bytes[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = sizeof(CUpti_ActivityGraphTrace2);
  bytes[CUPTI_ACTIVITY_KIND_JIT] = sizeof(CUpti_ActivityJit2);
  bytes[CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE] = sizeof(CUpti_ActivityDeviceGraphTrace);
  bytes[CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS] = sizeof(CUpti_ActivityMemDecompress);
  bytes[CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION] =
      sizeof(CUpti_ActivityConfidentialComputeRotation);
  return layout;
}

constexpr RecordLayout Cuda124() {
  RecordLayout layout = Cuda130();
  layout.api_version = 22;
  auto& bytes = layout.bytes;
  bytes[CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(CUpti_ActivityMemcpy5);
  bytes[CUPTI_ACTIVITY_KIND_KERNEL] = sizeof(CUpti_ActivityKernel9);
  bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(CUpti_ActivityKernel9);
  bytes[CUPTI_ACTIVITY_KIND_CONTEXT] = sizeof(CUpti_ActivityContext2);
  bytes[CUPTI_ACTIVITY_KIND_MARKER_DATA] = sizeof(CUpti_ActivityMarkerData);
  bytes[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = sizeof(CUpti_ActivityUnifiedMemoryCounter2);
  bytes[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = sizeof(CUpti_ActivityCudaEvent);
  bytes[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = sizeof(CUpti_ActivitySynchronization);
  bytes[CUPTI_ACTIVITY_KIND_MEMORY2] = sizeof(CUpti_ActivityMemory3);
  bytes[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = sizeof(CUpti_ActivityMemoryPool2);
  // Gone since 13.0.
  bytes[CUPTI_ACTIVITY_KIND_EVENT] = sizeof(CUpti_ActivityEvent);
  bytes[CUPTI_ACTIVITY_KIND_METRIC] = sizeof(CUpti_ActivityMetric);
  bytes[CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR] = sizeof(CUpti_ActivitySourceLocator);
  bytes[CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS] = sizeof(CUpti_ActivityGlobalAccess3);
  bytes[CUPTI_ACTIVITY_KIND_BRANCH] = sizeof(CUpti_ActivityBranch2);
  bytes[CUPTI_ACTIVITY_KIND_EVENT_INSTANCE] = sizeof(CUpti_ActivityEventInstance);
  bytes[CUPTI_ACTIVITY_KIND_METRIC_INSTANCE] = sizeof(CUpti_ActivityMetricInstance);
  bytes[CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION] = sizeof(CUpti_ActivityInstructionExecution);
  bytes[CUPTI_ACTIVITY_KIND_SHARED_ACCESS] = sizeof(CUpti_ActivitySharedAccess);
  bytes[CUPTI_ACTIVITY_KIND_PC_SAMPLING] = sizeof(CUpti_ActivityPCSampling3);
  bytes[CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO] = sizeof(CUpti_ActivityPCSamplingRecordInfo);
  bytes[CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION] = sizeof(CUpti_ActivityInstructionCorrelation);
  bytes[CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT] = sizeof(CUpti_ActivityInstantaneousEvent);
  bytes[CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE] =
      sizeof(CUpti_ActivityInstantaneousEventInstance);
  bytes[CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC] = sizeof(CUpti_ActivityInstantaneousMetric);
  bytes[CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE] =
      sizeof(CUpti_ActivityInstantaneousMetricInstance);
  // Not there yet.
  bytes[CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE] = 0;
  bytes[CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS] = 0;
  bytes[CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION] = 0;
  return layout;
}

constexpr RecordLayout Cuda118() {
  RecordLayout layout = Cuda124();
  layout.api_version = 18;
  auto& bytes = layout.bytes;
  bytes[CUPTI_ACTIVITY_KIND_KERNEL] = sizeof(CUpti_ActivityKernel8);
  bytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(CUpti_ActivityKernel8);
  bytes[CUPTI_ACTIVITY_KIND_DEVICE] = sizeof(CUpti_ActivityDevice4);
  bytes[CUPTI_ACTIVITY_KIND_CONTEXT] = sizeof(CUpti_ActivityContext);
  bytes[CUPTI_ACTIVITY_KIND_OVERHEAD] = sizeof(CUpti_ActivityOverhead);
  bytes[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = sizeof(CUpti_ActivityGraphTrace);
  bytes[CUPTI_ACTIVITY_KIND_JIT] = sizeof(CUpti_ActivityJit);
  return layout;
}

// What makes the first bytes of the newest struct an older record, for the kinds that are written
// here.
#define SIMCUPTI_SAME_PLACE(older, newest, last_field)                         \
  static_assert(offsetof(older, last_field) == offsetof(newest, last_field) && \
                sizeof(older) <= sizeof(newest))
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, channelType);
SIMCUPTI_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, maxActiveClusters);
SIMCUPTI_SAME_PLACE(CUpti_ActivityKernel8, CUpti_ActivityKernel10, localMemoryTotal_v2);
SIMCUPTI_SAME_PLACE(CUpti_ActivityDevice4, CUpti_ActivityDevice5, migUuid);
SIMCUPTI_SAME_PLACE(CUpti_ActivityContext, CUpti_ActivityContext3, nullStreamId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityContext2, CUpti_ActivityContext3, numMultiprocessors);
SIMCUPTI_SAME_PLACE(CUpti_ActivityOverhead, CUpti_ActivityOverhead3, end);
SIMCUPTI_SAME_PLACE(CUpti_ActivitySynchronization, CUpti_ActivitySynchronization2, cudaEventId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemory3, CUpti_ActivityMemory4, isAsync);
SIMCUPTI_SAME_PLACE(CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, reserved);
#undef SIMCUPTI_SAME_PLACE

constexpr RecordLayout kCuda130 = Cuda130();
constexpr RecordLayout kCuda124 = Cuda124();
constexpr RecordLayout kCuda118 = Cuda118();

const RecordLayout& ChooseLayout() {
  const char* version = std::getenv("SIMCUPTI_VERSION");
  const RecordLayout* layout = version != nullptr ? LayoutOfToolkit(version) : &kCuda130;
  if (layout == nullptr) {
    std::fprintf(stderr, "SIMCUPTI_VERSION: no layouts of version \"%s\" here\n", version);
    std::abort();
  }
  return *layout;
}

}  // namespace

const RecordLayout* LayoutOfToolkit(std::string_view version) {
  if (version == "13.0") return &kCuda130;
  if (version == "12.4") return &kCuda124;
  if (version == "11.8") return &kCuda118;
  return nullptr;
}

const RecordLayout& CurrentLayout() {
  static const RecordLayout& layout = ChooseLayout();
  return layout;
}

}  // namespace simcupti

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes,
                                       CUpti_Activity** record) {
  SIMCUPTI_ENTER();
  if (buffer == nullptr || record == nullptr) {
    return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  }
  const uint8_t* const end = buffer + valid_bytes;
  uint8_t* next = buffer;
  if (*record != nullptr) {
    const size_t previous_bytes = simcupti::RecordBytes((*record)->kind);
    if (previous_bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    next = reinterpret_cast<uint8_t*>(*record) + previous_bytes;
  }
  // The end of a buffer is no error to remember.
  if (next >= end) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* candidate = reinterpret_cast<CUpti_Activity*>(next);
  const size_t bytes = simcupti::RecordBytes(candidate->kind);
  if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
  if (next + bytes > end) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = candidate;
  return CUPTI_SUCCESS;
}

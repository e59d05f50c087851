#include "tests/simcuda/cupti/record_layout.h"

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

constexpr RecordLayout kCuda130 = Cuda130();

}  // namespace

const RecordLayout& CurrentLayout() { return kCuda130; }

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

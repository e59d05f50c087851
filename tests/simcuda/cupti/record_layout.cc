#include "tests/simcuda/cupti/record_layout.h"

namespace simcupti {
namespace {

// A kind that has become longer, new or extinct (0 bytes) with a version. Up to 11.6 by the
// documentation, from 11.7 on as the real libraries step, or where those do not run without a
// driver (since 13.2), as their headers have it: versions_test compares.
struct Change {
  Version since;
  int kind;
  size_t bytes;
};

// In the order of versions.
constexpr Change kChanges[] = {
    {{11, 0}, CUPTI_ACTIVITY_KIND_MEMCPY, 72},                         // Memcpy3
    {{11, 0}, CUPTI_ACTIVITY_KIND_MEMSET, 72},                         // Memset2
    {{11, 0}, CUPTI_ACTIVITY_KIND_KERNEL, 160},                        // Kernel5
    {{11, 0}, CUPTI_ACTIVITY_KIND_DRIVER, 40},                         // API
    {{11, 0}, CUPTI_ACTIVITY_KIND_RUNTIME, 40},                        // API
    {{11, 0}, CUPTI_ACTIVITY_KIND_EVENT, 24},                          // Event
    {{11, 0}, CUPTI_ACTIVITY_KIND_METRIC, 24},                         // Metric
    {{11, 0}, CUPTI_ACTIVITY_KIND_DEVICE, 144},                        // Device2
    {{11, 0}, CUPTI_ACTIVITY_KIND_CONTEXT, 16},                        // Context
    {{11, 0}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 160},             // Kernel5
    {{11, 0}, CUPTI_ACTIVITY_KIND_NAME, 32},                           // Name
    {{11, 0}, CUPTI_ACTIVITY_KIND_MARKER, 56},                         // Marker2
    {{11, 0}, CUPTI_ACTIVITY_KIND_MARKER_DATA, 32},                    // MarkerData
    {{11, 0}, CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR, 24},                 // SourceLocator
    {{11, 0}, CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS, 56},                  // GlobalAccess3
    {{11, 0}, CUPTI_ACTIVITY_KIND_BRANCH, 40},                         // Branch2
    {{11, 0}, CUPTI_ACTIVITY_KIND_OVERHEAD, 40},                       // Overhead
    {{11, 0}, CUPTI_ACTIVITY_KIND_CDP_KERNEL, 144},                    // CdpKernel
    {{11, 0}, CUPTI_ACTIVITY_KIND_PREEMPTION, 40},                     // Preemption
    {{11, 0}, CUPTI_ACTIVITY_KIND_ENVIRONMENT, 40},                    // Environment
    {{11, 0}, CUPTI_ACTIVITY_KIND_EVENT_INSTANCE, 32},                 // EventInstance
    {{11, 0}, CUPTI_ACTIVITY_KIND_MEMCPY2, 80},                        // MemcpyPtoP2
    {{11, 0}, CUPTI_ACTIVITY_KIND_METRIC_INSTANCE, 32},                // MetricInstance
    {{11, 0}, CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION, 48},          // InstructionExecution
    {{11, 0}, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 64},         // UnifiedMemoryCounter2
    {{11, 0}, CUPTI_ACTIVITY_KIND_FUNCTION, 32},                       // Function
    {{11, 0}, CUPTI_ACTIVITY_KIND_MODULE, 24},                         // Module
    {{11, 0}, CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE, 24},               // DeviceAttribute
    {{11, 0}, CUPTI_ACTIVITY_KIND_SHARED_ACCESS, 56},                  // SharedAccess
    {{11, 0}, CUPTI_ACTIVITY_KIND_PC_SAMPLING, 40},                    // PCSampling3
    {{11, 0}, CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO, 32},        // PCSamplingRecordInfo
    {{11, 0}, CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION, 24},        // InstructionCorrelation
    {{11, 0}, CUPTI_ACTIVITY_KIND_OPENACC_DATA, 152},                  // OpenAccData
    {{11, 0}, CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, 152},                // OpenAccLaunch
    {{11, 0}, CUPTI_ACTIVITY_KIND_OPENACC_OTHER, 120},                 // OpenAccOther
    {{11, 0}, CUPTI_ACTIVITY_KIND_CUDA_EVENT, 24},                     // CudaEvent
    {{11, 0}, CUPTI_ACTIVITY_KIND_STREAM, 24},                         // Stream
    {{11, 0}, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 40},                // Synchronization
    {{11, 0}, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 24},           // ExternalCorrelation
    {{11, 0}, CUPTI_ACTIVITY_KIND_NVLINK, 136},                        // NvLink3
    {{11, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT, 32},            // InstantaneousEvent
    {{11, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE, 32},   // likewise
    {{11, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC, 32},           // InstantaneousMetric
    {{11, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE, 32},  // likewise
    {{11, 0}, CUPTI_ACTIVITY_KIND_MEMORY, 80},                         // Memory
    {{11, 0}, CUPTI_ACTIVITY_KIND_PCIE, 168},                          // Pcie
    {{11, 0}, CUPTI_ACTIVITY_KIND_OPENMP, 40},                         // OpenMp
    {{11, 0}, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, 40},            // API
    {{11, 1}, CUPTI_ACTIVITY_KIND_MEMCPY, 80},                         // Memcpy4
    {{11, 1}, CUPTI_ACTIVITY_KIND_MEMSET, 80},                         // Memset3
    {{11, 1}, CUPTI_ACTIVITY_KIND_MEMCPY2, 88},                        // MemcpyPtoP3
    {{11, 2}, CUPTI_ACTIVITY_KIND_KERNEL, 168},                        // Kernel6
    {{11, 2}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 168},             // Kernel6
    {{11, 2}, CUPTI_ACTIVITY_KIND_MEMORY2, 112},                       // Memory2
    {{11, 2}, CUPTI_ACTIVITY_KIND_MEMORY_POOL, 64},                    // MemoryPool
    {{11, 5}, CUPTI_ACTIVITY_KIND_DEVICE, 152},                        // Device3
    {{11, 6}, CUPTI_ACTIVITY_KIND_DEVICE, 176},                        // Device4
    {{11, 6}, CUPTI_ACTIVITY_KIND_KERNEL, 176},                        // Kernel7
    {{11, 6}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 176},             // Kernel7
    {{11, 6}, CUPTI_ACTIVITY_KIND_MEMCPY, 88},                         // Memcpy5
    {{11, 6}, CUPTI_ACTIVITY_KIND_MEMSET, 88},                         // Memset4
    {{11, 6}, CUPTI_ACTIVITY_KIND_MEMCPY2, 96},                        // MemcpyPtoP4
    {{11, 6}, CUPTI_ACTIVITY_KIND_MEMORY2, 120},                       // Memory3
    {{11, 6}, CUPTI_ACTIVITY_KIND_MEMORY_POOL, 72},                    // MemoryPool2
    {{11, 7}, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 48},                    // GraphTrace
    {{11, 8}, CUPTI_ACTIVITY_KIND_KERNEL, 200},                        // Kernel8
    {{11, 8}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 200},             // Kernel8
    {{11, 8}, CUPTI_ACTIVITY_KIND_JIT, 64},                            // Jit
    {{12, 0}, CUPTI_ACTIVITY_KIND_KERNEL, 208},                        // Kernel9
    {{12, 0}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 208},             // Kernel9
    {{12, 2}, CUPTI_ACTIVITY_KIND_DEVICE, 184},                        // Device5
    {{12, 3}, CUPTI_ACTIVITY_KIND_OVERHEAD, 48},                       // Overhead2
    {{12, 3}, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 56},                    // GraphTrace2
    {{12, 4}, CUPTI_ACTIVITY_KIND_CONTEXT, 24},                        // Context2
    {{12, 4}, CUPTI_ACTIVITY_KIND_OVERHEAD, 56},                       // Overhead3
    {{12, 4}, CUPTI_ACTIVITY_KIND_JIT, 72},                            // Jit2
    {{12, 5}, CUPTI_ACTIVITY_KIND_CONTEXT, 32},                        // Context3
    {{12, 6}, CUPTI_ACTIVITY_KIND_MEMORY2, 128},                       // Memory4
    {{12, 8}, CUPTI_ACTIVITY_KIND_MEMCPY, 96},                         // Memcpy6
    {{12, 8}, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, 104},        // UnifiedMemoryCounter3
    {{12, 8}, CUPTI_ACTIVITY_KIND_CUDA_EVENT, 56},                     // CudaEvent2
    {{12, 8}, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 56},                // Synchronization2
    {{12, 8}, CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE, 56},             // DeviceGraphTrace
    {{12, 8}, CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS, 64},                 // MemDecompress
    {{12, 9}, CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION, 32},  // likewise
    {{13, 0}, CUPTI_ACTIVITY_KIND_KERNEL, 216},                        // Kernel10
    {{13, 0}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 216},             // Kernel10
    {{13, 0}, CUPTI_ACTIVITY_KIND_MARKER_DATA, 40},                    // MarkerData2
    {{13, 0}, CUPTI_ACTIVITY_KIND_MEMORY_POOL, 80},                    // MemoryPool3
    {{13, 0}, CUPTI_ACTIVITY_KIND_EVENT, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_METRIC, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_BRANCH, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_EVENT_INSTANCE, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_METRIC_INSTANCE, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_SHARED_ACCESS, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_PC_SAMPLING, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC, 0},
    {{13, 0}, CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE, 0},
    {{13, 1}, CUPTI_ACTIVITY_KIND_KERNEL, 224},             // Kernel11
    {{13, 1}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 224},  // Kernel11
    {{13, 1}, CUPTI_ACTIVITY_KIND_CONTEXT, 40},             // Context4
    {{13, 1}, 56, 56},                                      // GraphHostNode
    {{13, 1}, 57, 24},                                      // ComputeEngineCtxSwitch
    {{13, 1}, 58, 48},                                      // HostLaunch
    {{13, 2}, CUPTI_ACTIVITY_KIND_DEVICE, 192},             // Device6
    {{13, 2}, CUPTI_ACTIVITY_KIND_NVLINK, 88},              // NvLink5
    {{13, 2}, 59, 168},                                     // GreenContext2
    {{13, 3}, CUPTI_ACTIVITY_KIND_KERNEL, 232},             // Kernel12
    {{13, 3}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 232},  // Kernel12
    {{13, 4}, CUPTI_ACTIVITY_KIND_MEMCPY, 112},             // Memcpy7
    {{13, 4}, CUPTI_ACTIVITY_KIND_MEMSET, 104},             // Memset5
    {{13, 4}, CUPTI_ACTIVITY_KIND_KERNEL, 248},             // Kernel13
    {{13, 4}, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 248},  // Kernel13
    {{13, 4}, 59, 304},                                     // GreenContext3
    {{13, 5}, CUPTI_ACTIVITY_KIND_CUDA_EVENT, 80},          // CudaEvent3
};

// What makes the first bytes of the newest struct an older record, for the kinds that are written
// here.
#define SIMCUPTI_SAME_PLACE(older, newest, last_field)                         \
  static_assert(offsetof(older, last_field) == offsetof(newest, last_field) && \
                sizeof(older) <= sizeof(newest))
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemcpy3, CUpti_ActivityMemcpy6, graphNodeId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemcpy5, CUpti_ActivityMemcpy6, channelType);
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemcpyPtoP2, CUpti_ActivityMemcpyPtoP4, graphNodeId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemset2, CUpti_ActivityMemset4, graphNodeId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityKernel5, CUpti_ActivityKernel10, graphNodeId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityKernel7, CUpti_ActivityKernel10, channelType);
SIMCUPTI_SAME_PLACE(CUpti_ActivityKernel8, CUpti_ActivityKernel10, localMemoryTotal_v2);
SIMCUPTI_SAME_PLACE(CUpti_ActivityKernel9, CUpti_ActivityKernel10, maxActiveClusters);
SIMCUPTI_SAME_PLACE(CUpti_ActivityDevice2, CUpti_ActivityDevice5, name);
SIMCUPTI_SAME_PLACE(CUpti_ActivityDevice4, CUpti_ActivityDevice5, migUuid);
SIMCUPTI_SAME_PLACE(CUpti_ActivityContext, CUpti_ActivityContext3, nullStreamId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityContext2, CUpti_ActivityContext3, numMultiprocessors);
SIMCUPTI_SAME_PLACE(CUpti_ActivityOverhead, CUpti_ActivityOverhead3, end);
SIMCUPTI_SAME_PLACE(CUpti_ActivitySynchronization, CUpti_ActivitySynchronization2, cudaEventId);
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemory2, CUpti_ActivityMemory4, isAsync);
SIMCUPTI_SAME_PLACE(CUpti_ActivityMemory3, CUpti_ActivityMemory4, isAsync);
SIMCUPTI_SAME_PLACE(CUpti_ActivityGraphTrace, CUpti_ActivityGraphTrace2, reserved);
#undef SIMCUPTI_SAME_PLACE

}  // namespace

RecordLayout LayoutOf(Version version) {
  RecordLayout layout{};
  for (const Change& change : kChanges) {
    if (change.since <= version) layout[static_cast<size_t>(change.kind)] = change.bytes;
  }
  return layout;
}

const RecordLayout& CurrentLayout() {
  static const RecordLayout layout = LayoutOf(PosedVersion().version);
  return layout;
}

}  // namespace simcupti

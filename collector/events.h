// The events of a traced process on their way from CUPTI and NVTX to the daemon: plain structs,
// filled by the readers and turned into columns by link/batch_encoder. proto/wire.proto says what
// each number means. Times are integer nanoseconds.
#ifndef COLLECTOR_EVENTS_H_
#define COLLECTOR_EVENTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tp::collect {

// Numbers of wire.proto's EventKind.
enum class EventKind : uint8_t {
  kUnknown = 0,
  kOperation = 1,
  kKernel = 2,
  kCopy = 3,
  kFill = 4,
  kRuntimeCall = 5,
  kDriverCall = 6,
  kLaunchOperation = 7,
  kGraph = 8,
  kSynchronization = 9,
  kMemory = 10,
  kOverhead = 11,
  kCompilation = 12,
  kGraphNode = 13,
  kCounter = 21,
};
inline constexpr size_t kEventKinds = 22;

// Numbers of wire.proto's LossCause.
enum class LossCause : uint8_t {
  kCuptiDropped = 1,
  kOperationBufferFull = 2,
  kQueueFull = 3,
  kUnreadable = 5,
};
inline constexpr size_t kLossCauses = 6;

// One number for each kind of event.
class EventCounts {
 public:
  uint64_t& operator[](EventKind kind) { return counts_[static_cast<size_t>(kind)]; }
  uint64_t operator[](EventKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  EventCounts& operator+=(const EventCounts& other) {
    for (size_t i = 0; i < kEventKinds; ++i) counts_[i] += other.counts_[i];
    return *this;
  }

 private:
  std::array<uint64_t, kEventKinds> counts_{};
};

using StringId = uint32_t;  // Into link/string_table; 0: the empty string.

// A range of the program. Host clock.
struct Operation {
  uint64_t id;
  int64_t start_ns, end_ns;
  uint32_t thread_id;
  StringId name;
  char kind;          // 'o', 'u', 'b'.
  bool asynchronous;  // A start/end range.
  StringId domain;
  StringId shapes;
  int64_t sequence_number_plus_one;
  StringId dtypes;
  int64_t flops, output_bytes;  // 0: not known.
  StringId stack = 0;           // 0: none.
};

// Numbers of wire.proto's ValueType.
enum class ValueType : uint8_t { kSigned = 0, kUnsigned = 1, kReal = 2, kText = 3 };

// What a range carries beyond its name: a payload's entry, a category.
struct OperationValue {
  StringId name;
  ValueType type;
  uint64_t bits;  // As wire.proto's OperationValueColumns has them.
};

// A counter's value at a moment. Host clock.
struct CounterValue {
  int64_t time_ns;
  StringId name;
  uint32_t thread_id;
  double value;
};

// How a kernel was launched: the numbers of wire.proto's LaunchConfigurationColumns, in its order.
struct LaunchConfiguration {
  uint32_t grid[3], block[3];
  uint32_t static_shared_bytes, dynamic_shared_bytes, local_bytes_per_thread;
  uint32_t registers_per_thread;
  uint32_t cluster[3];   // 0: without clusters, or not known.
  uint32_t launch_type;  // CUpti_ActivityLaunchType.
};
inline constexpr size_t kLaunchNumbers = 14;
static_assert(sizeof(LaunchConfiguration) == kLaunchNumbers * sizeof(uint32_t));

// A kernel, copy, fill or whole graph. CUPTI clock.
struct Work {
  int64_t start_ns, end_ns;
  uint32_t correlation_id;
  uint32_t device, context, stream;
  StringId name;
  uint64_t bytes;
  uint32_t copy_kind, source_memory, destination_memory;
  uint32_t destination_device_plus_one;
  uint32_t value;
  uint64_t graph_node;
  int64_t queued_ns, submitted_ns;  // Kernels; 0: not known.
  uint32_t graph_id;                // Whole graphs.
};

// A wait. CUPTI clock.
struct Synchronization {
  int64_t start_ns, end_ns;
  uint32_t correlation_id;
  uint32_t type;  // CUpti_ActivitySynchronizationType.
  uint32_t context;
  uint32_t stream_plus_one, event_plus_one;
};

// Numbers of wire.proto's MemoryOperation.
enum class MemoryOperation : uint8_t {
  kUnknown = 0,
  kAllocation = 1,
  kRelease = 2,
  kPoolCreation = 3,
  kPoolDestruction = 4,
  kPoolTrim = 5,
};

// Memory allocated or freed, or a pool of it. CUPTI clock.
struct MemoryEvent {
  int64_t time_ns;
  MemoryOperation operation;
  uint32_t kind;  // CUpti_ActivityMemoryKind.
  uint64_t address, bytes;
  uint32_t correlation_id;
  uint32_t device, context_plus_one, stream_plus_one;
  bool from_pool;
};

// A node of a graph was made.
struct GraphNode {
  uint64_t id;
  uint64_t operation_id;  // 0: none.
  uint64_t original_id;   // The node that it is a copy of; 0: none.
};

// A runtime or driver API call, or what is timed like one. CUPTI clock.
struct Call {
  int64_t start_ns, end_ns;
  uint32_t correlation_id;
  uint32_t thread_id;
  uint32_t cbid;
  uint32_t result;
  StringId name;
};

// What a device is: the numbers of wire.proto's DeviceDescription. The name lives as long as
// CUPTI's record.
struct Device {
  uint32_t id;
  std::string_view name;
  std::string_view uuid;
  uint32_t compute_major, compute_minor;
  uint64_t memory_bytes, memory_kilobytes_per_second;
  uint32_t multiprocessors, core_clock_khz, l2_cache_bytes;
  uint32_t threads_per_warp, threads_per_block, threads_per_multiprocessor;
  uint32_t registers_per_block, registers_per_multiprocessor;
  uint32_t shared_bytes_per_block, shared_bytes_per_multiprocessor;
};

struct Context {
  uint32_t id;
  uint32_t device;
  uint32_t api_kind;  // CUpti_ActivityComputeApiKind.
  uint32_t null_stream;
};

struct Stream {
  uint32_t context, id;
  uint32_t flag;  // CUpti_ActivityStreamFlag.
  int32_t priority;
};

}  // namespace tp::collect

#endif  // COLLECTOR_EVENTS_H_

// What one traced process did: the plain records that every source (live collector, capture file,
// imported trace) is turned into, and that every summary is made from. Meaning: section 1 of the
// summaries' specification (docs/reading_the_numbers.md).
//
// All times are integer nanoseconds of one clock per recording. Texts are ids into the recording's
// StringTable.
#ifndef ANALYZER_MODEL_RECORDING_H_
#define ANALYZER_MODEL_RECORDING_H_

#include <array>
#include <cstdint>

namespace tp {

// "No operation": all ones, not zero.
inline constexpr uint64_t kNoOperation = ~uint64_t{0};
inline constexpr int64_t kUnknownDuration = INT64_MIN;
// End of a span that has not ended.
inline constexpr int64_t kStillOpen = INT64_MAX;

using StringId = uint32_t;  // 0: the empty string.

enum class SpanKind : char { kOperation = 'o', kUserAnnotation = 'u', kBackward = 'b' };

enum class ActivityKind : char {
  kKernel = 'k',
  kCopy = 'm',
  kFill = 's',
  kRuntimeCall = 'r',
  kDriverCall = 'd',
  kGraph = 'g',             // A launch of a graph as a whole, in place of what its nodes did.
  kSynchronization = 'y',   // A wait: never device time.
  kCompilation = 'j',       // At run time.
  kDeviceAnnotation = 'a',  // The image of a host annotation on the device: no work.
  // Host time that went into profiling, or into what CUDA did unasked. Neither a call nor work.
  kOverhead = 'v',
};

inline bool IsDeviceWork(ActivityKind kind) {
  return kind == ActivityKind::kKernel || kind == ActivityKind::kCopy ||
         kind == ActivityKind::kFill || kind == ActivityKind::kGraph;
}

inline bool IsHostCall(ActivityKind kind) {
  return kind == ActivityKind::kRuntimeCall || kind == ActivityKind::kDriverCall;
}

// Host time that is neither a call nor an operation.
inline bool IsOtherHostTime(ActivityKind kind) {
  return kind == ActivityKind::kSynchronization || kind == ActivityKind::kOverhead ||
         kind == ActivityKind::kCompilation;
}

// Whether a record is of a thread and not of a device.
inline bool IsOnHost(ActivityKind kind) { return IsHostCall(kind) || IsOtherHostTime(kind); }

// A piece of host time with a name.
struct Span {
  uint64_t id =
      kNoOperation;  // By which launches and device records name it; unique in the recording.
  int64_t start_ns = 0;
  int64_t end_ns = kStillOpen;
  int64_t thread = 0;
  StringId name = 0;
  SpanKind kind = SpanKind::kUserAnnotation;
  bool asynchronous = false;  // Has no place in the nesting of its thread.
  StringId shapes = 0;  // Canonical text of the list of shapes, "[[2, 3], []]"; 0: not recorded.
  StringId dtypes = 0;  // JSON text of the list of the inputs' types, "["float", ""]"; 0: likewise.
  StringId stack = 0;   // Frames joined by '\n', innermost first; 0: not recorded.
  StringId call_site = 0;  // "train.py:10"; 0: not recorded.
  int64_t output_bytes = 0;
  int64_t flops = 0;
  // Device time (inclusive) that the source itself gave for the span, where it has no device
  // records: negative, none.
  int64_t given_device_ns = -1;
  int64_t given_kernel_count = 0;
};

enum class ValueType : uint8_t { kSigned, kUnsigned, kReal, kText };

// What a span carries beside its own members: an entry of a payload, a category.
struct SpanValue {
  uint64_t span = kNoOperation;  // Span::id.
  StringId name = 0;
  ValueType type = ValueType::kSigned;
  uint64_t bits = 0;  // Of the number (kReal: a double's); kText: a StringId.
};

// What the program said that a counter's value was.
struct CounterValue {
  int64_t time_ns = 0;
  int64_t thread = 0;  // That said it.
  StringId name = 0;
  double value = 0;
};

enum class LaunchType : uint32_t { kRegular = 0, kCooperative = 1, kCooperativeDevices = 2 };

// How a kernel was launched.
struct LaunchConfiguration {
  std::array<uint32_t, 3> grid{}, block{};  // All zero: not known.
  std::array<uint32_t, 3> cluster{};        // In blocks; zero: without clusters, or not known.
  uint32_t registers_per_thread = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t dynamic_shared_bytes = 0;
  uint32_t local_bytes_per_thread = 0;
  LaunchType type = LaunchType::kRegular;

  bool known() const { return block[0] != 0; }
};

// What the record of a kernel tells beyond what it was and when it ran.
struct KernelLaunch {
  LaunchConfiguration configuration;
  int64_t queued_to_start_ns = kUnknownDuration;
  int64_t submitted_to_start_ns = kUnknownDuration;
};

// What a kind of copy or memory beyond the range is kept as: nobody knows such numbers.
inline constexpr uint8_t kNoKind = UINT8_MAX;
inline uint8_t NarrowKind(uint64_t kind) {
  return kind < kNoKind ? static_cast<uint8_t>(kind) : kNoKind;
}

// A kernel, copy, fill, graph, API call, other host time, or annotation on the device.
struct DeviceActivity {
  ActivityKind kind = ActivityKind::kKernel;
  // CUpti_ActivityMemcpyKind, or unified memory's (copy_kind.h); larger numbers are kNoKind.
  uint8_t copy_kind = 0;
  uint8_t source_memory = 0;  // CUpti_ActivityMemoryKind, likewise.
  uint8_t destination_memory = 0;
  int32_t device = 0;  // On the host: -1.
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t correlation = 0;           // 0 links nothing.
  uint64_t operation = kNoOperation;  // The record's own word for the span it belongs to.
  StringId name = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  bool has_stream = true;  // Synchronizations: it is a stream that was waited for.
  // On the host. Device work: any thread of its process, where the source says whose it is.
  int64_t thread = 0;
  uint32_t cbid = 0;    // Host calls.
  uint32_t result = 0;  // Host calls: not 0, an error.
  uint64_t bytes = 0;
  uint64_t value = 0;       // Fills.
  uint64_t graph_node = 0;  // 0: was not launched by a graph.
};

// wire::MemoryOperation's numbers.
enum class MemoryOperation {
  kUnknown = 0,
  kAllocation = 1,
  kRelease = 2,
  kPoolCreation = 3,
  kPoolDestruction = 4,
  kPoolTrim = 5,
};

// Memory that CUDA allocated or freed for the program, or a pool of it made, ended or trimmed.
// (What a framework says of its own allocator is a MemoryEvent of whole_recording.h.)
struct MemoryChange {
  int64_t time_ns = 0;
  MemoryOperation operation = MemoryOperation::kUnknown;
  uint32_t kind = 0;  // CUpti_ActivityMemoryKind.
  uint64_t address = 0;
  uint64_t bytes = 0;  // Releases: 0 if it is not known.
  uint32_t device = 0;
  bool from_pool = false;
};

// A node of a graph, as it was made.
struct GraphNode {
  uint64_t id = 0;
  uint64_t operation = kNoOperation;  // In which it was captured or made.
  uint64_t original = 0;              // The node that it is a copy of; 0: none.
};

// A whole recording has millions of them in memory.
static_assert(sizeof(Span) < 100 && sizeof(DeviceActivity) < 100);

}  // namespace tp

#endif  // ANALYZER_MODEL_RECORDING_H_

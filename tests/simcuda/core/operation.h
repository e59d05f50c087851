// What a program asks of a stream: the same description serves a direct submission and a node of a
// graph.
#ifndef TESTS_SIMCUDA_CORE_OPERATION_H_
#define TESTS_SIMCUDA_CORE_OPERATION_H_

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>

#include "tests/simcuda/core/library.h"
#include "tests/simcuda/core/memory.h"

namespace simcuda {

struct Event;
struct GraphPlan;
struct Stream;

struct KernelLaunch {
  Kernel* kernel = nullptr;
  const char* reported_name = nullptr;  // For ever.
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1}, cluster = {0, 0, 0};
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
};

// A box of bytes. One dimension: height and depth are 1 and pitches do not matter.
struct Copy {
  uint64_t source = 0, destination = 0;
  size_t width = 0, height = 1, depth = 1;
  size_t source_pitch = 0, destination_pitch = 0;  // Between rows.
  size_t source_slice = 0, destination_slice = 0;  // Between slices.
  MemoryKind source_kind = MemoryKind::kUnknown, destination_kind = MemoryKind::kUnknown;
  uint32_t source_device = 0, destination_device = 0;
  uint32_t source_context = 0, destination_context = 0;
  bool async = false;
  bool peer = false;

  uint64_t bytes() const { return uint64_t{width} * height * depth; }
};

struct Fill {
  uint64_t destination = 0;
  size_t width = 0, height = 1;  // In elements, in rows.
  size_t pitch = 0;
  uint32_t value = 0, element_bytes = 1;
  MemoryKind kind = MemoryKind::kUnknown;
  bool async = false;

  uint64_t bytes() const { return uint64_t{width} * element_bytes * height; }
};

struct HostFunction {
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;  // The older form. One of the two is set.
  CUstream stream = nullptr;            // For the callback.
  void* data = nullptr;
};

struct EventRecord {
  Event* event = nullptr;
  uint64_t serial = 0;  // Which of its records this is.
};

struct EventWait {
  Event* event = nullptr;
};

struct GraphLaunch {
  std::shared_ptr<const GraphPlan> plan;
};

struct FreeMemory {
  uint64_t address = 0;
};

struct Nothing {};

struct Operation {
  std::variant<Nothing, KernelLaunch, Copy, Fill, HostFunction, EventRecord, EventWait, GraphLaunch,
               FreeMemory>
      what;
  uint64_t duration_ns = 0;
  uint64_t delay_ns = 0;  // From the present to the earliest start.
};

// Launch latency when the program (or simcuda_next_delay_ns) does not say otherwise.
inline constexpr uint64_t kLaunchLatencyNs = 3000;

// These fill in the duration: simcuda_next_duration_ns, else SIMCUDA_KERNEL_COST and the formulas.
// Copies: latency of 1500 ns plus bytes by bandwidth: 50 bytes/ns pinned, 12 pageable, 2000 within
// a device, 200 between devices. Fills: 1200 ns, 2000 bytes/ns.
Operation MakeOperation(KernelLaunch launch);
Operation MakeOperation(Copy copy);
Operation MakeOperation(Fill fill);

// The name that the next launch of `kernel` by this thread will be reported under
// (simcuda_next_kernel_name).
const char* NextReportedName(const Kernel& kernel);

// Moves or fills the bytes.
void MoveBytes(const Operation& operation);

// CUpti_ActivityMemcpyKind of a copy.
uint32_t CopyKind(const Copy& copy);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_OPERATION_H_

// The parts of the device model: devices, contexts, streams, events. The rules of their time are in
// submit.h.
//
// One lock, Model::mutex, guards all of it (device work costs no time under it, only arithmetic).
// Objects are made and ended by the functions of context.h, stream.h and event.h; tables keep them
// where a program's handles point.
#ifndef TESTS_SIMCUDA_CORE_MODEL_H_
#define TESTS_SIMCUDA_CORE_MODEL_H_

#include <cuda.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/simcuda/core/handle_table.h"
#include "tests/simcuda/core/library.h"
#include "tests/simcuda/core/observer.h"
#include "tests/simcuda/core/operation.h"
#include "tests/simcuda/core/timeline.h"

namespace simcuda {

struct Capture;
struct Context;
struct GraphNode;
struct Stream;

// When something ends. Not known while a host function before it has still to run.
struct Completion {
  bool known = false;
  uint64_t end_ns = 0;
};

struct Device {
  uint32_t id = 0;
  Context* primary = nullptr;
  unsigned primary_flags = 0;
  int primary_references = 0;
  SerialEngine host_to_device, device_to_host;
  ConcurrencyLimit resident_kernels{128};
};

// Completed or running work that the observer has not seen. Outlives its stream.
struct Undelivered {
  std::deque<DeviceWork> works;  // In the order of completion.
  size_t told_running = 0;       // Of them, from the front: the observer knows that they run.
};

// One pass of a graph through a stream; only kept when a host function holds it up.
struct GraphRun {
  std::shared_ptr<const GraphPlan> plan;
  std::vector<std::shared_ptr<Completion>> nodes;  // nullptr: not begun.
};

// An operation that waits for a host function, its own or another stream's.
struct Pending {
  Operation operation;
  std::vector<std::shared_ptr<Completion>> dependencies;
  std::shared_ptr<Completion> done = std::make_shared<Completion>();
  bool begun = false;  // A host function, or a graph with host functions, that was started.
  uint32_t correlation_id = 0;
  uint64_t queued_ns = 0;
  uint64_t observer_data = 0;
  GraphRun graph;
};

struct Stream {
  Context* context = nullptr;
  uint32_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false, per_thread = false;
  bool retired = false;   // Destroyed by the program; kept until its work is done.
  uint64_t ready_ns = 0;  // End of all that was scheduled.
  std::deque<std::unique_ptr<Pending>> pending;  // Nearly always empty.
  std::shared_ptr<Undelivered> undelivered = std::make_shared<Undelivered>();
  // Ends of the last kWindow submissions: like the real one, a stream takes only so many before the
  // caller has to wait.
  static constexpr size_t kWindow = 1024;
  std::vector<uint64_t> window;
  uint64_t submissions = 0;
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> capture_tail;  // What the next captured node depends on.

  bool blocking() const { return !legacy && (flags & CU_STREAM_NON_BLOCKING) == 0; }
  CUstream handle() const;
};

struct Event {
  Context* context = nullptr;
  uint32_t id = 0;
  unsigned flags = 0;
  uint64_t serial = 0;                     // Counts its records.
  std::shared_ptr<Completion> completion;  // nullptr: never recorded.
  std::shared_ptr<Capture> capture;        // Recorded in a capturing stream.
  std::vector<GraphNode*> capture_tail;
  int references = 1;  // The program, and pending operations.
};

struct Context {
  uint32_t id = 0;
  Device* device = nullptr;
  unsigned flags = 0;
  bool primary = false;
  Stream* legacy = nullptr;
  std::unordered_map<uint64_t, Stream*> per_thread;  // By system thread id.
  std::unordered_set<Stream*> streams;               // Without the legacy one; with retired ones.
  uint64_t blocking_ready_ns = 0;                    // End of all work in blocking streams.
  uint64_t ready_ns = 0;                             // End of all work.
  int blocked_streams = 0;                           // Streams with pending operations.
  uint32_t next_stream_id = 13;
  CUresult fault = CUDA_SUCCESS;  // Sticky, from fault_ns on.
  uint64_t fault_ns = 0;
  std::unordered_map<int, size_t> limits;
  std::unordered_set<const Context*> peers;  // Peer access is enabled to these.
};

struct Model {
  static Model& Instance();

  std::mutex mutex;
  std::condition_variable progress;  // A host function has returned, pending work was scheduled.
  std::vector<std::unique_ptr<Device>> devices;
  HandleTable<Context, 4096> contexts;
  HandleTable<Stream, 1 << 17> streams;
  HandleTable<Event, 1 << 22> events;
  std::vector<std::shared_ptr<Undelivered>> undelivered;  // Of all streams, present and past.
  uint32_t next_context_id = 1;
  uint32_t next_event_id = 1;
  int64_t next_grid_id = 1;
};

// The number that the legacy default stream has in every context.
inline constexpr uint32_t kLegacyStreamId = 7;

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_MODEL_H_

// What the simulated driver and runtime tell the simulated CUPTI.
//
// libcuda.so.1 holds the device model and calls one observer, when there is one, at every API call,
// device activity and resource event. libcupti.so.13 is that observer: it finds
// `simcuda_set_observer` in the process's libcuda.so.1 with dlsym (no libcuda.so.1 in the process
// means that CUDA is not here). Nothing else passes between the two.
//
// Threads: api_enter and api_exit run on the calling thread, in pairs, properly nested per thread
// (a runtime call encloses the driver calls that it makes). device_work and the others run on
// whichever thread finds that the work is complete; calls may be concurrent. The observer must not
// call back into the driver from submitting or device_work. Pointers in arguments live for the call
// alone, except names marked "for ever".
#ifndef TESTS_SIMCUDA_CORE_OBSERVER_H_
#define TESTS_SIMCUDA_CORE_OBSERVER_H_

#include <cstddef>
#include <cstdint>

namespace simcuda {

enum class ApiDomain : uint32_t { kDriver = 1, kRuntime = 2 };  // CUpti_CallbackDomain's numbers.

// One runtime or driver API call. Lives on the caller's stack from enter to exit.
struct ApiCall {
  ApiDomain domain;
  uint32_t cbid;              // CUPTI_RUNTIME_TRACE_CBID_* or CUPTI_DRIVER_TRACE_CBID_*.
  const char* function_name;  // For ever. As cuptiGetCallbackName gives it.
  const void* params;         // The generated_*_meta.h parameter struct of this cbid, or nullptr.
  const char* symbol_name;    // Launches: the kernel's mangled name, for ever; else nullptr.
  void* context;              // CUcontext current at the call, or nullptr.
  uint32_t context_id;        // 0 without a context.
  uint32_t correlation_id;  // Unique per process, never 0. A driver call inside a runtime call has
                            // the runtime call's.
  uint64_t start_ns;        // Simulated clock (clock.h). Set before enter.
  uint64_t end_ns;          // Set before exit.
  uint64_t system_thread_id;  // gettid().
  uint64_t pthread_id;        // pthread_self().
  uint32_t result;            // CUresult or cudaError_t. Set before exit.
  bool nested;                // A driver call made by the simulated runtime, not by the program.
  uint64_t observer_data;  // The observer's own, kept from enter to exit (CUPTI's correlationData).
  const void* result_pointer;  // Address of the return value, as
                               // CUpti_CallbackData::functionReturnValue. Set before exit.
};

enum class WorkKind : uint32_t { kKernel, kCopy, kPeerCopy, kFill };

// One piece of device work that is complete; or, with an end of 0, one that runs at a call of
// Driver::deliver: it is told once more when it ends.
struct DeviceWork {
  WorkKind kind;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;  // As cuptiGetStreamIdEx gives it: the legacy default stream is 7 in every
                       // context.
  uint32_t
      correlation_id;  // Of the API call that asked for it (a graph's launch for all of its nodes).
  uint64_t start_ns, end_ns;
  uint64_t queued_ns, submitted_ns;
  uint64_t graph_node_id;  // 0 outside graphs.
  uint32_t graph_id;
  bool per_thread_default_stream;
  uint64_t observer_data;  // What Observer::submitting said when the work was asked for.

  // Kernels.
  const char* name;  // Mangled, for ever.
  uint32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
  uint32_t registers_per_thread, static_shared_bytes, dynamic_shared_bytes, local_bytes_per_thread;
  uint32_t cluster_x, cluster_y, cluster_z;
  int64_t grid_id;
  bool cooperative;

  // Copies and fills. Kinds are CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
  uint64_t bytes;
  uint32_t copy_kind, source_memory_kind, destination_memory_kind;
  bool async;
  uint32_t value;  // Fills: the value.
  uint32_t source_device_id, source_context_id, destination_device_id,
      destination_context_id;  // Peer copies.
};

enum class SyncKind : uint32_t {  // CUpti_ActivitySynchronizationType's numbers.
  kEventSynchronize = 1,
  kStreamWaitEvent = 2,
  kStreamSynchronize = 3,
  kContextSynchronize = 4,
};

struct Synchronization {
  SyncKind kind;
  uint64_t start_ns, end_ns;
  uint32_t correlation_id, context_id;
  uint32_t stream_id;  // Where the kind has one, else CUPTI_SYNCHRONIZATION_INVALID_VALUE.
  uint32_t event_id;   // Likewise.
};

enum class Resource : uint32_t {
  kContextCreated,
  kContextDestroyStarting,
  kStreamCreated,
  kStreamDestroyStarting,
  kModuleLoaded,
  kModuleUnloadStarting,
  kGraphCreated,
  kGraphExecCreated,
  kGraphNodeCreated,
  kGraphNodeCloned,  // After its creation; also for the nodes of an executable graph.
  kGraphDestroyed,
};

struct ResourceEvent {
  Resource resource;
  void* context;  // CUcontext.
  uint32_t context_id, device_id;
  void* stream;  // CUstream, for streams.
  uint32_t stream_id;
  int32_t stream_priority;
  uint32_t stream_flags;  // CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING.
  uint32_t module_id;
  const void* cubin;
  size_t cubin_bytes;
  uint32_t graph_id, original_graph_id;
  uint64_t graph_node_id, original_graph_node_id;
  uint64_t time_ns;
};

// Memory allocated or freed.
struct MemoryEvent {
  bool allocated;
  uint64_t address, bytes, time_ns;
  uint32_t memory_kind;  // CUpti_ActivityMemoryKind.
  uint32_t device_id, context_id, stream_id, correlation_id;
  bool async;
  bool from_pool;
};

enum class PoolChange : uint32_t {  // CUpti_ActivityMemoryPoolOperationType's numbers.
  kCreated = 1,
  kDestroyed = 2,
  kTrimmed = 3,
};

// A pool of memory made, ended or trimmed by the program.
struct MemoryPoolEvent {
  PoolChange change;
  uint64_t address;  // The pool's handle.
  uint64_t time_ns, used_bytes, release_threshold, min_bytes_to_keep;
  uint32_t device_id, correlation_id;
};

struct Observer {
  void (*api_enter)(ApiCall* call);
  void (*api_exit)(ApiCall* call);
  // A call of this context asks for device work now; the answer comes back with it.
  uint64_t (*submitting)(uint32_t context_id);
  void (*device_work)(const DeviceWork& work);
  void (*synchronization)(const Synchronization& synchronization);
  void (*resource)(const ResourceEvent& event);
  void (*memory)(const MemoryEvent& event);
  void (*memory_pool)(const MemoryPoolEvent& event);
};

// What the observer may ask of the driver (stable for the life of the process).
struct Driver {
  uint64_t (*now_ns)();                   // The simulated clock.
  uint32_t (*context_id)(void* context);  // 0 if unknown.
  uint32_t (*stream_id)(void* context, void* stream, bool per_thread);
  uint32_t (*device_of_context)(void* context);
  void* (*current_context)();
  int (*device_count)();
  // Makes every piece of device work whose end has passed, or that runs now, known to the observer
  // before it returns; with `wait`, first waits for all work that has been submitted.
  void (*deliver)(bool wait);
  // Calls `visit` for each context, stream and module that exists (what a late subscriber
  // enumerates).
  void (*for_each_resource)(void (*visit)(const ResourceEvent& event, void* user), void* user);
};

}  // namespace simcuda

extern "C" {
// Exported by the simulated libcuda.so.1. Sets the process's observer (nullptr: none) and returns
// the driver's own table. Calls that are under way when it changes end with the observer that they
// began with.
const simcuda::Driver* simcuda_set_observer(const simcuda::Observer* observer);
}

#endif  // TESTS_SIMCUDA_CORE_OBSERVER_H_

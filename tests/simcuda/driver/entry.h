// How the driver API's entry points are written.
//
//     DRIVER_ENTRY(cuMemFree_v2, (CUdeviceptr dptr), (dptr)) { ... the body ... }
//
// defines the exported function; around the body it reports the call under its CUPTI callback id
// with its parameter structure, and answers for it while CUDA is not ready. DRIVER_STREAM_ENTRY
// defines a function and its per-thread-default-stream twin (suffix _ptsz or _ptds); the body sees
// `default_stream`, what a null stream means.
#ifndef TESTS_SIMCUDA_DRIVER_ENTRY_H_
#define TESTS_SIMCUDA_DRIVER_ENTRY_H_

#include <cuda.h>
#include <cudaProfiler.h>
#include <cupti_driver_cbid.h>

#include <generated_cuda_meta.h>

#include "tests/simcuda/core/api_scope.h"
#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/context.h"
#include "tests/simcuda/core/delivery.h"
#include "tests/simcuda/core/graph.h"
#include "tests/simcuda/core/library.h"
#include "tests/simcuda/core/memory.h"
#include "tests/simcuda/core/model.h"
#include "tests/simcuda/core/process.h"
#include "tests/simcuda/core/submit.h"
#include "tests/simcuda/core/thread_state.h"

#define SIMCUDA_UNPACK(...) __VA_ARGS__

#define SIMCUDA_DRIVER_FUNCTION(name, parameters, arguments, symbol, ready, call)               \
  extern "C" CUresult name parameters {                                                         \
    name##_params call_params = {SIMCUDA_UNPACK arguments};                                     \
    ::simcuda::ApiScope api_scope(*simcuda_api_gate(), ::simcuda::ApiDomain::kDriver,           \
                                  CUPTI_DRIVER_TRACE_CBID_##name, #name, &call_params, symbol); \
    CUresult readiness = ready;                                                                 \
    return api_scope.Return(readiness != CUDA_SUCCESS ? readiness : call);                      \
  }

#define DRIVER_ENTRY(name, parameters, arguments)                                   \
  static CUresult name##_body parameters;                                           \
  SIMCUDA_DRIVER_FUNCTION(name, parameters, arguments, nullptr, ::simcuda::Ready(), \
                          name##_body arguments)                                    \
  static CUresult name##_body parameters

// For the few functions that work before cuInit.
#define DRIVER_ENTRY_ALWAYS(name, parameters, arguments)                      \
  static CUresult name##_body parameters;                                     \
  SIMCUDA_DRIVER_FUNCTION(name, parameters, arguments, nullptr, CUDA_SUCCESS, \
                          name##_body arguments)                              \
  static CUresult name##_body parameters

#define DRIVER_ENTRY_NO_PARAMETERS(name)                                              \
  static CUresult name##_body();                                                      \
  extern "C" CUresult name() {                                                        \
    ::simcuda::ApiScope api_scope(*simcuda_api_gate(), ::simcuda::ApiDomain::kDriver, \
                                  CUPTI_DRIVER_TRACE_CBID_##name, #name, nullptr);    \
    CUresult readiness = ::simcuda::Ready();                                          \
    return api_scope.Return(readiness != CUDA_SUCCESS ? readiness : name##_body());   \
  }                                                                                   \
  static CUresult name##_body()

// `symbol`: an expression for the name of the kernel that the call launches, nullptr otherwise.
#define DRIVER_LAUNCH_ENTRY(name, suffix, parameters, arguments, symbol)                   \
  static CUresult name##_body(CUstream default_stream, SIMCUDA_UNPACK parameters);         \
  SIMCUDA_DRIVER_FUNCTION(name, parameters, arguments, symbol, ::simcuda::Ready(),         \
                          name##_body(nullptr, SIMCUDA_UNPACK arguments))                  \
  SIMCUDA_DRIVER_FUNCTION(name##suffix, parameters, arguments, symbol, ::simcuda::Ready(), \
                          name##_body(CU_STREAM_PER_THREAD, SIMCUDA_UNPACK arguments))     \
  static CUresult name##_body([[maybe_unused]] CUstream default_stream, SIMCUDA_UNPACK parameters)

#define DRIVER_STREAM_ENTRY(name, suffix, parameters, arguments) \
  DRIVER_LAUNCH_ENTRY(name, suffix, parameters, arguments, nullptr)

// Leaves the enclosing function with the error, if there is one.
#define RETURN_IF_ERROR(expression) \
  if (CUresult error = (expression); error != CUDA_SUCCESS) return error

namespace simcuda {

// The current context. CUDA_ERROR_INVALID_CONTEXT without one; its fault when it has one.
inline CUresult NeedContext(Context** context) {
  *context = CurrentContext();
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  return Fault(**context);
}

// The stream that `handle` means in an entry point whose default stream is `default_stream`.
inline CUresult NeedStream(CUstream handle, CUstream default_stream, Stream** stream) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  *stream = FindStream(context, handle == nullptr ? default_stream : handle);
  return *stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// Waits for a stream and reports the synchronization. Not while it captures.
CUresult SynchronizeStream(Stream& stream);
CUresult SynchronizeContext(Context& context);

inline bool IsCapturing(const Stream& stream) {
  std::lock_guard<std::mutex> lock(Model::Instance().mutex);
  return stream.capture != nullptr;
}

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_DRIVER_ENTRY_H_

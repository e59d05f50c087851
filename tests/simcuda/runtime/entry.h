// How the runtime API's entry points are written.
//
//     RUNTIME_ENTRY(cudaFree, v3020, (void* devPtr), (devPtr)) { ... the body ... }
//
// defines the exported function. It loads the driver at the first call, reports the call under its
// CUPTI callback id (the name with its version) with its parameter structure, makes sure that the
// thread has a context, and notes the error. In the body `driver` is the driver API.
// RUNTIME_STREAM_ENTRY defines the per-thread-default-stream twin as well; the body sees
// `default_stream` there.
#ifndef TESTS_SIMCUDA_RUNTIME_ENTRY_H_
#define TESTS_SIMCUDA_RUNTIME_ENTRY_H_

#include <cuda_runtime_api.h>
#include <cupti_runtime_cbid.h>

#include <generated_cuda_runtime_api_meta.h>

#include "tests/simcuda/core/api_scope.h"
#include "tests/simcuda/runtime/driver_api.h"
#include "tests/simcuda/runtime/thread.h"

#define SIMCUDA_UNPACK(...) __VA_ARGS__

#define SIMCUDA_RUNTIME_FUNCTION(function, traced, parameters, call_params, symbol, prepare, call) \
  extern "C" cudaError_t function parameters {                                                     \
    const ::simcuda::runtime::DriverApi* driver;                                                   \
    if (cudaError_t missing = ::simcuda::runtime::Begin(&driver); missing != cudaSuccess) {        \
      return ::simcuda::runtime::Note(missing);                                                    \
    }                                                                                              \
    call_params;                                                                                   \
    ::simcuda::ApiScope api_scope(*driver->bridge->gate, ::simcuda::ApiDomain::kRuntime,           \
                                  CUPTI_RUNTIME_TRACE_CBID_##traced, #traced,                      \
                                  ::simcuda::runtime::ParamsAddress(function_params), symbol);     \
    cudaError_t readiness = prepare;                                                               \
    return api_scope.Return(                                                                       \
        ::simcuda::runtime::Note(readiness != cudaSuccess ? readiness : call));                    \
  }

#define SIMCUDA_RUNTIME_BODY(name, parameters)                                                 \
  static cudaError_t name##_body([[maybe_unused]] const ::simcuda::runtime::DriverApi& driver, \
                                 SIMCUDA_UNPACK parameters)

#define RUNTIME_ENTRY(name, version, parameters, arguments)                                        \
  SIMCUDA_RUNTIME_BODY(name, parameters);                                                          \
  SIMCUDA_RUNTIME_FUNCTION(name, name##_##version, parameters,                                     \
                           name##_##version##_params function_params = {SIMCUDA_UNPACK arguments}, \
                           nullptr, ::simcuda::runtime::NeedContext(*driver),                      \
                           name##_body(*driver, SIMCUDA_UNPACK arguments))                         \
  SIMCUDA_RUNTIME_BODY(name, parameters)

// For functions that do not need, and so do not make, a context.
#define RUNTIME_ENTRY_NO_CONTEXT(name, version, parameters, arguments)                             \
  SIMCUDA_RUNTIME_BODY(name, parameters);                                                          \
  SIMCUDA_RUNTIME_FUNCTION(name, name##_##version, parameters,                                     \
                           name##_##version##_params function_params = {SIMCUDA_UNPACK arguments}, \
                           nullptr, cudaSuccess, name##_body(*driver, SIMCUDA_UNPACK arguments))   \
  SIMCUDA_RUNTIME_BODY(name, parameters)

#define RUNTIME_ENTRY_NO_PARAMETERS(name, version)                                               \
  static cudaError_t name##_body(const ::simcuda::runtime::DriverApi& driver);                   \
  SIMCUDA_RUNTIME_FUNCTION(name, name##_##version, (), std::nullptr_t function_params = nullptr, \
                           nullptr, ::simcuda::runtime::NeedContext(*driver),                    \
                           name##_body(*driver))                                                 \
  static cudaError_t name##_body([[maybe_unused]] const ::simcuda::runtime::DriverApi& driver)

// `traced` and `twin_traced` are the names under which the two are reported; `symbol` an expression
// for the launched kernel's name.
#define RUNTIME_LAUNCH_ENTRY(name, traced, suffix, twin_traced, parameters, arguments, symbol)   \
  SIMCUDA_RUNTIME_BODY(name, (cudaStream_t default_stream, SIMCUDA_UNPACK parameters));          \
  SIMCUDA_RUNTIME_FUNCTION(name, traced, parameters,                                             \
                           traced##_params function_params = {SIMCUDA_UNPACK arguments}, symbol, \
                           ::simcuda::runtime::NeedContext(*driver),                             \
                           name##_body(*driver, nullptr, SIMCUDA_UNPACK arguments))              \
  SIMCUDA_RUNTIME_FUNCTION(name##suffix, twin_traced, parameters,                                \
                           twin_traced##_params function_params = {SIMCUDA_UNPACK arguments},    \
                           symbol, ::simcuda::runtime::NeedContext(*driver),                     \
                           name##_body(*driver, cudaStreamPerThread, SIMCUDA_UNPACK arguments))  \
  SIMCUDA_RUNTIME_BODY(name,                                                                     \
                       ([[maybe_unused]] cudaStream_t default_stream, SIMCUDA_UNPACK parameters))

#define RUNTIME_STREAM_ENTRY(name, version, suffix, twin_version, parameters, arguments)          \
  RUNTIME_LAUNCH_ENTRY(name, name##_##version, suffix, name##suffix##_##twin_version, parameters, \
                       arguments, nullptr)

// Leaves the enclosing function with the error, if there is one.
#define RETURN_IF_CUDA_ERROR(expression) \
  if (cudaError_t error = (expression); error != cudaSuccess) return error

namespace simcuda::runtime {

// The numbers of CUresult and cudaError_t agree wherever both have an error.
inline cudaError_t ToRuntime(CUresult result) { return static_cast<cudaError_t>(result); }

template <typename Params>
const void* ParamsAddress(const Params& params) {
  return &params;
}
inline const void* ParamsAddress(const std::nullptr_t&) { return nullptr; }

inline cudaStream_t StreamOr(cudaStream_t stream, cudaStream_t default_stream) {
  return stream == nullptr ? default_stream : stream;
}

}  // namespace simcuda::runtime

#endif  // TESTS_SIMCUDA_RUNTIME_ENTRY_H_

// The two variables by which the CUDA driver and NVTX learn of a tool's library.
#ifndef COLLECTOR_ENVIRONMENT_H_
#define COLLECTOR_ENVIRONMENT_H_

namespace tp::collect {

inline constexpr char kCudaInjection[] = "CUDA_INJECTION64_PATH";
inline constexpr char kNvtxInjection[] = "NVTX_INJECTION64_PATH";

// Sets each of them to `path` unless it is set already. Goes past setenv, which some programs
// (bash) replace by one of their own that does not work before main. For a library's constructor:
// not thread-safe, makes one mapping, leaves all as it was when that fails.
void SetInjectionVariables(const char* path);

// The variable's value if it names another library than `path`; else nullptr.
const char* OtherInjection(const char* variable, const char* path);

}  // namespace tp::collect

#endif  // COLLECTOR_ENVIRONMENT_H_

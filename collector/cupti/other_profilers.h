// Who else may be profiling in this process, by the libraries that are loaded: CUPTI says that
// there is somebody, and only since CUDA 13.0 who.
#ifndef COLLECTOR_CUPTI_OTHER_PROFILERS_H_
#define COLLECTOR_CUPTI_OTHER_PROFILERS_H_

#include <string>
#include <string_view>

namespace tp::collect {

// "PyTorch's profiler" for a library that has a client of CUPTI in it (a path, or the file alone);
// empty if it is not known to.
std::string_view ProfilerIn(std::string_view library);

// Whether those that are loaded are all known to subscribe to CUPTI for as long as they profile:
// when nobody has subscribed, none of them does. False if none is loaded.
bool LoadedProfilersSubscribe();

// Whether nobody who is loaded is known to be refused while we use CUPTI's functions for several
// subscribers: all use them, too, or would use the older ones then. True if none is loaded.
bool LoadedProfilersShare();

// "PyTorch's profiler (libtorch_cpu.so), Score-P (libscorep_adapter_cuda.so)": those that are
// loaded; empty if none is known.
std::string LoadedProfilers();

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_OTHER_PROFILERS_H_

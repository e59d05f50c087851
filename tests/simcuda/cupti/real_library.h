// NVIDIA's own libcupti, where the toolkit has it, beside the simulated one in one process.
#ifndef TESTS_SIMCUDA_CUPTI_REAL_LIBRARY_H_
#define TESTS_SIMCUDA_CUPTI_REAL_LIBRARY_H_

#include <dlfcn.h>

#include <string>

namespace real_library {

// A handle for dlsym; nullptr, with the reason in WhyNot(), if there is no such library. It finds
// its own symbols before the simulated library's. (A name space of its own would keep them apart as
// well, but brings a second libc, whose thread-specific keys collide with the first one's.)
// CUDA_HOME comes from the build.
inline void* Open() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return nullptr;
#else
  static void* const handle = [] {
    for (const char* folder : {"/targets/x86_64-linux/lib", "/lib64", "/extras/CUPTI/lib64"}) {
      const std::string path = std::string(CUDA_HOME) + folder + "/libcupti.so.13";
      if (void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)) return opened;
    }
    return static_cast<void*>(nullptr);
  }();
  return handle;
#endif
}

inline std::string WhyNot() {
  return std::string("no libcupti.so.13 that could be opened under ") + CUDA_HOME +
         ", or sanitizers are on, which do not let two libraries be kept apart";
}

}  // namespace real_library

#endif  // TESTS_SIMCUDA_CUPTI_REAL_LIBRARY_H_

// Reaches the NVTX of modules that have asked for a tool already and found none: each module has
// its own table of functions (NVTX is header-only), in its data, which begins in a way that is
// unlike anything else. They are found there, whether symbols were stripped or not.
//
// Reads the process's memory through /proc/self/mem, where what is unloaded meanwhile is an error
// and no crash. One thread at a time; not in a hot path: a module's data is searched once.
#ifndef COLLECTOR_OPERATION_NVTX_MODULES_H_
#define COLLECTOR_OPERATION_NVTX_MODULES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tp::collect {

class NvtxModules {
 public:
  // Puts our functions into the tables of all modules that are loaded now, where no other tool's
  // are; one that has not made an NVTX call yet is made to look for its tool first, as its first
  // call would. Cheap when nothing was loaded since the last call.
  void Listen();

  // Modules with NVTX, as of the last Listen.
  size_t found() const { return found_; }
  // Those in which another tool has its functions: their ranges are not seen.
  size_t taken() const { return taken_; }

  // Takes our functions out of all modules. Those of NVTX's extensions stay, and do nothing.
  static void StopListening();

 private:
  uint64_t loads_ = 0;  // The loader's count of modules that were loaded, at the last Listen.
  bool is_complete_ = false;
  std::vector<uintptr_t> searched_;  // Where the modules are that have been looked into.
  size_t found_ = 0, taken_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_NVTX_MODULES_H_

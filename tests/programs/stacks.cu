// Ranges that begin in known functions. None of the calls is the last thing that a function does,
// so that each has a frame.
//
//   stacks [PLUGIN]       the library of stack_plugin.cc: its function is called, and it is
//   unloaded
//
// "range" begins in work::Begin, called by work::First (3 times) and work::Second (twice), and
// "deep" below a recursion of work::Recurse. Each has one kernel in it.

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

__global__ void empty() {}

namespace work {

__attribute__((noinline)) void Begin(const char* name) {
  nvtxRangePushA(name);
  empty<<<1, 1>>>();
  nvtxRangePop();
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) void First() {
  Begin("range");
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) void Second() {
  Begin("range");
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) void Recurse(int depth) {
  if (depth == 0) {
    Begin("deep");
  } else {
    Recurse(depth - 1);
  }
  asm volatile("" ::: "memory");
}

}  // namespace work

int main(int argc, char** argv) {
  for (int i = 0; i < 3; ++i) work::First();
  for (int i = 0; i < 2; ++i) work::Second();
  work::Recurse(20);
  if (argc == 2) {
    void* plugin = dlopen(argv[1], RTLD_NOW);
    auto step =
        plugin == nullptr ? nullptr : reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_step"));
    if (step == nullptr) {
      fprintf(stderr, "stacks: %s\n", dlerror());
      return 1;
    }
    step();
    dlclose(plugin);
  }
  cudaDeviceSynchronize();
  puts("done");
  return 0;
}

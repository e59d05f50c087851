// A library that tests/programs/stacks.cu loads, calls and unloads again.

#include <nvtx3/nvToolsExt.h>

extern "C" __attribute__((noinline)) void plugin_step() {
  nvtxRangePushA("in plugin");
  nvtxRangePop();
  asm volatile("" ::: "memory");
}

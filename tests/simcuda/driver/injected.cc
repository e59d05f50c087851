// What CUDA_INJECTION64_PATH names in injection_test: observes calls as libcupti.so.13 would.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "tests/simcuda/core/observer.h"

namespace {

std::atomic<int> loads{0};
std::atomic<int> calls{0};

const simcuda::Observer kObserver = {[](simcuda::ApiCall*) { ++calls; },
                                     [](simcuda::ApiCall*) {},
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr};

}  // namespace

extern "C" int InitializeInjection() {
  ++loads;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  auto set =
      reinterpret_cast<decltype(&simcuda_set_observer)>(dlsym(driver, "simcuda_set_observer"));
  // A tool may call CUDA already.
  auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  if (set == nullptr || initialize == nullptr || initialize(0) != 0) return 0;
  set(&kObserver);
  return 1;
}

extern "C" int injected_loads() { return loads; }
extern "C" int injected_calls() { return calls; }

#include "tests/simcuda/runtime/driver_api.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

namespace simcuda::runtime {
namespace {

// nullptr: the library or a part of it is missing.
const DriverApi* Open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  static DriverApi api;
  bool complete = true;
  auto find = [&](const char* name) {
    void* symbol = dlsym(library, name);
    complete &= symbol != nullptr;
    return symbol;
  };
#define SIMCUDA_FIND(name) api.name = reinterpret_cast<decltype(api.name)>(find(#name));
  SIMCUDA_DRIVER_FUNCTIONS(SIMCUDA_FIND)
#undef SIMCUDA_FIND
  auto bridge = reinterpret_cast<decltype(&simcuda_runtime_bridge)>(find("simcuda_runtime_bridge"));
  if (!complete) return nullptr;
  api.bridge = bridge();
  return &api;
}

}  // namespace

const DriverApi* LoadDriver(CUresult* error) {
  static std::atomic<const DriverApi*> loaded{nullptr};
  const DriverApi* api = loaded.load(std::memory_order_acquire);
  if (api == nullptr) {
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    api = loaded.load(std::memory_order_acquire);
    if (api == nullptr) api = Open();
    loaded.store(api, std::memory_order_release);
  }
  if (api == nullptr) return nullptr;
  // cuInit is not behind the mutex: the library that it may load can call the runtime.
  *error = api->bridge->ready();
  if (*error == CUDA_ERROR_NOT_INITIALIZED) *error = api->cuInit(0);
  return api;
}

}  // namespace simcuda::runtime

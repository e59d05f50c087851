#include "tests/simcuda/core/process.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/memory.h"
#include "tests/simcuda/core/model.h"

namespace simcuda {
namespace {

enum class State { kNew, kRunning, kInherited, kEnded };
std::atomic<State> state{State::kNew};
std::atomic<CUresult> initialization_result{CUDA_SUCCESS};
std::atomic<bool> complete{false};  // cuInit has returned, or is about to.

// Threads that come to cuInit while another loads the injection wait for it, but not that other one
// itself.
std::mutex& InitializationMutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}
thread_local bool initializing = false;

void MakeDevices() {
  const char* text = getenv("SIMCUDA_DEVICES");
  long count = text == nullptr ? 1 : strtol(text, nullptr, 10);
  if (count < 0) count = 0;
  if (count > 64) count = 64;
  Model& model = Model::Instance();
  std::lock_guard<std::mutex> lock(model.mutex);
  for (long i = 0; i < count; ++i) {
    model.devices.push_back(std::make_unique<Device>());
    model.devices.back()->id = static_cast<uint32_t>(i);
  }
  if (count == 0) initialization_result = CUDA_ERROR_NO_DEVICE;
}

void LoadInjection() {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) initialize();
}

void InChild() {
  if (state == State::kRunning) state = State::kInherited;
}

// The end of the process: after main, atexit handlers and the destructors of all that was linked
// against us.
__attribute__((destructor)) void End() {
  if (state == State::kRunning) state = State::kEnded;
}

}  // namespace

CUresult Initialize() {
  State now = state.load(std::memory_order_acquire);
  if (now == State::kInherited) return CUDA_ERROR_NOT_INITIALIZED;
  if (now == State::kEnded) return CUDA_ERROR_DEINITIALIZED;
  if (initializing) return initialization_result;  // Called from InitializeInjection.
  if (complete.load(std::memory_order_acquire)) return initialization_result;
  std::lock_guard<std::mutex> lock(InitializationMutex());
  if (complete.load(std::memory_order_acquire)) return initialization_result;
  initializing = true;
  NowNs();
  Memory::Instance();
  MakeDevices();
  pthread_atfork(nullptr, nullptr, InChild);
  state.store(State::kRunning, std::memory_order_release);
  LoadInjection();
  initializing = false;
  complete.store(true, std::memory_order_release);
  return initialization_result;
}

CUresult Ready() {
  switch (state.load(std::memory_order_acquire)) {
    case State::kRunning:
      // Others than the thread that loads the injection have to wait for it, in cuInit.
      if (!complete.load(std::memory_order_acquire) && !initializing) {
        return CUDA_ERROR_NOT_INITIALIZED;
      }
      return initialization_result.load(std::memory_order_relaxed);
    case State::kEnded:
      return CUDA_ERROR_DEINITIALIZED;
    default:
      return CUDA_ERROR_NOT_INITIALIZED;
  }
}

}  // namespace simcuda

// The driver loads what CUDA_INJECTION64_PATH names, within cuInit, once.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace {

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Each in a process of its own: cuInit comes once.
void InitializeWith(const char* path) {
  setenv("CUDA_INJECTION64_PATH", path, 1);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) exit(2);
  auto initialize = Find<int (*)(unsigned)>(driver, "cuInit");
  auto count = Find<int (*)(int*)>(driver, "cuDeviceGetCount");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (initialize(0) != 0) exit(3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  void* injected = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (injected == nullptr) exit(10);
  int before = Find<int (*)()>(injected, "injected_calls")();
  int devices = 0;
  count(&devices);
  int after = Find<int (*)()>(injected, "injected_calls")();
  if (Find<int (*)()>(injected, "injected_loads")() != 1) exit(4);
  exit(after == before + 1 && devices == 1 ? 0 : 5);
}

TEST(InjectionDeathTest, IsLoadedOnceAndObservesTheNextCall) {
  EXPECT_EXIT(InitializeWith("tests/simcuda/driver/injected.so"), testing::ExitedWithCode(0), "");
}

TEST(InjectionDeathTest, ABadPathDoesNotFailInitialization) {
  EXPECT_EXIT(InitializeWith("/nowhere/injected.so"), testing::ExitedWithCode(10), "");
}

}  // namespace

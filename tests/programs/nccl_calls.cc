// Calls of NCCL's own library, where there is one, that need no GPU: without a communicator each is
// an error, after its range.
//
//   nccl_calls     exit status 77: there is no NCCL. TP_TEST_NCCL may name the library.

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <initializer_list>

namespace {

constexpr int kSum = 0, kMax = 2, kFloat = 7, kDouble = 8, kInvalidArgument = 4;

void* Open() {
  const char* named = getenv("TP_TEST_NCCL");
  for (const char* path :
       {named != nullptr ? named : "libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
        "/usr/local/cuda/lib/libnccl.so.2"}) {
    if (void* library = dlopen(path, RTLD_NOW)) return library;
  }
  return nullptr;
}

}  // namespace

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* nccl = Open();
  if (driver == nullptr || nccl == nullptr) return 77;
  const auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  if (initialize == nullptr || initialize(0) != 0) return 77;
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(nccl, "ncclGetVersion"));
  int version = 0;
  // The first with payloads that tell the size is 2.18.
  if (get_version == nullptr || get_version(&version) != 0 || version < 21800) return 77;
  const auto get_id = reinterpret_cast<int (*)(void*)>(dlsym(nccl, "ncclGetUniqueId"));
  const auto all_reduce =
      reinterpret_cast<int (*)(const void*, void*, size_t, int, int, void*, void*)>(
          dlsym(nccl, "ncclAllReduce"));
  const auto broadcast =
      reinterpret_cast<int (*)(const void*, void*, size_t, int, int, void*, void*)>(
          dlsym(nccl, "ncclBroadcast"));
  if (get_id == nullptr || all_reduce == nullptr || broadcast == nullptr) return 77;
  char id[128];
  get_id(id);  // It initializes the library, whether it finds a network or not.
  const bool are_errors =
      all_reduce(nullptr, nullptr, 1000, kFloat, kSum, nullptr, nullptr) == kInvalidArgument &&
      all_reduce(nullptr, nullptr, 2000, kDouble, kMax, nullptr, nullptr) == kInvalidArgument &&
      broadcast(nullptr, nullptr, 10, kFloat, 3, nullptr, nullptr) == kInvalidArgument;
  return are_errors ? 0 : 1;
}

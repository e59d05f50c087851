// Loaded device code: libraries (what cuModuleLoadData and cuLibraryLoadData make), their kernels
// and variables.
//
// A kernel is never freed: its address is a handle that compiled programs keep in static variables,
// and its name is in records.
#ifndef TESTS_SIMCUDA_CORE_LIBRARY_H_
#define TESTS_SIMCUDA_CORE_LIBRARY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/simcuda/core/image.h"

namespace simcuda {

struct Context;
struct Library;

struct Kernel {
  KernelInfo info;
  Library* library = nullptr;  // nullptr after the library was unloaded.
  uint64_t fixed_ns = 0;       // From SIMCUDA_KERNEL_COST; 0: the formula holds.
  bool faults = false;         // Its name is in SIMCUDA_KERNEL_FAULT.
  std::atomic<int> dynamic_shared_limit{48 * 1024};

  const char* name() const { return info.name.c_str(); }
};

struct Variable {
  VariableInfo info;
  std::unordered_map<const Context*, uint64_t> addresses;  // Where each context has it.
};

struct Library {
  uint32_t id = 0;
  bool is_module = false;  // Made by cuModuleLoad*: belongs to one context.
  Context* owner = nullptr;
  std::vector<unsigned char> cubin;
  std::mutex mutex;  // Guards what follows.
  std::unordered_map<std::string, Kernel*> kernels;
  std::vector<Kernel*> kernel_order;
  std::unordered_map<std::string, std::unique_ptr<Variable>> variables;
  std::unordered_set<const Context*> loaded_in;

  // The kernel of that name, or nullptr.
  Kernel* Find(std::string_view name);
  // The same, but makes one when the image did not show it (its part was compressed).
  Kernel* Declare(std::string_view name);
};

// Reads an image and makes a library of it. nullptr: not an image.
Library* LoadLibrary(const void* image);

// Detaches the kernels (their handles stay readable, but can no longer be launched) and frees the
// library.
void UnloadLibrary(Library* library);

// Tells the observer that the code is now in `context`, the first time.
void EnsureLoaded(Library* library, Context* context);

// The address of a variable in `context`, with the image's initial value. 0: no room.
uint64_t VariableAddress(Library* library, Variable* variable, Context* context);

Library* FindLibrary(const void* handle);
void ForEachLibrary(void (*visit)(Library& library, void* user), void* user);
Kernel* FindKernel(const void* handle);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_LIBRARY_H_

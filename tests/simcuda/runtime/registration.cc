#include "tests/simcuda/runtime/registration.h"

#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/simcuda/runtime/entry.h"

namespace simcuda::runtime {
namespace {

struct Module {
  const void* image = nullptr;
  CUlibrary library = nullptr;
};

struct Function {
  Module* module = nullptr;
  std::string name;
  CUkernel kernel = nullptr;
};

struct Symbol {
  Module* module = nullptr;
  std::string name;
  size_t bytes = 0;
  void** managed_pointer = nullptr;  // Managed variables: where the program looks for the address.
  CUdeviceptr managed_address = 0;
};

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<const void*, Function> functions;  // By host function.
  std::unordered_map<const void*, Symbol> symbols;      // By host variable.
};

Registry& TheRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

// Under the exclusive lock.
cudaError_t Load(const DriverApi& driver, Module* module) {
  if (module->library != nullptr) return cudaSuccess;
  return ToRuntime(driver.cuLibraryLoadData(&module->library, module->image, nullptr, nullptr, 0,
                                            nullptr, nullptr, 0));
}

cudaError_t PlaceManaged(const DriverApi& driver, Symbol* symbol) {
  if (symbol->managed_address != 0) return cudaSuccess;
  RETURN_IF_CUDA_ERROR(Load(driver, symbol->module));
  RETURN_IF_CUDA_ERROR(ToRuntime(
      driver.cuMemAllocManaged(&symbol->managed_address, symbol->bytes, CU_MEM_ATTACH_GLOBAL)));
  auto* memory = reinterpret_cast<void*>(symbol->managed_address);
  const void* initial = driver.bridge->initial_value(symbol->module->library, symbol->name.c_str());
  if (initial != nullptr) {
    memcpy(memory, initial, symbol->bytes);
  } else {
    memset(memory, 0, symbol->bytes);
  }
  *symbol->managed_pointer = memory;
  return cudaSuccess;
}

}  // namespace

cudaError_t FindKernel(const DriverApi& driver, const void* function, CUkernel* kernel) {
  Registry& registry = TheRegistry();
  {
    std::shared_lock lock(registry.mutex);
    auto at = registry.functions.find(function);
    if (at == registry.functions.end()) {
      if (!driver.bridge->is_kernel(function)) return cudaErrorInvalidDeviceFunction;
      *kernel = static_cast<CUkernel>(const_cast<void*>(function));
      return cudaSuccess;
    }
    *kernel = at->second.kernel;
    if (*kernel != nullptr) return cudaSuccess;
  }
  std::unique_lock lock(registry.mutex);
  auto at = registry.functions.find(function);
  if (at == registry.functions.end()) return cudaErrorInvalidDeviceFunction;
  Function& found = at->second;
  RETURN_IF_CUDA_ERROR(Load(driver, found.module));
  found.kernel = driver.bridge->declare_kernel(found.module->library, found.name.c_str());
  *kernel = found.kernel;
  return found.kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

const char* LaunchSymbol(const DriverApi& driver, const void* function) {
  // Only a call that is reported needs the name.
  if (driver.bridge->gate->observer.load(std::memory_order_acquire) == nullptr) return nullptr;
  CUkernel kernel;
  if (FindKernel(driver, function, &kernel) != cudaSuccess) return nullptr;
  return driver.bridge->launch_symbol(kernel);
}

cudaError_t FindSymbol(const DriverApi& driver, const void* symbol, CUdeviceptr* address,
                       size_t* bytes) {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  auto at = registry.symbols.find(symbol);
  if (at == registry.symbols.end()) return cudaErrorInvalidSymbol;
  Symbol& found = at->second;
  *bytes = found.bytes;
  if (found.managed_pointer != nullptr) {
    RETURN_IF_CUDA_ERROR(PlaceManaged(driver, &found));
    *address = found.managed_address;
    return cudaSuccess;
  }
  RETURN_IF_CUDA_ERROR(Load(driver, found.module));
  driver.bridge->declare_variable(found.module->library, found.name.c_str(), found.bytes);
  return ToRuntime(
      driver.cuLibraryGetGlobal(address, nullptr, found.module->library, found.name.c_str()));
}

}  // namespace simcuda::runtime

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

// The compiler's own calls. Registration comes before main, when nothing may touch the driver yet.
extern "C" {

void** __cudaRegisterFatBinary(void* fatCubin) {
  auto* module = new Module;
  module->image = fatCubin;
  return reinterpret_cast<void**>(module);
}

void __cudaRegisterFatBinaryEnd(void**) {}

// At exit, or when a plugin that has kernels is unloaded.
void __cudaUnregisterFatBinary(void** handle) {
  auto* module = reinterpret_cast<Module*>(handle);
  Registry& registry = TheRegistry();
  {
    std::unique_lock lock(registry.mutex);
    for (auto at = registry.functions.begin(); at != registry.functions.end();) {
      at = at->second.module == module ? registry.functions.erase(at) : std::next(at);
    }
    for (auto at = registry.symbols.begin(); at != registry.symbols.end();) {
      at = at->second.module == module ? registry.symbols.erase(at) : std::next(at);
    }
  }
  const DriverApi* driver;
  // A module that was never loaded is no reason to load the driver.
  if (module->library != nullptr && Begin(&driver) == cudaSuccess) {
    driver->cuLibraryUnload(module->library);
  }
  delete module;
}

void __cudaRegisterFunction(void** handle, const char* hostFun, char*, const char* deviceName, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  Function& function = registry.functions[hostFun];
  function.module = reinterpret_cast<Module*>(handle);
  function.name = deviceName;
  function.kernel = nullptr;
}

void __cudaRegisterVar(void** handle, char* hostVar, char*, const char* deviceName, int,
                       size_t size, int, int) {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  Symbol& symbol = registry.symbols[hostVar];
  symbol = {};
  symbol.module = reinterpret_cast<Module*>(handle);
  symbol.name = deviceName;
  symbol.bytes = size;
}

void __cudaRegisterManagedVar(void** handle, void** hostVarPtrAddress, char*,
                              const char* deviceName, int, size_t size, int, int) {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  Symbol& symbol = registry.symbols[hostVarPtrAddress];
  symbol = {};
  symbol.module = reinterpret_cast<Module*>(handle);
  symbol.name = deviceName;
  symbol.bytes = size;
  symbol.managed_pointer = hostVarPtrAddress;
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterTexture(void**, const void*, const void**, const char*, int, int, int) {}
void __cudaRegisterSurface(void**, const void*, const void**, const char*, int, int) {}
void __cudaRegisterUnifiedTable(void**, void*) {}

// Before the program's first access to a managed variable.
char __cudaInitModule(void** handle) {
  const DriverApi* driver;
  if (Begin(&driver) != cudaSuccess || NeedContext(*driver) != cudaSuccess) return 0;
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mutex);
  bool placed = true;
  for (auto& [address, symbol] : registry.symbols) {
    if (symbol.module != reinterpret_cast<Module*>(handle)) continue;
    if (symbol.managed_pointer == nullptr) continue;
    placed &= PlaceManaged(*driver, &symbol) == cudaSuccess;
  }
  return placed ? 1 : 0;
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function) {
  const DriverApi* driver;
  RETURN_IF_CUDA_ERROR(Note(Begin(&driver)));
  CUkernel kernel = nullptr;
  cudaError_t result = simcuda::runtime::FindKernel(*driver, function, &kernel);
  if (result == cudaSuccess) *handle = reinterpret_cast<cudaKernel_t>(kernel);
  return Note(result);
}

}  // extern "C"

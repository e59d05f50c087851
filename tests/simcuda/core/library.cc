#include "tests/simcuda/core/library.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/delivery.h"
#include "tests/simcuda/core/kernel_cost.h"
#include "tests/simcuda/core/model.h"

namespace simcuda {
namespace {

HandleTable<Library, 1 << 16>& Libraries() {
  static auto* libraries = new HandleTable<Library, 1 << 16>;
  return *libraries;
}

HandleTable<Kernel, 1 << 20>& Kernels() {
  static auto* kernels = new HandleTable<Kernel, 1 << 20>;
  return *kernels;
}

std::atomic<uint32_t> next_library_id{1};

Kernel* NewKernel(Library* library, KernelInfo info) {
  Kernel* kernel = Kernels().Create();
  if (kernel == nullptr) return nullptr;
  kernel->info = std::move(info);
  kernel->library = library;
  KernelCosts::FromEnvironment().Find(kernel->info.name, &kernel->fixed_ns);
  const char* faulty = getenv("SIMCUDA_KERNEL_FAULT");
  kernel->faults =
      faulty != nullptr && *faulty != '\0' && kernel->info.name.find(faulty) != std::string::npos;
  library->kernels[kernel->info.name] = kernel;
  library->kernel_order.push_back(kernel);
  return kernel;
}

void ReportModule(Resource resource, const Library& library, const Context& context) {
  if (CurrentObserver() == nullptr) return;
  ResourceEvent event = {};
  event.resource = resource;
  event.context = const_cast<Context*>(&context);
  event.context_id = context.id;
  event.device_id = context.device->id;
  event.module_id = library.id;
  event.cubin = library.cubin.data();
  event.cubin_bytes = library.cubin.size();
  event.time_ns = NowNs();
  Report(event);
}

}  // namespace

Kernel* Library::Find(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex);
  auto at = kernels.find(std::string(name));
  return at == kernels.end() ? nullptr : at->second;
}

Kernel* Library::Declare(std::string_view name) {
  std::lock_guard<std::mutex> lock(mutex);
  auto at = kernels.find(std::string(name));
  if (at != kernels.end()) return at->second;
  KernelInfo info;
  info.name = name;
  return NewKernel(this, std::move(info));
}

Library* LoadLibrary(const void* data) {
  Image image;
  if (!ReadImage(data, &image)) return nullptr;
  Library* library = Libraries().Create();
  if (library == nullptr) return nullptr;
  library->id = next_library_id++;
  library->cubin = std::move(image.cubin);
  for (KernelInfo& kernel : image.kernels) {
    if (library->kernels.count(kernel.name) == 0) NewKernel(library, std::move(kernel));
  }
  for (VariableInfo& info : image.variables) {
    auto variable = std::make_unique<Variable>();
    std::string name = info.name;
    variable->info = std::move(info);
    library->variables.emplace(std::move(name), std::move(variable));
  }
  return library;
}

void UnloadLibrary(Library* library) {
  for (const Context* context : library->loaded_in) {
    if (Model::Instance().contexts.Get(context) == nullptr) continue;
    ReportModule(Resource::kModuleUnloadStarting, *library, *context);
  }
  for (Kernel* kernel : library->kernel_order) kernel->library = nullptr;
  for (auto& [name, variable] : library->variables) {
    for (const auto& [context, address] : variable->addresses) {
      Allocation freed;
      Memory::Instance().Free(address, MemoryKind::kDeviceStatic, &freed);
    }
  }
  Libraries().Destroy(library);
}

void EnsureLoaded(Library* library, Context* context) {
  {
    std::lock_guard<std::mutex> lock(library->mutex);
    if (!library->loaded_in.insert(context).second) return;
  }
  ReportModule(Resource::kModuleLoaded, *library, *context);
}

uint64_t VariableAddress(Library* library, Variable* variable, Context* context) {
  std::lock_guard<std::mutex> lock(library->mutex);
  uint64_t& address = variable->addresses[context];
  if (address != 0) return address;
  Allocation allocation;
  allocation.bytes = variable->info.bytes;
  allocation.kind = MemoryKind::kDeviceStatic;
  allocation.device_id = context->device->id;
  allocation.context_id = context->id;
  allocation.context = context;
  address = Memory::Instance().Allocate(allocation);
  if (address == 0) return 0;
  const auto& initial = variable->info.initial;
  auto* to = reinterpret_cast<void*>(address);
  memset(to, 0, variable->info.bytes);
  if (!initial.empty()) memcpy(to, initial.data(), initial.size());
  return address;
}

Library* FindLibrary(const void* handle) { return Libraries().Get(handle); }

Kernel* FindKernel(const void* handle) { return Kernels().Get(handle); }

void ForEachLibrary(void (*visit)(Library& library, void* user), void* user) {
  Libraries().ForEach([&](Library& library) { visit(library, user); });
}

}  // namespace simcuda

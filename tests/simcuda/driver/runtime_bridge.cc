#include "tests/simcuda/core/runtime_bridge.h"

#include <memory>

#include "tests/simcuda/driver/array.h"
#include "tests/simcuda/driver/entry.h"
#include "tests/simcuda/driver/launch.h"

namespace simcuda {
namespace {

CUcontext Current() { return reinterpret_cast<CUcontext>(CurrentContext()); }

CUresult UsePrimary(int ordinal) {
  RETURN_IF_ERROR(Ready());
  Device* device = FindDevice(ordinal);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Context* context;
  {
    std::lock_guard<std::mutex> lock(Model::Instance().mutex);
    context = device->primary;
  }
  if (context == nullptr) context = RetainPrimary(*device);
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  auto& stack = Thread().contexts;
  if (stack.empty()) {
    stack.push_back(context);
  } else {
    stack.back() = context;
  }
  return CUDA_SUCCESS;
}

int DeviceOf(CUcontext handle) {
  const Context* context = Model::Instance().contexts.Get(handle);
  return context == nullptr ? 0 : static_cast<int>(context->device->id);
}

CUkernel DeclareKernel(CUlibrary handle, const char* name) {
  Library* library = FindLibrary(handle);
  return library == nullptr ? nullptr : reinterpret_cast<CUkernel>(library->Declare(name));
}

bool DeclareVariable(CUlibrary handle, const char* name, size_t bytes) {
  Library* library = FindLibrary(handle);
  if (library == nullptr) return false;
  std::lock_guard<std::mutex> lock(library->mutex);
  auto& variable = library->variables[name];
  if (variable == nullptr) {
    variable = std::make_unique<Variable>();
    variable->info.name = name;
    variable->info.bytes = bytes;
  }
  return true;
}

const void* InitialValue(CUlibrary handle, const char* name) {
  Library* library = FindLibrary(handle);
  if (library == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(library->mutex);
  auto at = library->variables.find(name);
  if (at == library->variables.end() || at->second->info.initial.empty()) return nullptr;
  return at->second->info.initial.data();
}

bool IsKernel(const void* handle) { return FindKernel(handle) != nullptr; }

bool ArrayDescriptor(CUarray handle, CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  const Array* array = FindArray(handle);
  if (array == nullptr) return false;
  *descriptor = array->descriptor;
  return true;
}

}  // namespace
}  // namespace simcuda

extern "C" const simcuda::RuntimeBridge* simcuda_runtime_bridge() {
  static const simcuda::RuntimeBridge bridge = {
      simcuda_api_gate(), simcuda::Ready,         simcuda::Current,         simcuda::UsePrimary,
      simcuda::DeviceOf,  simcuda::DeclareKernel, simcuda::DeclareVariable, simcuda::InitialValue,
      simcuda::IsKernel,  simcuda::LaunchSymbol,  simcuda::ArrayDescriptor,
  };
  return &bridge;
}

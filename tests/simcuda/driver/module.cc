// Modules, libraries, functions and the linker of device code.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace {

CUmodule ModuleHandle(Library* library) { return reinterpret_cast<CUmodule>(library); }
CUlibrary LibraryHandle(Library* library) { return reinterpret_cast<CUlibrary>(library); }

bool ReadFile(const char* path, std::vector<char>* bytes) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path, "rb"), fclose);
  if (file == nullptr) return false;
  char buffer[65536];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), file.get())) > 0;) {
    bytes->insert(bytes->end(), buffer, buffer + got);
  }
  bytes->push_back('\0');  // PTX text ends with a zero.
  return true;
}

CUresult LoadModule(CUmodule* module, const void* image) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Library* library = LoadLibrary(image);
  if (library == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  library->is_module = true;
  library->owner = context;
  EnsureLoaded(library, context);
  *module = ModuleHandle(library);
  return CUDA_SUCCESS;
}

CUresult Unload(const void* handle) {
  Library* library = FindLibrary(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  UnloadLibrary(library);
  return CUDA_SUCCESS;
}

CUresult FindNamed(const void* library_handle, const char* name, Kernel** kernel) {
  Library* library = FindLibrary(library_handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *kernel = library->Find(name);
  return *kernel == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult GetGlobal(CUdeviceptr* dptr, size_t* bytes, const void* handle, const char* name) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  Library* library = FindLibrary(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto at = library->variables.find(name);
  if (at == library->variables.end()) return CUDA_ERROR_NOT_FOUND;
  EnsureLoaded(library, context);
  uint64_t address = VariableAddress(library, at->second.get(), context);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (dptr != nullptr) *dptr = address;
  if (bytes != nullptr) *bytes = at->second->info.bytes;
  return CUDA_SUCCESS;
}

CUresult Attribute(int* pi, CUfunction_attribute attrib, const void* handle) {
  const Kernel* kernel = FindKernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *pi = static_cast<int>(kernel->info.max_threads_per_block);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *pi = static_cast<int>(kernel->info.static_shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *pi = static_cast<int>(kernel->info.local_bytes_per_thread);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *pi = static_cast<int>(kernel->info.registers_per_thread);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *pi = 90;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *pi = kernel->dynamic_shared_limit;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *pi = -1;
      return CUDA_SUCCESS;
    default:
      *pi = 0;
      return attrib >= 0 && attrib < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS
                                                           : CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult SetAttribute(const void* handle, CUfunction_attribute attrib, int value) {
  constexpr int kMostShared = 227 * 1024;
  Kernel* kernel = FindKernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  switch (attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > kMostShared - static_cast<int>(kernel->info.static_shared_bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      kernel->dynamic_shared_limit = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return value < -1 || value > 100 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Parameter(const void* handle, size_t index, size_t* offset, size_t* bytes) {
  const Kernel* kernel = FindKernel(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (offset == nullptr || index >= kernel->info.parameters.size()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *offset = kernel->info.parameters[index].offset;
  if (bytes != nullptr) *bytes = kernel->info.parameters[index].bytes;
  return CUDA_SUCCESS;
}

}  // namespace

DRIVER_ENTRY(cuModuleLoadData, (CUmodule * module, const void* image), (module, image)) {
  return LoadModule(module, image);
}

DRIVER_ENTRY(cuModuleLoadDataEx,
             (CUmodule * module, const void* image, unsigned int numOptions, CUjit_option* options,
              void** optionValues),
             (module, image, numOptions, options, optionValues)) {
  return LoadModule(module, image);
}

DRIVER_ENTRY(cuModuleLoadFatBinary, (CUmodule * module, const void* fatCubin), (module, fatCubin)) {
  return LoadModule(module, fatCubin);
}

DRIVER_ENTRY(cuModuleLoad, (CUmodule * module, const char* fname), (module, fname)) {
  std::vector<char> bytes;
  if (fname == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ReadFile(fname, &bytes)) return CUDA_ERROR_FILE_NOT_FOUND;
  return LoadModule(module, bytes.data());
}

DRIVER_ENTRY(cuModuleUnload, (CUmodule hmod), (hmod)) { return Unload(hmod); }

DRIVER_ENTRY(cuModuleGetFunction, (CUfunction * hfunc, CUmodule hmod, const char* name),
             (hfunc, hmod, name)) {
  if (hfunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Kernel* kernel;
  RETURN_IF_ERROR(FindNamed(hmod, name, &kernel));
  *hfunc = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuModuleGetFunctionCount, (unsigned int* count, CUmodule mod), (count, mod)) {
  Library* library = FindLibrary(mod);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->kernel_order.size());
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuModuleGetGlobal_v2,
             (CUdeviceptr * dptr, size_t* bytes, CUmodule hmod, const char* name),
             (dptr, bytes, hmod, name)) {
  return GetGlobal(dptr, bytes, hmod, name);
}

DRIVER_ENTRY(cuLibraryLoadData,
             (CUlibrary * library, const void* code, CUjit_option* jitOptions,
              void** jitOptionsValues, unsigned int numJitOptions, CUlibraryOption* libraryOptions,
              void** libraryOptionValues, unsigned int numLibraryOptions),
             (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
              libraryOptionValues, numLibraryOptions)) {
  if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Library* loaded = LoadLibrary(code);
  if (loaded == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  *library = LibraryHandle(loaded);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLibraryLoadFromFile,
             (CUlibrary * library, const char* fileName, CUjit_option* jitOptions,
              void** jitOptionsValues, unsigned int numJitOptions, CUlibraryOption* libraryOptions,
              void** libraryOptionValues, unsigned int numLibraryOptions),
             (library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
              libraryOptionValues, numLibraryOptions)) {
  if (library == nullptr || fileName == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> bytes;
  if (!ReadFile(fileName, &bytes)) return CUDA_ERROR_FILE_NOT_FOUND;
  Library* loaded = LoadLibrary(bytes.data());
  if (loaded == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  *library = LibraryHandle(loaded);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLibraryUnload, (CUlibrary library), (library)) { return Unload(library); }

DRIVER_ENTRY(cuLibraryGetKernel, (CUkernel * pKernel, CUlibrary library, const char* name),
             (pKernel, library, name)) {
  if (pKernel == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Kernel* kernel;
  RETURN_IF_ERROR(FindNamed(library, name, &kernel));
  *pKernel = reinterpret_cast<CUkernel>(kernel);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLibraryGetKernelCount, (unsigned int* count, CUlibrary lib), (count, lib)) {
  Library* library = FindLibrary(lib);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->kernel_order.size());
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLibraryEnumerateKernels,
             (CUkernel * kernels, unsigned int numKernels, CUlibrary lib),
             (kernels, numKernels, lib)) {
  Library* library = FindLibrary(lib);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < numKernels && i < library->kernel_order.size(); ++i) {
    kernels[i] = reinterpret_cast<CUkernel>(library->kernel_order[i]);
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLibraryGetModule, (CUmodule * pMod, CUlibrary library), (pMod, library)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  Library* found = FindLibrary(library);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pMod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  EnsureLoaded(found, context);
  *pMod = ModuleHandle(found);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLibraryGetGlobal,
             (CUdeviceptr * dptr, size_t* bytes, CUlibrary library, const char* name),
             (dptr, bytes, library, name)) {
  return GetGlobal(dptr, bytes, library, name);
}

DRIVER_ENTRY(cuKernelGetFunction, (CUfunction * pFunc, CUkernel kernel), (pFunc, kernel)) {
  Context* context;
  RETURN_IF_ERROR(NeedContext(&context));
  Kernel* found = FindKernel(kernel);
  if (found == nullptr || found->library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  EnsureLoaded(found->library, context);
  *pFunc = reinterpret_cast<CUfunction>(found);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuKernelGetLibrary, (CUlibrary * pLib, CUkernel kernel), (pLib, kernel)) {
  Kernel* found = FindKernel(kernel);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLib = LibraryHandle(found->library);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuKernelGetAttribute,
             (int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev),
             (pi, attrib, kernel, dev)) {
  return Attribute(pi, attrib, kernel);
}

DRIVER_ENTRY(cuKernelSetAttribute,
             (CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev),
             (attrib, val, kernel, dev)) {
  return SetAttribute(kernel, attrib, val);
}

DRIVER_ENTRY(cuKernelGetName, (const char** name, CUkernel hfunc), (name, hfunc)) {
  const Kernel* kernel = FindKernel(hfunc);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->name();
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuKernelGetParamInfo,
             (CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize),
             (kernel, paramIndex, paramOffset, paramSize)) {
  return Parameter(kernel, paramIndex, paramOffset, paramSize);
}

DRIVER_ENTRY(cuFuncGetAttribute, (int* pi, CUfunction_attribute attrib, CUfunction hfunc),
             (pi, attrib, hfunc)) {
  return Attribute(pi, attrib, hfunc);
}

DRIVER_ENTRY(cuFuncSetAttribute, (CUfunction hfunc, CUfunction_attribute attrib, int value),
             (hfunc, attrib, value)) {
  return SetAttribute(hfunc, attrib, value);
}

DRIVER_ENTRY(cuFuncSetCacheConfig, (CUfunction hfunc, CUfunc_cache config), (hfunc, config)) {
  return FindKernel(hfunc) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuFuncGetModule, (CUmodule * hmod, CUfunction hfunc), (hmod, hfunc)) {
  const Kernel* kernel = FindKernel(hfunc);
  if (kernel == nullptr || kernel->library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *hmod = ModuleHandle(kernel->library);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuFuncGetName, (const char** name, CUfunction hfunc), (name, hfunc)) {
  const Kernel* kernel = FindKernel(hfunc);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->name();
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuFuncGetParamInfo,
             (CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize),
             (func, paramIndex, paramOffset, paramSize)) {
  return Parameter(func, paramIndex, paramOffset, paramSize);
}

DRIVER_ENTRY(cuFuncIsLoaded, (CUfunctionLoadingState * state, CUfunction function),
             (state, function)) {
  if (FindKernel(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuFuncLoad, (CUfunction function), (function)) {
  return FindKernel(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), (mode)) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

// The linker hands back the first image that it was given: what it links has to be complete in one
// piece.
namespace {
struct LinkState {
  std::vector<char> image;
};
}  // namespace

DRIVER_ENTRY(cuLinkCreate_v2,
             (unsigned int numOptions, CUjit_option* options, void** optionValues,
              CUlinkState* stateOut),
             (numOptions, options, optionValues, stateOut)) {
  if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *stateOut = reinterpret_cast<CUlinkState>(new LinkState);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLinkAddData_v2,
             (CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,
              unsigned int numOptions, CUjit_option* options, void** optionValues),
             (state, type, data, size, name, numOptions, options, optionValues)) {
  if (state == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* link = reinterpret_cast<LinkState*>(state);
  if (!link->image.empty()) return CUDA_SUCCESS;
  link->image.assign(static_cast<char*>(data), static_cast<char*>(data) + size);
  link->image.push_back('\0');
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLinkAddFile_v2,
             (CUlinkState state, CUjitInputType type, const char* path, unsigned int numOptions,
              CUjit_option* options, void** optionValues),
             (state, type, path, numOptions, options, optionValues)) {
  if (state == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> bytes;
  if (!ReadFile(path, &bytes)) return CUDA_ERROR_FILE_NOT_FOUND;
  auto* link = reinterpret_cast<LinkState*>(state);
  if (link->image.empty()) link->image = std::move(bytes);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLinkComplete, (CUlinkState state, void** cubinOut, size_t* sizeOut),
             (state, cubinOut, sizeOut)) {
  if (state == nullptr || cubinOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* link = reinterpret_cast<LinkState*>(state);
  if (link->image.empty()) return CUDA_ERROR_INVALID_VALUE;
  *cubinOut = link->image.data();
  if (sizeOut != nullptr) *sizeOut = link->image.size();
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuLinkDestroy, (CUlinkState state), (state)) {
  delete reinterpret_cast<LinkState*>(state);
  return CUDA_SUCCESS;
}

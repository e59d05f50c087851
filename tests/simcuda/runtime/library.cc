// Libraries of device code that a program loads itself.
#include "tests/simcuda/runtime/entry.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace {

CUlibrary ToDriver(cudaLibrary_t library) { return reinterpret_cast<CUlibrary>(library); }

}  // namespace

RUNTIME_ENTRY(cudaLibraryLoadData, v12060,
              (cudaLibrary_t * library, const void* code, cudaJitOption* jitOptions,
               void** jitOptionsValues, unsigned int numJitOptions,
               cudaLibraryOption* libraryOptions, void** libraryOptionValues,
               unsigned int numLibraryOptions),
              (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
               libraryOptionValues, numLibraryOptions)) {
  return ToRuntime(driver.cuLibraryLoadData(reinterpret_cast<CUlibrary*>(library), code, nullptr,
                                            nullptr, 0, nullptr, nullptr, 0));
}

RUNTIME_ENTRY(cudaLibraryLoadFromFile, v12060,
              (cudaLibrary_t * library, const char* fileName, cudaJitOption* jitOptions,
               void** jitOptionsValues, unsigned int numJitOptions,
               cudaLibraryOption* libraryOptions, void** libraryOptionValues,
               unsigned int numLibraryOptions),
              (library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
               libraryOptionValues, numLibraryOptions)) {
  return ToRuntime(driver.cuLibraryLoadFromFile(reinterpret_cast<CUlibrary*>(library), fileName,
                                                nullptr, nullptr, 0, nullptr, nullptr, 0));
}

RUNTIME_ENTRY(cudaLibraryUnload, v12060, (cudaLibrary_t library), (library)) {
  return ToRuntime(driver.cuLibraryUnload(ToDriver(library)));
}

RUNTIME_ENTRY(cudaLibraryGetKernel, v12060,
              (cudaKernel_t * pKernel, cudaLibrary_t library, const char* name),
              (pKernel, library, name)) {
  return ToRuntime(
      driver.cuLibraryGetKernel(reinterpret_cast<CUkernel*>(pKernel), ToDriver(library), name));
}

RUNTIME_ENTRY(cudaLibraryGetGlobal, v12060,
              (void** dptr, size_t* bytes, cudaLibrary_t library, const char* name),
              (dptr, bytes, library, name)) {
  return ToRuntime(driver.cuLibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(dptr), bytes,
                                             ToDriver(library), name));
}

RUNTIME_ENTRY(cudaLibraryGetKernelCount, v12060, (unsigned int* count, cudaLibrary_t lib),
              (count, lib)) {
  return ToRuntime(driver.cuLibraryGetKernelCount(count, ToDriver(lib)));
}

RUNTIME_ENTRY(cudaLibraryEnumerateKernels, v12060,
              (cudaKernel_t * kernels, unsigned int numKernels, cudaLibrary_t lib),
              (kernels, numKernels, lib)) {
  return ToRuntime(driver.cuLibraryEnumerateKernels(reinterpret_cast<CUkernel*>(kernels),
                                                    numKernels, ToDriver(lib)));
}

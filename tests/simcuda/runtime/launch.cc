// Launches, functions and occupancy.
#include <vector>

#include "tests/simcuda/runtime/entry.h"
#include "tests/simcuda/runtime/registration.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared;
  void* stream;
};

std::vector<Configuration>& Configurations() {
  static thread_local std::vector<Configuration> configurations;
  return configurations;
}

// The runtime has an error of its own for what the driver calls an invalid value.
cudaError_t CheckShape(dim3 grid, dim3 block) {
  bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7fffffffu &&
                   grid.y <= 65535 && grid.z <= 65535;
  bool block_fits = block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024 &&
                    block.y <= 1024 && block.z <= 64 && size_t{block.x} * block.y * block.z <= 1024;
  return grid_fits && block_fits ? cudaSuccess : cudaErrorInvalidConfiguration;
}

cudaError_t Launch(const DriverApi& driver, const void* function, dim3 grid, dim3 block,
                   void** args, size_t shared, cudaStream_t stream, bool cooperative) {
  CUkernel kernel;
  RETURN_IF_CUDA_ERROR(FindKernel(driver, function, &kernel));
  RETURN_IF_CUDA_ERROR(CheckShape(grid, block));
  auto handle = reinterpret_cast<CUfunction>(kernel);
  unsigned bytes = static_cast<unsigned>(shared);
  if (cooperative) {
    return ToRuntime(driver.cuLaunchCooperativeKernel(handle, grid.x, grid.y, grid.z, block.x,
                                                      block.y, block.z, bytes, stream, args));
  }
  return ToRuntime(driver.cuLaunchKernel(handle, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                         bytes, stream, args, nullptr));
}

// A launch configuration as the driver has it; the attributes are the same structures.
CUlaunchConfig ToDriver(const cudaLaunchConfig_t& from, cudaStream_t default_stream) {
  CUlaunchConfig to = {};
  to.gridDimX = from.gridDim.x;
  to.gridDimY = from.gridDim.y;
  to.gridDimZ = from.gridDim.z;
  to.blockDimX = from.blockDim.x;
  to.blockDimY = from.blockDim.y;
  to.blockDimZ = from.blockDim.z;
  to.sharedMemBytes = static_cast<unsigned>(from.dynamicSmemBytes);
  to.hStream = StreamOr(from.stream, default_stream);
  to.attrs = reinterpret_cast<CUlaunchAttribute*>(from.attrs);
  to.numAttrs = from.numAttrs;
  return to;
}

cudaError_t NeedFunction(const DriverApi& driver, const void* func, CUfunction* function) {
  CUkernel kernel;
  RETURN_IF_CUDA_ERROR(FindKernel(driver, func, &kernel));
  *function = reinterpret_cast<CUfunction>(kernel);
  return cudaSuccess;
}

}  // namespace

extern "C" unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                                cudaStream_t stream) {
  Configurations().push_back({gridDim, blockDim, sharedMem, stream});
  return 0;
}

extern "C" cudaError_t __cudaPopCallConfiguration(dim3* gridDim, dim3* blockDim, size_t* sharedMem,
                                                  void* stream) {
  auto& configurations = Configurations();
  if (configurations.empty()) return Note(cudaErrorMissingConfiguration);
  const Configuration& last = configurations.back();
  *gridDim = last.grid;
  *blockDim = last.block;
  *sharedMem = last.shared;
  *static_cast<void**>(stream) = last.stream;
  configurations.pop_back();
  return cudaSuccess;
}

RUNTIME_LAUNCH_ENTRY(cudaLaunchKernel, cudaLaunchKernel_v7000, _ptsz, cudaLaunchKernel_ptsz_v7000,
                     (const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                      cudaStream_t stream),
                     (func, gridDim, blockDim, args, sharedMem, stream),
                     LaunchSymbol(*driver, func)) {
  return Launch(driver, func, gridDim, blockDim, args, sharedMem, StreamOr(stream, default_stream),
                false);
}

// What `<<<>>>` becomes. Reported as the public function.
#define KERNEL_HANDLE_PARAMETERS                                                  \
  (cudaKernel_t func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, \
   cudaStream_t stream)
RUNTIME_LAUNCH_ENTRY(__cudaLaunchKernel, cudaLaunchKernel_v7000, _ptsz, cudaLaunchKernel_ptsz_v7000,
                     KERNEL_HANDLE_PARAMETERS, (func, gridDim, blockDim, args, sharedMem, stream),
                     driver->bridge->launch_symbol(func)) {
  return Launch(driver, func, gridDim, blockDim, args, sharedMem, StreamOr(stream, default_stream),
                false);
}

RUNTIME_LAUNCH_ENTRY(cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_v9000, _ptsz,
                     cudaLaunchCooperativeKernel_ptsz_v9000,
                     (const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                      cudaStream_t stream),
                     (func, gridDim, blockDim, args, sharedMem, stream),
                     LaunchSymbol(*driver, func)) {
  return Launch(driver, func, gridDim, blockDim, args, sharedMem, StreamOr(stream, default_stream),
                true);
}

RUNTIME_LAUNCH_ENTRY(cudaLaunchKernelExC, cudaLaunchKernelExC_v11060, _ptsz,
                     cudaLaunchKernelExC_ptsz_v11060,
                     (const cudaLaunchConfig_t* config, const void* func, void** args),
                     (config, func, args), LaunchSymbol(*driver, func)) {
  if (config == nullptr) return cudaErrorInvalidValue;
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  RETURN_IF_CUDA_ERROR(CheckShape(config->gridDim, config->blockDim));
  CUlaunchConfig launch = ToDriver(*config, default_stream);
  return ToRuntime(driver.cuLaunchKernelEx(&launch, function, args, nullptr));
}

RUNTIME_STREAM_ENTRY(cudaLaunchHostFunc, v10000, _ptsz, v10000,
                     (cudaStream_t stream, cudaHostFn_t fn, void* userData),
                     (stream, fn, userData)) {
  return ToRuntime(driver.cuLaunchHostFunc(StreamOr(stream, default_stream), fn, userData));
}

RUNTIME_ENTRY(cudaFuncGetAttributes, v3020, (cudaFuncAttributes * attr, const void* func),
              (attr, func)) {
  if (attr == nullptr) return cudaErrorInvalidValue;
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  *attr = {};
  auto get = [&](CUfunction_attribute attribute) {
    int value = 0;
    driver.cuFuncGetAttribute(&value, attribute, function);
    return value;
  };
  attr->sharedSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  attr->constSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  attr->localSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  attr->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  attr->numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  attr->ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  attr->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  attr->maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  attr->preferredShmemCarveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaFuncSetAttribute, v9000, (const void* func, cudaFuncAttribute attr, int value),
              (func, attr, value)) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  return ToRuntime(
      driver.cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attr), value));
}

RUNTIME_ENTRY(cudaFuncSetCacheConfig, v3020, (const void* func, cudaFuncCache cacheConfig),
              (func, cacheConfig)) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  return ToRuntime(driver.cuFuncSetCacheConfig(function, static_cast<CUfunc_cache>(cacheConfig)));
}

RUNTIME_ENTRY(cudaFuncSetSharedMemConfig, v4020, (const void* func, cudaSharedMemConfig config),
              (func, config)) {
  CUfunction function;
  return NeedFunction(driver, func, &function);
}

RUNTIME_ENTRY(cudaFuncGetName, v12030, (const char** name, const void* func), (name, func)) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  return ToRuntime(driver.cuFuncGetName(name, function));
}

RUNTIME_ENTRY(cudaFuncGetParamInfo, v12040,
              (const void* func, size_t paramIndex, size_t* paramOffset, size_t* paramSize),
              (func, paramIndex, paramOffset, paramSize)) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  return ToRuntime(driver.cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize));
}

RUNTIME_ENTRY(cudaGetFuncBySymbol, v11000, (cudaFunction_t * functionPtr, const void* symbolPtr),
              (functionPtr, symbolPtr)) {
  if (functionPtr == nullptr) return cudaErrorInvalidValue;
  return NeedFunction(driver, symbolPtr, functionPtr);
}

RUNTIME_ENTRY(cudaGetKernel, v12000, (cudaKernel_t * kernelPtr, const void* entryFuncAddr),
              (kernelPtr, entryFuncAddr)) {
  if (kernelPtr == nullptr) return cudaErrorInvalidValue;
  return FindKernel(driver, entryFuncAddr, kernelPtr);
}

static cudaError_t ActiveBlocks(const DriverApi& driver, int* numBlocks, const void* func,
                                int blockSize, size_t dynamicSMemSize, unsigned flags) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  return ToRuntime(driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      numBlocks, function, blockSize, dynamicSMemSize, flags));
}

RUNTIME_ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, v6050,
              (int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize),
              (numBlocks, func, blockSize, dynamicSMemSize)) {
  return ActiveBlocks(driver, numBlocks, func, blockSize, dynamicSMemSize, 0);
}

RUNTIME_ENTRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, v7000,
              (int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize,
               unsigned int flags),
              (numBlocks, func, blockSize, dynamicSMemSize, flags)) {
  return ActiveBlocks(driver, numBlocks, func, blockSize, dynamicSMemSize, flags);
}

RUNTIME_ENTRY(cudaOccupancyAvailableDynamicSMemPerBlock, v10200,
              (size_t * dynamicSmemSize, const void* func, int numBlocks, int blockSize),
              (dynamicSmemSize, func, numBlocks, blockSize)) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  return ToRuntime(driver.cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, function,
                                                                  numBlocks, blockSize));
}

RUNTIME_ENTRY(cudaOccupancyMaxActiveClusters, v11070,
              (int* numClusters, const void* func, const cudaLaunchConfig_t* launchConfig),
              (numClusters, func, launchConfig)) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  if (launchConfig == nullptr) return cudaErrorInvalidValue;
  CUlaunchConfig config = ToDriver(*launchConfig, nullptr);
  return ToRuntime(driver.cuOccupancyMaxActiveClusters(numClusters, function, &config));
}

RUNTIME_ENTRY(cudaOccupancyMaxPotentialClusterSize, v11070,
              (int* clusterSize, const void* func, const cudaLaunchConfig_t* launchConfig),
              (clusterSize, func, launchConfig)) {
  CUfunction function;
  RETURN_IF_CUDA_ERROR(NeedFunction(driver, func, &function));
  if (launchConfig == nullptr) return cudaErrorInvalidValue;
  CUlaunchConfig config = ToDriver(*launchConfig, nullptr);
  return ToRuntime(driver.cuOccupancyMaxPotentialClusterSize(clusterSize, function, &config));
}

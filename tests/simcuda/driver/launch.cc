// Kernel launches and host functions.
#include "tests/simcuda/driver/launch.h"

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace simcuda {

CUresult CheckLaunch(const KernelLaunch& launch) {
  constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
  constexpr uint32_t kMaxGrid[3] = {0x7fffffff, 65535, 65535};
  const Kernel* kernel = launch.kernel;
  if (kernel == nullptr || kernel->library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.grid[i] > kMaxGrid[i]) return CUDA_ERROR_INVALID_VALUE;
    if (launch.block[i] == 0 || launch.block[i] > kMaxBlock[i]) return CUDA_ERROR_INVALID_VALUE;
    threads *= launch.block[i];
  }
  if (threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (threads > kernel->info.max_threads_per_block ||
      threads * kernel->info.registers_per_thread > 65536) {
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  int limit = kernel->dynamic_shared_limit.load(std::memory_order_relaxed);
  if (launch.dynamic_shared_bytes > static_cast<uint32_t>(limit)) return CUDA_ERROR_INVALID_VALUE;
  if (launch.cooperative) {
    uint64_t blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (blocks > 132u * static_cast<uint64_t>(BlocksPerMultiprocessor(
                            *kernel, static_cast<int>(threads), launch.dynamic_shared_bytes))) {
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
  }
  for (int i = 0; i < 3; ++i) {
    if (launch.cluster[i] != 0 && launch.grid[i] % launch.cluster[i] != 0) {
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
  }
  return CUDA_SUCCESS;
}

const char* LaunchSymbol(const void* function) {
  const Kernel* kernel = FindKernel(function);
  return kernel == nullptr ? nullptr : NextReportedName(*kernel);
}

}  // namespace simcuda

namespace {

CUresult Launch(CUstream handle, CUstream default_stream, const KernelLaunch& launch) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(handle, default_stream, &stream));
  RETURN_IF_ERROR(CheckLaunch(launch));
  Context* context = CurrentContext();
  if (stream->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if (launch.kernel->library->is_module && launch.kernel->library->owner != context) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  EnsureLoaded(launch.kernel->library, context);
  return Submit(*stream, MakeOperation(launch));
}

}  // namespace

DRIVER_LAUNCH_ENTRY(cuLaunchKernel, _ptsz,
                    (CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                     unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                     unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                     void** kernelParams, void** extra),
                    (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
                     sharedMemBytes, hStream, kernelParams, extra),
                    LaunchSymbol(f)) {
  KernelLaunch launch;
  launch.kernel = FindKernel(f);
  launch.grid = {gridDimX, gridDimY, gridDimZ};
  launch.block = {blockDimX, blockDimY, blockDimZ};
  launch.dynamic_shared_bytes = sharedMemBytes;
  return Launch(hStream, default_stream, launch);
}

DRIVER_LAUNCH_ENTRY(cuLaunchCooperativeKernel, _ptsz,
                    (CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                     unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                     unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                     void** kernelParams),
                    (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
                     sharedMemBytes, hStream, kernelParams),
                    LaunchSymbol(f)) {
  KernelLaunch launch;
  launch.kernel = FindKernel(f);
  launch.grid = {gridDimX, gridDimY, gridDimZ};
  launch.block = {blockDimX, blockDimY, blockDimZ};
  launch.dynamic_shared_bytes = sharedMemBytes;
  launch.cooperative = true;
  return Launch(hStream, default_stream, launch);
}

DRIVER_LAUNCH_ENTRY(cuLaunchKernelEx, _ptsz,
                    (const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra),
                    (config, f, kernelParams, extra), LaunchSymbol(f)) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  KernelLaunch launch;
  launch.kernel = FindKernel(f);
  launch.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  launch.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  launch.dynamic_shared_bytes = config->sharedMemBytes;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      launch.cooperative = attribute.value.cooperative != 0;
    } else if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& cluster = attribute.value.clusterDim;
      launch.cluster = {cluster.x, cluster.y, cluster.z};
    }
  }
  return Launch(config->hStream, default_stream, launch);
}

DRIVER_STREAM_ENTRY(cuLaunchHostFunc, _ptsz, (CUstream hStream, CUhostFn fn, void* userData),
                    (hStream, fn, userData)) {
  if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  HostFunction function;
  function.function = fn;
  function.data = userData;
  Operation operation;
  operation.what = function;
  return Submit(*stream, operation);
}

DRIVER_STREAM_ENTRY(cuStreamAddCallback, _ptsz,
                    (CUstream hStream, CUstreamCallback callback, void* userData,
                     unsigned int flags),
                    (hStream, callback, userData, flags)) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (IsCapturing(*stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  HostFunction function;
  function.callback = callback;
  function.stream = hStream;
  function.data = userData;
  Operation operation;
  operation.what = function;
  return Submit(*stream, operation);
}

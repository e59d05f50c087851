// Occupancy queries.
#include <algorithm>

#include "tests/simcuda/driver/entry.h"
#include "tests/simcuda/driver/launch.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace simcuda {

int BlocksPerMultiprocessor(const Kernel& kernel, int threads_per_block, size_t dynamic_shared) {
  constexpr int kThreads = 2048, kBlocks = 32, kRegisters = 65536, kWarp = 32;
  constexpr size_t kShared = 228 * 1024, kReserved = 1024;
  int warps = (threads_per_block + kWarp - 1) / kWarp;
  int blocks = std::min(kBlocks, kThreads / (warps * kWarp));
  // Registers are given out in units of 256 to a warp.
  int per_warp = static_cast<int>((kernel.info.registers_per_thread * kWarp + 255) / 256 * 256);
  if (per_warp > 0) blocks = std::min(blocks, kRegisters / (per_warp * warps));
  size_t shared = kernel.info.static_shared_bytes + dynamic_shared + kReserved;
  return std::min<int>(blocks, static_cast<int>(kShared / shared));
}

}  // namespace simcuda

namespace {

CUresult ActiveBlocks(int* numBlocks, CUfunction func, int blockSize, size_t dynamic_shared) {
  const Kernel* kernel = FindKernel(func);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (numBlocks == nullptr || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  *numBlocks = blockSize > static_cast<int>(kernel->info.max_threads_per_block)
                   ? 0
                   : BlocksPerMultiprocessor(*kernel, blockSize, dynamic_shared);
  return CUDA_SUCCESS;
}

CUresult BestBlock(int* minGridSize, int* blockSize, CUfunction func, CUoccupancyB2DSize to_dynamic,
                   size_t dynamic_shared, int limit) {
  const Kernel* kernel = FindKernel(func);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (minGridSize == nullptr || blockSize == nullptr || limit < 0) return CUDA_ERROR_INVALID_VALUE;
  int largest = static_cast<int>(kernel->info.max_threads_per_block);
  if (limit > 0) largest = std::min(largest, limit);
  int best = 0;
  for (int block = largest / 32 * 32; block > 0; block -= 32) {
    size_t shared = to_dynamic != nullptr ? to_dynamic(block) : dynamic_shared;
    int blocks = BlocksPerMultiprocessor(*kernel, block, shared);
    if (blocks * block > best) {
      best = blocks * block;
      *blockSize = block;
      *minGridSize = 132 * blocks;
    }
  }
  return best > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor,
             (int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize),
             (numBlocks, func, blockSize, dynamicSMemSize)) {
  return ActiveBlocks(numBlocks, func, blockSize, dynamicSMemSize);
}

DRIVER_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
             (int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize,
              unsigned int flags),
             (numBlocks, func, blockSize, dynamicSMemSize, flags)) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return ActiveBlocks(numBlocks, func, blockSize, dynamicSMemSize);
}

DRIVER_ENTRY(cuOccupancyMaxPotentialBlockSize,
             (int* minGridSize, int* blockSize, CUfunction func,
              CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
              int blockSizeLimit),
             (minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
              blockSizeLimit)) {
  return BestBlock(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                   blockSizeLimit);
}

DRIVER_ENTRY(cuOccupancyMaxPotentialBlockSizeWithFlags,
             (int* minGridSize, int* blockSize, CUfunction func,
              CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
              int blockSizeLimit, unsigned int flags),
             (minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
              blockSizeLimit, flags)) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return BestBlock(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                   blockSizeLimit);
}

DRIVER_ENTRY(cuOccupancyAvailableDynamicSMemPerBlock,
             (size_t * dynamicSmemSize, CUfunction func, int numBlocks, int blockSize),
             (dynamicSmemSize, func, numBlocks, blockSize)) {
  constexpr size_t kShared = 228 * 1024, kReserved = 1024, kLargest = 227 * 1024;
  const Kernel* kernel = FindKernel(func);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (dynamicSmemSize == nullptr || numBlocks <= 0 || blockSize <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t each = kShared / static_cast<size_t>(numBlocks);
  size_t taken = kReserved + kernel->info.static_shared_bytes;
  *dynamicSmemSize = each > taken ? std::min(each - taken, kLargest) : 0;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuOccupancyMaxActiveClusters,
             (int* numClusters, CUfunction func, const CUlaunchConfig* config),
             (numClusters, func, config)) {
  const Kernel* kernel = FindKernel(func);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (numClusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& size = config->attrs[i].value.clusterDim;
      cluster = std::max(1u, size.x * size.y * size.z);
    }
  }
  unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
  if (threads == 0) return CUDA_ERROR_INVALID_VALUE;
  int blocks = BlocksPerMultiprocessor(*kernel, static_cast<int>(threads), config->sharedMemBytes);
  *numClusters = 132 * blocks / static_cast<int>(cluster);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuOccupancyMaxPotentialClusterSize,
             (int* clusterSize, CUfunction func, const CUlaunchConfig* config),
             (clusterSize, func, config)) {
  if (FindKernel(func) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (clusterSize == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *clusterSize = 8;
  return CUDA_SUCCESS;
}

// Copies as the driver API describes them, turned into operations; shared by direct copies and
// graph nodes.
#ifndef TESTS_SIMCUDA_DRIVER_COPY_H_
#define TESTS_SIMCUDA_DRIVER_COPY_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "tests/simcuda/core/operation.h"

namespace simcuda {

// Looks up both sides. CUDA_ERROR_INVALID_VALUE when a side is in no allocation or does not fit in
// it.
CUresult MakeCopy(uint64_t destination, uint64_t source, size_t bytes, Copy* copy);
CUresult MakeCopy(const CUDA_MEMCPY2D& description, Copy* copy);
CUresult MakeCopy(const CUDA_MEMCPY3D& description, Copy* copy);

// The fill of a 2D region; elements of 1, 2 or 4 bytes.
CUresult MakeFill(uint64_t destination, size_t pitch, uint32_t value, uint32_t element_bytes,
                  size_t width, size_t height, Fill* fill);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_DRIVER_COPY_H_

// Arrays: device memory with an extent and a format. Laid out row by row; opaque to programs.
#ifndef TESTS_SIMCUDA_DRIVER_ARRAY_H_
#define TESTS_SIMCUDA_DRIVER_ARRAY_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace simcuda {

struct Array {
  uint64_t address = 0;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  bool owns_memory = true;  // False for a level of a mipmapped array.

  size_t element_bytes() const;
  size_t row_bytes() const { return descriptor.Width * element_bytes(); }
  size_t rows() const { return descriptor.Height == 0 ? 1 : descriptor.Height; }
  size_t slices() const { return descriptor.Depth == 0 ? 1 : descriptor.Depth; }
  size_t bytes() const { return row_bytes() * rows() * slices(); }
};

Array* FindArray(CUarray handle);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_DRIVER_ARRAY_H_

// What a device image (a cubin, a fat binary or PTX text) says about its kernels and variables.
#ifndef TESTS_SIMCUDA_CORE_IMAGE_H_
#define TESTS_SIMCUDA_CORE_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace simcuda {

struct KernelInfo {
  std::string name;  // Mangled.
  uint32_t registers_per_thread = 32;
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes_per_thread = 0;
  uint32_t max_threads_per_block = 1024;
  uint32_t parameter_bytes = 0;
  struct Parameter {
    uint32_t offset, bytes;
  };
  std::vector<Parameter> parameters;  // By ordinal. Empty when the image does not say.
};

struct VariableInfo {
  std::string name;
  size_t bytes = 0;
  std::vector<unsigned char> initial;  // Empty: zeros.
};

struct Image {
  std::vector<KernelInfo> kernels;
  std::vector<VariableInfo> variables;
  std::vector<unsigned char> cubin;  // Empty for PTX.
};

// Reads what `data` points at: the structure of a fat binary that nvcc embeds, a bare fat binary,
// an ELF cubin, or PTX text that ends with a zero. The size comes from the image itself. False when
// it is none of these. Compressed parts are skipped: a fat binary of compressed parts alone has no
// kernels that could be found by name.
bool ReadImage(const void* data, Image* image);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_IMAGE_H_

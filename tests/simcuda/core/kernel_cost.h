// How long a kernel takes on the simulated device.
#ifndef TESTS_SIMCUDA_CORE_KERNEL_COST_H_
#define TESTS_SIMCUDA_CORE_KERNEL_COST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace simcuda {

// The documented default, from grid and block alone. 132 multiprocessors hold 2048 threads (at most
// 32 blocks) each; blocks run in waves, the last of which may be partly filled:
//     2000 ns + waves * (1000 ns + 2 ns * threads per block)
uint64_t DefaultKernelNs(uint64_t blocks, uint32_t threads_per_block);

// Durations by name, read from SIMCUDA_KERNEL_COST: entries `substring=nanoseconds`, separated by
// commas or line ends, or the name of a file of such entries (`#` starts a comment). The first
// entry whose substring is in the mangled name holds; a substring may itself contain `=`: the last
// one in an entry counts.
class KernelCosts {
 public:
  explicit KernelCosts(std::string_view entries);
  static const KernelCosts& FromEnvironment();

  // False: no entry fits.
  bool Find(std::string_view kernel_name, uint64_t* ns) const;

 private:
  std::vector<std::pair<std::string, uint64_t>> entries_;
};

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_KERNEL_COST_H_

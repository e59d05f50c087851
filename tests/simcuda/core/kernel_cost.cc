#include "tests/simcuda/core/kernel_cost.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace simcuda {
namespace {

std::string_view Trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string EntriesFromEnvironment() {
  const char* value = getenv("SIMCUDA_KERNEL_COST");
  if (value == nullptr) return "";
  std::ifstream file(value);
  if (!file) return value;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

uint64_t DefaultKernelNs(uint64_t blocks, uint32_t threads_per_block) {
  constexpr uint64_t kMultiprocessors = 132, kThreads = 2048, kBlocks = 32;
  uint64_t resident = std::clamp<uint64_t>(kThreads / std::max(threads_per_block, 1u), 1, kBlocks);
  uint64_t per_wave = kMultiprocessors * resident;
  uint64_t waves = (blocks + per_wave - 1) / per_wave;
  return 2000 + waves * (1000 + 2 * uint64_t{threads_per_block});
}

KernelCosts::KernelCosts(std::string_view entries) {
  while (!entries.empty()) {
    size_t end = entries.find_first_of(",\n");
    std::string_view entry = Trim(entries.substr(0, end));
    entries = end == std::string_view::npos ? std::string_view() : entries.substr(end + 1);
    size_t equals = entry.rfind('=');
    if (entry.empty() || entry[0] == '#' || equals == std::string_view::npos) continue;
    std::string_view name = Trim(entry.substr(0, equals)), number = Trim(entry.substr(equals + 1));
    uint64_t ns = 0;
    auto parsed = std::from_chars(number.data(), number.data() + number.size(), ns);
    if (parsed.ec == std::errc() && parsed.ptr == number.data() + number.size()) {
      entries_.emplace_back(name, ns);
    }
  }
}

const KernelCosts& KernelCosts::FromEnvironment() {
  static const KernelCosts* costs = new KernelCosts(EntriesFromEnvironment());
  return *costs;
}

bool KernelCosts::Find(std::string_view kernel_name, uint64_t* ns) const {
  for (const auto& [substring, cost] : entries_) {
    if (kernel_name.find(substring) != std::string_view::npos) {
      *ns = cost;
      return true;
    }
  }
  return false;
}

}  // namespace simcuda

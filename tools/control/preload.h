// The environment that makes a program load the collector, whatever is set there already.
#ifndef TOOLS_CONTROL_PRELOAD_H_
#define TOOLS_CONTROL_PRELOAD_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tp {

struct Preload {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> notes;  // What the user has set and is kept, and what follows from that.
};

// The collector and `others` in front of an LD_PRELOAD that is set; CUDA_INJECTION64_PATH and
// NVTX_INJECTION64_PATH only where they are not set. InvalidArgument for a path that LD_PRELOAD
// cannot name.
absl::StatusOr<Preload> PreloadOf(const std::string& collector,
                                  const std::vector<std::string>& others = {});

}  // namespace tp

#endif  // TOOLS_CONTROL_PRELOAD_H_

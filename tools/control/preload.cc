#include "tools/control/preload.h"

#include <stdlib.h>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tp {

absl::StatusOr<Preload> PreloadOf(const std::string& collector,
                                  const std::vector<std::string>& others) {
  std::vector<std::string> libraries = {collector};
  libraries.insert(libraries.end(), others.begin(), others.end());
  for (const std::string& library : libraries) {
    // The loader takes both as the end of a name, and knows no way to quote them.
    if (library.find_first_of(": ") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("LD_PRELOAD cannot name ", library,
                       ", which has a blank or colon in it: set TP_COLLECTOR to another path"));
    }
  }
  Preload preload;
  if (const char* before = getenv("LD_PRELOAD")) {
    const std::vector<std::string> set =
        absl::StrSplit(before, absl::ByAnyChar(": "), absl::SkipEmpty());
    for (const std::string& library : set) {
      if (absl::c_find(libraries, library) == libraries.end()) libraries.push_back(library);
    }
  }
  preload.variables.emplace_back("LD_PRELOAD", absl::StrJoin(libraries, ":"));
  struct Injection {
    const char* name;
    const char* consequence;
  };
  for (const Injection& injection :
       {Injection{"CUDA_INJECTION64_PATH", "CUDA loads that library, so nothing may be captured"},
        Injection{"NVTX_INJECTION64_PATH",
                  "NVTX loads that library, so NVTX ranges may not be captured"}}) {
    const char* set = getenv(injection.name);
    if (set == nullptr || set[0] == '\0') {
      preload.variables.emplace_back(injection.name, collector);
    } else if (set != collector) {
      preload.notes.push_back(
          absl::StrCat(injection.name, "=", set, " is kept as it is set: ", injection.consequence));
    }
  }
  return preload;
}

}  // namespace tp

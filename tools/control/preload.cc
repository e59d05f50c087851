#include "tools/control/preload.h"

#include <stdlib.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tp {

absl::StatusOr<Preload> PreloadOf(const std::string& collector) {
  // The loader takes both as the end of a name, and knows no way to quote them.
  if (collector.find_first_of(": ") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("LD_PRELOAD cannot name ", collector,
                     ", which has a blank or colon in it: set TP_COLLECTOR to another path"));
  }
  Preload preload;
  const char* before = getenv("LD_PRELOAD");
  std::string libraries = collector;
  if (before != nullptr) {
    for (absl::string_view library :
         absl::StrSplit(before, absl::ByAnyChar(": "), absl::SkipEmpty())) {
      if (library != collector) absl::StrAppend(&libraries, ":", library);
    }
  }
  preload.variables.emplace_back("LD_PRELOAD", libraries);
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

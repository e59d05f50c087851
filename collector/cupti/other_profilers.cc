#include "collector/cupti/other_profilers.h"

#include <link.h>

namespace tp::collect {
namespace {

struct Known {
  std::string_view file;  // Begins so.
  std::string_view profiler;
  bool subscribes;  // As long as it profiles, and no longer.
  bool shares;      // Uses CUPTI's functions for several subscribers, where it has them.
};

constexpr Known kKnown[] = {
    // Some versions never subscribe, others do for ever.
    {"libtorch_cuda.so", "PyTorch's profiler", false, false},
    {"libtorch_cpu.so", "PyTorch's profiler", false, false},
    {"libkineto", "Kineto", false, false},
    {"libtensorflow_cc.so", "TensorFlow's profiler", true, true},
    {"_pywrap_tensorflow", "TensorFlow's profiler", true, true},
    {"xla_extension", "JAX's profiler", true, true},
    {"xla_cuda_plugin", "JAX's profiler", true, true},
    {"libToolsInjection", "Nsight Systems", true, false},
    {"libcuda-injection", "Nsight Compute", true, false},
    {"libsanitizer-collection", "Compute Sanitizer", true, false},
    {"libcudadebugger", "cuda-gdb", true, false},
    {"libhpcrun", "HPCToolkit", false, false},
    {"libTAU", "TAU", false, false},
    {"libscorep_adapter_cuda", "Score-P", false, false},
    {"libcudatrace", "Extrae", false, false},
    {"libapex", "APEX", false, false},
    {"libtimemory", "timemory", false, false},
    {"libproton.so", "Proton", false, false},
};

const Known* Find(std::string_view library) {
  std::string_view file = library.substr(library.rfind('/') + 1);
  for (const Known& known : kKnown) {
    if (file.starts_with(known.file)) return &known;
  }
  return nullptr;
}

struct Loaded {
  std::string names;
  bool all_subscribe = true;
  bool all_share = true;
};

int AddProfiler(dl_phdr_info* info, size_t, void* user) {
  auto* loaded = static_cast<Loaded*>(user);
  std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const Known* known = Find(path);
  if (known == nullptr || loaded->names.find(known->profiler) != std::string::npos) return 0;
  loaded->all_subscribe &= known->subscribes;
  loaded->all_share &= known->shares;
  if (!loaded->names.empty()) loaded->names += ", ";
  loaded->names += known->profiler;
  loaded->names += " (";
  loaded->names += path.substr(path.rfind('/') + 1);
  loaded->names += ")";
  return 0;
}

Loaded FindLoaded() {
  Loaded loaded;
  dl_iterate_phdr(AddProfiler, &loaded);
  return loaded;
}

}  // namespace

std::string_view ProfilerIn(std::string_view library) {
  const Known* known = Find(library);
  return known == nullptr ? std::string_view() : known->profiler;
}

bool LoadedProfilersSubscribe() {
  Loaded loaded = FindLoaded();
  return !loaded.names.empty() && loaded.all_subscribe;
}

bool LoadedProfilersShare() { return FindLoaded().all_share; }

std::string LoadedProfilers() { return FindLoaded().names; }

}  // namespace tp::collect

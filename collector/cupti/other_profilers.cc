#include "collector/cupti/other_profilers.h"

#include <link.h>

namespace tp::collect {
namespace {

struct Known {
  std::string_view file;  // Begins so.
  std::string_view profiler;
  bool subscribes;  // As long as it profiles, and no longer.
};

constexpr Known kKnown[] = {
    // Some versions never subscribe, others do for ever.
    {"libtorch_cuda.so", "PyTorch's profiler", false},
    {"libtorch_cpu.so", "PyTorch's profiler", false},
    {"libkineto", "Kineto", false},
    {"libtensorflow_cc.so", "TensorFlow's profiler", true},
    {"_pywrap_tensorflow", "TensorFlow's profiler", true},
    {"xla_extension", "JAX's profiler", true},
    {"xla_cuda_plugin", "JAX's profiler", true},
    {"libToolsInjection", "Nsight Systems", true},
    {"libcuda-injection", "Nsight Compute", true},
    {"libsanitizer-collection", "Compute Sanitizer", true},
    {"libcudadebugger", "cuda-gdb", true},
    {"libhpcrun", "HPCToolkit", false},
    {"libTAU", "TAU", false},
    {"libscorep_adapter_cuda", "Score-P", false},
    {"libcudatrace", "Extrae", false},
    {"libapex", "APEX", false},
    {"libtimemory", "timemory", false},
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
};

int AddProfiler(dl_phdr_info* info, size_t, void* user) {
  auto* loaded = static_cast<Loaded*>(user);
  std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const Known* known = Find(path);
  if (known == nullptr || loaded->names.find(known->profiler) != std::string::npos) return 0;
  loaded->all_subscribe &= known->subscribes;
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

std::string LoadedProfilers() { return FindLoaded().names; }

}  // namespace tp::collect

#include "collector/cupti/cupti_api.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace tp::collect {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                  "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                  "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                  "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};

// Folders of the libraries that are loaded now and come from CUDA: pip, conda and the toolkit put
// CUPTI at known places beside them.
int AddFolders(dl_phdr_info* info, size_t, void* user) {
  auto* folders = static_cast<std::vector<std::string>*>(user);
  std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  size_t slash = path.rfind('/');
  if (slash == path.npos) return 0;
  std::string_view file = path.substr(slash + 1);
  if (!file.starts_with("libcudart") && !file.starts_with("libcublas") &&
      !file.starts_with("libcudnn") && !file.starts_with("libnvrtc")) {
    return 0;
  }
  std::string folder(path.substr(0, slash));
  folders->push_back(folder);
  folders->push_back(folder + "/../extras/CUPTI/lib64");
  folders->push_back(folder + "/../../cuda_cupti/lib");  // Wheels: site-packages/nvidia/*/lib.
  return 0;
}

std::vector<std::string> Folders() {
  std::vector<std::string> folders;
  dl_iterate_phdr(AddFolders, &folders);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"}) {
    const char* home = getenv(variable);
    if (home == nullptr || home[0] == '\0') continue;
    for (const char* below : {"/extras/CUPTI/lib64", "/lib64", "/lib"}) {
      folders.push_back(std::string(home) + below);
    }
  }
  folders.push_back("/usr/local/cuda/extras/CUPTI/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  return folders;
}

void* Open() {
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  const char* named = getenv("TP_CUPTI");
  if (named != nullptr && named[0] != '\0') return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  for (const std::string& folder : Folders()) {
    for (const char* name : kNames) {
      std::string path = folder + "/" + name;
      if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

}  // namespace

bool LoadCupti(CuptiApi* api, std::string* reason) {
  void* library = Open();
  if (library == nullptr) {
    const char* named = getenv("TP_CUPTI");
    *reason = named != nullptr && named[0] != '\0'
                  ? std::string("TP_CUPTI names ") + named + ", which cannot be loaded"
                  : "no libcupti found: install CUDA's CUPTI, or name it in TP_CUPTI";
    return false;
  }
#define TP_LOOK_UP(name) \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, "cupti" #name));
  TP_CUPTI_REQUIRED(TP_LOOK_UP)
  TP_CUPTI_OPTIONAL(TP_LOOK_UP)
#undef TP_LOOK_UP
#define TP_CHECK(name)                                                      \
  if (api->name == nullptr) {                                               \
    *reason = "libcupti lacks cupti" #name ": CUPTI 11 or later is needed"; \
    return false;                                                           \
  }
  TP_CUPTI_REQUIRED(TP_CHECK)
#undef TP_CHECK
  // The very first call into some versions says 0.
  for (int i = 0; i < 3 && api->version == 0; ++i) {
    if (api->GetVersion(&api->version) != CUPTI_SUCCESS) api->version = 0;
  }
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(api->GetVersion), &info) != 0 && info.dli_fname != nullptr) {
    api->path = info.dli_fname;
  }
  return true;
}

}  // namespace tp::collect

#include "collector/cupti/cupti_api.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "collector/cupti/cupti_library.h"
#include "collector/cupti/record_layout.h"

namespace tp::collect {
namespace {

constexpr size_t kMostFoldersNamed = 3;

// nullptr, with `reason`.
void* Open(const CudaOfProcess& cuda, std::string* reason) {
  if (std::string loaded = LoadedCupti(cuda); !loaded.empty()) {
    if (IsTooNew(cuda, loaded)) {
      *reason = "the CUPTI in this process is newer than its driver, which is for CUDA " +
                std::to_string(cuda.driver_major()) + ": " + loaded;
      return nullptr;
    }
    if (void* library = dlopen(loaded.c_str(), RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  if (const char* named = getenv("TP_CUPTI"); named != nullptr && named[0] != '\0') {
    void* library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      *reason = std::string("TP_CUPTI names ") + named + ", which cannot be loaded: " + dlerror();
    }
    return library;
  }
  std::vector<std::string> looked_in;
  std::string broken;  // What the loader says of the first that cannot be loaded.
  for (const std::string& candidate : CuptiCandidates(cuda, &looked_in)) {
    if (void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (broken.empty() && candidate.front() == '/') broken = dlerror();
  }
  *reason = "no libcupti found for CUDA " + std::to_string(FittingVersions(cuda).front());
  for (size_t i = 0; i < std::min(looked_in.size(), kMostFoldersNamed); ++i) {
    *reason += (i == 0 ? ", neither by the loader nor in " : ", ") + looked_in[i];
  }
  if (looked_in.size() > kMostFoldersNamed) {
    *reason += " and " + std::to_string(looked_in.size() - kMostFoldersNamed) + " more folders";
  }
  if (!broken.empty()) *reason += " (" + broken + ")";
  *reason += ": install CUDA's CUPTI, or name it in TP_CUPTI";
  return nullptr;
}

template <typename Function>
void LookUp(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

bool LookUpCupti(void* library, CuptiApi* api, std::string* reason) {
#define TP_LOOK_UP(name) LookUp(library, "cupti" #name, &api->name);
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
  LookUp(library, "InitializeInjectionNvtx2", &api->InitializeNvtx);
  // The very first call into some versions says 0.
  for (int i = 0; i < 3 && api->version == 0; ++i) {
    if (api->GetVersion(&api->version) != CUPTI_SUCCESS) api->version = 0;
  }
  bool is_whole = api->version >= kCupti13_3;
#define TP_LOOK_UP(name)                                           \
  LookUp(library, "cupti" #name "_v2", &api->per_subscriber.name); \
  is_whole = is_whole && api->per_subscriber.name != nullptr;
  TP_CUPTI_PER_SUBSCRIBER(TP_LOOK_UP)
#undef TP_LOOK_UP
  if (!is_whole) {
    auto subscribe = api->per_subscriber.Subscribe;
    api->per_subscriber = {};
    api->per_subscriber.Subscribe = subscribe;
  }
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(api->GetVersion), &info) != 0 && info.dli_fname != nullptr) {
    api->path = info.dli_fname;
  }
  return true;
}

bool LoadCupti(CuptiApi* api, std::string* reason) {
  const CudaOfProcess cuda = DescribeProcess();
  api->driver_version = static_cast<uint32_t>(cuda.driver_version);
  void* library = Open(cuda, reason);
  return library != nullptr && LookUpCupti(library, api, reason);
}

}  // namespace tp::collect

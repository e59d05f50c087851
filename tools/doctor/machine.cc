#include "tools/doctor/machine.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "collector/cupti/cupti_library.h"
#include "collector/settings.h"

namespace tp {
namespace {

using Level = Finding::Level;

constexpr const char* kCudaInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";

template <typename Function>
Function* Lookup(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string PathOf(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr ? map->l_name : "";
}

std::string LoaderError() {
  const char* error = dlerror();
  return error == nullptr ? "unknown error" : error;
}

// 13020: 13.2.
std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// The driver stays open: what CUPTI fits depends on it.
Finding ExamineDriver() {
  Finding finding{.level = Level::kProblem, .subject = "CUDA driver", .text = {}, .remedy = {}};
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (driver == nullptr) {
    finding.text = absl::StrCat("not found (", LoaderError(), ")");
    finding.remedy =
        "install NVIDIA's driver; a container gets it from the NVIDIA Container Toolkit "
        "(docker run --gpus all)";
    return finding;
  }
  auto* initialize = Lookup<int(unsigned)>(driver, "cuInit");
  auto* version_of = Lookup<int(int*)>(driver, "cuDriverGetVersion");
  auto* count_devices = Lookup<int(int*)>(driver, "cuDeviceGetCount");
  if (initialize == nullptr || version_of == nullptr || count_devices == nullptr) {
    finding.text = absl::StrCat(PathOf(driver), " lacks functions that every driver has");
    finding.remedy = "see whether another library of this name comes first (LD_LIBRARY_PATH)";
    return finding;
  }
  int version = 0, devices = 0;
  version_of(&version);
  finding.text = absl::StrCat(PathOf(driver), ", for CUDA ", VersionText(version));
  int error = initialize(0);
  if (error == 0) error = count_devices(&devices);
  if (error != 0) {
    absl::StrAppend(&finding.text, ", but it does not start (CUDA error ", error, ")");
    finding.remedy =
        "try nvidia-smi: it tells what is wrong (no GPU, a module of another version, no access to "
        "/dev/nvidia*)";
  } else if (devices == 0) {
    absl::StrAppend(&finding.text, ", but no device");
    finding.remedy = "see whether CUDA_VISIBLE_DEVICES hides them";
  } else {
    absl::StrAppend(&finding.text, ", ", devices, devices == 1 ? " device" : " devices");
    finding.level = Level::kFine;
  }
  return finding;
}

// As a program finds it that has loaded nothing of CUDA's but the driver.
Finding ExamineCupti() {
  Finding finding{.level = Level::kProblem, .subject = "CUPTI", .text = {}, .remedy = {}};
  std::vector<std::string> candidates, looked_in;
  if (const char* said = getenv("TP_CUPTI"); said != nullptr && said[0] != '\0') {
    candidates.emplace_back(said);
    finding.remedy = "TP_CUPTI names it";
  } else {
    candidates = collect::CuptiCandidates(collect::DescribeProcess(), &looked_in);
    finding.remedy =
        "install it (Debian: libcupti-dev; pip: nvidia-cuda-cupti; else CUDA's toolkit), or name "
        "it "
        "in TP_CUPTI";
  }
  std::string last_error;
  for (const std::string& candidate : candidates) {
    void* library = dlopen(candidate.c_str(), RTLD_NOW);
    if (library == nullptr) {
      last_error = LoaderError();
      continue;
    }
    auto* version_of = Lookup<int(uint32_t*)>(library, "cuptiGetVersion");
    uint32_t version = 0;
    if (version_of == nullptr || version_of(&version) != 0) {
      last_error = absl::StrCat(PathOf(library), " is no CUPTI that works");
      continue;
    }
    finding.level = Level::kFine;
    finding.text = absl::StrCat(PathOf(library), ", API version ", version,
                                "; a program's own CUDA may bring another");
    finding.remedy.clear();
    return finding;
  }
  finding.text = absl::StrCat("none found (", last_error, "; looked in ",
                              absl::StrJoin(looked_in, ", "), ", and where the loader looks)");
  // A program that brings its own CUDA, as PyTorch does, brings its CUPTI.
  if (getenv("TP_CUPTI") == nullptr) {
    finding.level = Level::kNote;
    absl::StrAppend(&finding.text,
                    "; programs that bring theirs, such as PyTorch, can be captured");
  }
  return finding;
}

void ExamineVariable(const char* name, const std::string& value, const char* what_is_missing,
                     Findings* findings) {
  if (value.empty() || value.find("libtpcollect.so") != value.npos) return;
  findings->push_back({Level::kNote, name,
                       absl::StrCat("names ", value, ", which is kept: ", what_is_missing),
                       absl::StrCat("unset ", name, ", unless it is wanted")});
}

}  // namespace

Findings ExamineMachine(const std::string& collector, const std::string& why_no_collector) {
  const auto variable = [](const char* name) {
    const char* value = getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string cuda_injection = variable(kCudaInjection);
  unsetenv(kCudaInjection);  // The driver would load what it names into this process.

  Findings findings = {ExamineDriver(), ExamineCupti()};
  if (collector.empty()) {
    findings.push_back({Level::kProblem, "collector", why_no_collector,
                        "say where libtpcollect.so is in TP_COLLECTOR"});
  } else {
    findings.push_back({Level::kFine, "collector", collector, ""});
  }
  ExamineVariable(kCudaInjection, cuda_injection, "the beginning of programs is missing",
                  &findings);
  ExamineVariable(kNvtxInjection, variable(kNvtxInjection), "NVTX ranges are not seen", &findings);
  if (variable("TP_COLLECT") == "off") {
    findings.push_back(
        {Level::kProblem, "TP_COLLECT", "is off: programs are left alone", "unset TP_COLLECT"});
  }
  for (const std::string& note : collect::ReadSettings().notes) {
    findings.push_back({Level::kNote, "settings", note, ""});
  }
  return findings;
}

}  // namespace tp

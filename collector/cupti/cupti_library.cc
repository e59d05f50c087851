#include "collector/cupti/cupti_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tp::collect {
namespace {

constexpr int kOldestMajor = 11;
constexpr int kNewestKnownMajor = 13;
constexpr int kNewest11Minor = 8;

std::string_view FileOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view FolderOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

// 12 for "libcudart.so.12" and "libcudart.so.12.4.127"; 0 where there is no number.
int MajorOf(std::string_view file) {
  size_t dot = file.find(".so.");
  int major = 0;
  if (dot != file.npos) {
    std::from_chars(file.data() + dot + 4, file.data() + file.size(), major);
  }
  return major;
}

bool IsOfCuda(std::string_view file) {
  for (std::string_view name :
       {"libcudart", "libcublas", "libcudnn", "libnvrtc", "libcufft", "libcurand", "libcusolver",
        "libcusparse", "libnvJitLink", "libcuda.so"}) {
    if (file.starts_with(name)) return true;
  }
  return false;
}

// The folder that Python packages lie in, if a library is one's.
std::string_view PackagesOf(std::string_view path) {
  for (std::string_view name : {"/site-packages/", "/dist-packages/"}) {
    size_t at = path.find(name);
    if (at != path.npos) return path.substr(0, at + name.size() - 1);
  }
  return {};
}

// Names of a folder's entries that begin so, in order.
std::vector<std::string> Entries(const std::string& folder, std::string_view begin) {
  std::vector<std::string> names;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return names;
  while (dirent* entry = readdir(directory)) {
    std::string_view name = entry->d_name;
    if (name.starts_with(begin)) names.emplace_back(name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

class Folders {
 public:
  void Add(std::string folder) {
    if (!folder.empty() && std::find(folders_.begin(), folders_.end(), folder) == folders_.end()) {
      folders_.push_back(std::move(folder));
    }
  }
  // A toolkit.
  void AddToolkit(const std::string& home) {
    for (const char* below : {"/extras/CUPTI/lib64", "/lib64", "/targets/x86_64-linux/lib"}) {
      Add(home + below);
    }
  }
  // Wheels: CUDA 11 and 12 have a folder for each library, later ones one for all.
  void AddWheels(const std::string& packages, int major) {
    std::string nvidia = packages + "/nvidia/";
    Add(nvidia + "cu" + std::to_string(major) + "/lib");
    Add(nvidia + "cuda_cupti/lib");
    Add(nvidia + "cuda_cupti/extras/CUPTI/lib64");  // The first of them.
  }
  // A conda or virtual environment.
  void AddPrefix(const std::string& prefix, int major) {
    Add(prefix + "/lib");
    Add(prefix + "/extras/CUPTI/lib64");
    for (const std::string& python : Entries(prefix + "/lib", "python3")) {
      AddWheels(prefix + "/lib/" + python + "/site-packages", major);
    }
  }
  const std::vector<std::string>& all() const { return folders_; }

 private:
  std::vector<std::string> folders_;
};

// Beside a library that is loaded.
void AddNear(const std::string& path, int major, Folders* folders) {
  if (std::string_view packages = PackagesOf(path); !packages.empty()) {
    folders->AddWheels(std::string(packages), major);
  }
  if (!IsOfCuda(FileOf(path))) return;
  std::string folder(FolderOf(path));
  if (folder.empty()) return;
  folders->Add(folder);
  // From a toolkit's lib64 or conda's lib, and from targets/x86_64-linux/lib.
  const std::string_view above = FolderOf(folder);
  for (std::string_view home : {above, FolderOf(FolderOf(above))}) {
    if (!home.empty()) folders->Add(std::string(home) + "/extras/CUPTI/lib64");
  }
}

Folders Near(const CudaOfProcess& cuda, int major) {
  Folders folders;
  for (const std::string& path : cuda.loaded) AddNear(path, major, &folders);
  return folders;
}

Folders Elsewhere(const CudaOfProcess& cuda, int major) {
  Folders folders;
  for (const std::string& home : cuda.homes) folders.AddToolkit(home);
  for (const std::string& prefix : cuda.prefixes) folders.AddPrefix(prefix, major);
  for (const std::string& place : cuda.usual) {
    folders.AddToolkit(place + "/cuda");
    std::vector<std::string> toolkits = Entries(place, "cuda-" + std::to_string(major));
    std::reverse(toolkits.begin(), toolkits.end());
    for (const std::string& toolkit : toolkits) folders.AddToolkit(place + "/" + toolkit);
  }
  return folders;
}

// The loader's names of a major version of CUPTI.
std::vector<std::string> Names(int major) {
  const std::string name = "libcupti.so." + std::to_string(major);
  if (major > kOldestMajor) return {name};
  std::vector<std::string> names;
  for (int minor = kNewest11Minor; minor >= 0; --minor) {
    names.push_back(name + "." + std::to_string(minor));
  }
  return names;
}

int AddPath(dl_phdr_info* info, size_t, void* user) {
  if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
    static_cast<std::vector<std::string>*>(user)->emplace_back(info->dlpi_name);
  }
  return 0;
}

void AddVariable(const char* name, std::vector<std::string>* values) {
  const char* value = getenv(name);
  if (value != nullptr && value[0] == '/') values->emplace_back(value);
}

int DriverVersion() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  int version = 0;
  auto get = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  if (get == nullptr || get(&version) != 0) version = 0;
  dlclose(driver);
  return version;
}

}  // namespace

CudaOfProcess DescribeProcess() {
  CudaOfProcess cuda;
  dl_iterate_phdr(AddPath, &cuda.loaded);
  cuda.driver_version = DriverVersion();
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) AddVariable(name, &cuda.homes);
  for (const char* name : {"CONDA_PREFIX", "VIRTUAL_ENV"}) AddVariable(name, &cuda.prefixes);
  cuda.usual = {"/usr/local", "/opt"};
  return cuda;
}

std::string LoadedCupti(const CudaOfProcess& cuda) {
  for (const std::string& path : cuda.loaded) {
    if (FileOf(path).starts_with("libcupti.so")) return path;
  }
  return {};
}

bool IsTooNew(const CudaOfProcess& cuda, std::string_view cupti) {
  // A toolkit's file is also called by its year: "libcupti.so.2025.3.1".
  constexpr int kFirstYear = 1000;
  const int major = MajorOf(FileOf(cupti));
  return cuda.driver_major() > 0 && major > cuda.driver_major() && major < kFirstYear;
}

std::vector<int> FittingVersions(const CudaOfProcess& cuda) {
  int runtime = 0;
  for (const std::string& path : cuda.loaded) {
    if (runtime == 0 && FileOf(path).starts_with("libcudart.so")) runtime = MajorOf(FileOf(path));
  }
  const int newest = cuda.driver_major() > 0 ? cuda.driver_major() : kNewestKnownMajor;
  std::vector<int> versions;
  if (runtime >= kOldestMajor) versions.push_back(runtime);
  for (int major = newest; major >= kOldestMajor; --major) {
    if (major != runtime) versions.push_back(major);
  }
  return versions;
}

std::vector<std::string> CuptiCandidates(const CudaOfProcess& cuda,
                                         std::vector<std::string>* looked_in) {
  std::vector<std::string> candidates;
  for (int major : FittingVersions(cuda)) {
    const std::vector<std::string> names = Names(major);
    auto add_existing = [&](const Folders& folders) {
      for (const std::string& folder : folders.all()) {
        if (std::find(looked_in->begin(), looked_in->end(), folder) == looked_in->end()) {
          looked_in->push_back(folder);
        }
        for (const std::string& name : names) {
          std::string path = folder + "/" + name;
          if (access(path.c_str(), R_OK) == 0) candidates.push_back(std::move(path));
        }
      }
    };
    add_existing(Near(cuda, major));
    candidates.insert(candidates.end(), names.begin(), names.end());
    add_existing(Elsewhere(cuda, major));
  }
  candidates.emplace_back("libcupti.so");
  return candidates;
}

}  // namespace tp::collect

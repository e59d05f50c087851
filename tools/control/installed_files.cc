#include "tools/control/installed_files.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

const char* Environment(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

fs::path OwnFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool IsProgram(const fs::path& path) { return IsFile(path) && access(path.c_str(), X_OK) == 0; }

std::string Absolute(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  return error ? path.string() : whole.string();
}

}  // namespace

absl::StatusOr<std::string> FindCollector() {
  if (const char* named = Environment("TP_COLLECTOR")) {
    if (IsFile(named)) return Absolute(named);
    return absl::NotFoundError(
        absl::StrCat("there is no file ", named,
                     ", which TP_COLLECTOR names: set it to the path of libtpcollect.so"));
  }
  const fs::path own = OwnFolder();
  const fs::path places[] = {
      own / "../lib/libtpcollect.so", own / "../collector/libtpcollect.so",
      own / "libtpcollect.so",        "/usr/local/lib/libtpcollect.so",
      "/usr/lib/libtpcollect.so",     "/usr/lib/x86_64-linux-gnu/libtpcollect.so"};
  for (const fs::path& place : places) {
    if (IsFile(place)) return Absolute(place);
  }
  return absl::NotFoundError(absl::StrCat(
      "libtpcollect.so is neither beside ", own.string(),
      " (../lib, ../collector) nor in the system's library folders: set TP_COLLECTOR to its path"));
}

absl::StatusOr<std::string> FindCublasShim(const std::string& collector) {
  const fs::path shim = fs::path(collector).parent_path() / "libtpcollect_cublas.so";
  if (IsFile(shim)) return Absolute(shim);
  return absl::NotFoundError(absl::StrCat("there is no file ", shim.string(),
                                          ", which --cublas needs beside the collector"));
}

absl::StatusOr<std::string> FindDaemonProgram() {
  if (const char* named = Environment("TPD")) {
    if (IsProgram(named)) return Absolute(named);
    return absl::NotFoundError(
        absl::StrCat("TPD names ", named, ", which is no program: set it to the path of tpd"));
  }
  const fs::path own = OwnFolder();
  if (IsProgram(own / "tpd")) return Absolute(own / "tpd");
  if (const char* path = Environment("PATH")) {
    for (absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
      const fs::path program = fs::path(std::string(folder)) / "tpd";
      if (IsProgram(program)) return Absolute(program);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("tpd is neither in ", own.string(), " nor on the PATH: set TPD to its path"));
}

}  // namespace tp

#include "tools/inject/obstacles.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tools/doctor/program_file.h"
#include "tools/inject/memory_map.h"

namespace tp {
namespace {

constexpr int kCapSysPtrace = 19;

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Lines "Key:\tvalue" of /proc/PID/status.
std::map<std::string, std::string> StatusOf(const std::string& folder) {
  std::map<std::string, std::string> status;
  for (const absl::string_view line : absl::StrSplit(ReadWhole(folder + "/status"), '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    status.emplace(parts.first, absl::StripAsciiWhitespace(parts.second));
  }
  return status;
}

bool MayTraceOthers() {
  uint64_t capabilities = 0;
  return absl::SimpleHexAtoi(StatusOf("/proc/self")["CapEff"], &capabilities) &&
         (capabilities >> kCapSysPtrace & 1) != 0;
}

bool IsOurs(std::map<std::string, std::string>& status) {
  const std::string own = absl::StrCat(geteuid());
  const std::vector<std::string> uids = absl::StrSplit(status["Uid"], '\t');
  return std::all_of(uids.begin(), uids.end(), [&](const auto& uid) { return uid == own; });
}

}  // namespace

std::string NameOfProcess(pid_t pid) {
  std::string command = ReadWhole(absl::StrCat("/proc/", pid, "/cmdline"));
  std::replace(command.begin(), command.end(), '\0', ' ');
  absl::StripTrailingAsciiWhitespace(&command);
  if (command.empty()) command = StatusOf(absl::StrCat("/proc/", pid))["Name"];
  constexpr size_t kMost = 60;
  if (command.size() > kMost) command = command.substr(0, kMost - 3) + "...";
  return command.empty() ? absl::StrCat(pid) : absl::StrCat(pid, " (", command, ")");
}

bool HasCudaDriver(pid_t pid) {
  for (const Mapping& mapping : MappingsOf(pid)) {
    if (absl::StartsWith(FileOf(mapping), "libcuda.so")) return true;
  }
  return false;
}

Obstacle WhyNotPermitted(pid_t pid) {
  std::map<std::string, std::string> status = StatusOf(absl::StrCat("/proc/", pid));
  if (MayTraceOthers()) {
    return {true, "may not be traced, although CAP_SYS_PTRACE is there: something else forbids it",
            "in a container, look at its seccomp and LSM profiles (docker: --security-opt "
            "seccomp=unconfined), or attach from the host"};
  }
  if (!IsOurs(status)) {
    return {true, "belongs to another user, or has more rights than you",
            "run tpctl as root (CAP_SYS_PTRACE); in a container, start that with --cap-add "
            "SYS_PTRACE"};
  }
  const std::string scope = ReadWhole("/proc/sys/kernel/yama/ptrace_scope");
  if (absl::StartsWith(scope, "3")) {
    return {true, "cannot be traced: the system forbids it to all (yama, ptrace_scope is 3)",
            "start the program with `tpctl run`: nothing else helps until a reboot"};
  }
  if (absl::StartsWith(scope, "1") || absl::StartsWith(scope, "2")) {
    return {true,
            absl::StrCat("may not be traced by others than its parent (yama, ptrace_scope is ",
                         scope.substr(0, 1), ")"),
            "run tpctl as root, or once: sysctl kernel.yama.ptrace_scope=0"};
  }
  return {true, "may not be traced: it has made itself undumpable, or a security module forbids it",
          "run tpctl as root (CAP_SYS_PTRACE)"};
}

std::optional<Obstacle> ObstacleToAttach(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  std::map<std::string, std::string> status = StatusOf(folder);
  if (status["Tgid"] != absl::StrCat(pid)) {
    if (status["Tgid"].empty())
      return Obstacle{false, "does not run: there is no such process", ""};
    return Obstacle{false, absl::StrCat("is a thread of process ", status["Tgid"]),
                    absl::StrCat("tpctl attach ", status["Tgid"])};
  }
  if (absl::StartsWith(status["State"], "Z") || absl::StartsWith(status["State"], "X")) {
    return Obstacle{false, "has ended, and its parent has not asked for its end yet (a zombie)",
                    ""};
  }
  if (status.count("VmSize") == 0) {
    return Obstacle{false, "is a thread of the kernel, not a program", ""};
  }
  if (pid == getpid()) return Obstacle{false, "is tpctl itself", ""};
  // What may be looked at may be read.
  const std::vector<Mapping> mappings = MappingsOf(pid);
  if (mappings.empty()) return WhyNotPermitted(pid);
  if (std::string why = WhyNotPreloaded(folder + "/exe"); !why.empty()) {
    return Obstacle{false, why + ": the collector cannot be in it",
                    "build it for this machine's glibc, linked dynamically"};
  }
  if (status["TracerPid"] != "0") {
    pid_t tracer = 0;
    (void)absl::SimpleAtoi(status["TracerPid"], &tracer);
    return Obstacle{false, absl::StrCat("is being traced by ", NameOfProcess(tracer)),
                    "end the debugger, strace or the like, and try again"};
  }
  if (!MayTraceOthers()) {
    const std::string scope = ReadWhole("/proc/sys/kernel/yama/ptrace_scope");
    const bool is_restricted = !scope.empty() && scope[0] != '0';
    if (is_restricted || !IsOurs(status)) return WhyNotPermitted(pid);
  }
  if (!HasCudaDriver(pid)) {
    return Obstacle{false, "has not loaded the CUDA driver: there is nothing to capture",
                    "wait until it uses CUDA; some programs never do, or only their children"};
  }
  if (status["Seccomp"] == "1") {
    return Obstacle{false, "may make next to no system call (seccomp, strict)", ""};
  }
  if (absl::StrContains(status["x86_Thread_features"], "shstk")) {
    return Obstacle{false, "has a shadow stack, which forbids to borrow its threads",
                    "start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off, or with `tpctl run`"};
  }
  struct stat links;
  if (stat((folder + "/root/proc/self").c_str(), &links) != 0 &&
      lstat((folder + "/root/proc/self").c_str(), &links) != 0) {
    return Obstacle{false, "has no /proc in its mount namespace, where the library is loaded from",
                    "start it with `tpctl run`, or mount /proc there"};
  }
  return std::nullopt;
}

}  // namespace tp

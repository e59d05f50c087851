#include "tools/doctor/process.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "collector/cupti/other_profilers.h"
#include "tools/doctor/program_file.h"

namespace tp {
namespace {

using Level = Finding::Level;

constexpr absl::string_view kCollector = "libtpcollect.so";

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
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

// As the process was started: what it has set itself since does not show.
std::map<std::string, std::string> EnvironmentOf(const std::string& folder) {
  std::map<std::string, std::string> environment;
  const std::string text = ReadWhole(folder + "/environ");
  for (const absl::string_view variable : absl::StrSplit(text, '\0', absl::SkipEmpty())) {
    environment.emplace(absl::StrSplit(variable, absl::MaxSplits('=', 1)));
  }
  return environment;
}

// Files that are mapped.
std::set<std::string> MappedFiles(const std::string& folder) {
  std::set<std::string> files;
  for (const absl::string_view line : absl::StrSplit(ReadWhole(folder + "/maps"), '\n')) {
    const size_t path = line.find('/');
    if (path != line.npos) files.emplace(line.substr(path));
  }
  return files;
}

std::string FileOf(absl::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

std::vector<std::string> Named(const std::set<std::string>& files, absl::string_view beginning) {
  std::vector<std::string> named;
  for (const std::string& file : files) {
    if (absl::StartsWith(FileOf(file), beginning)) named.push_back(file);
  }
  return named;
}

void ExamineCollector(const std::map<std::string, std::string>& environment,
                      const std::string& socket, const std::string& why_not_preloaded,
                      ExaminedProcess* process) {
  Findings& findings = process->findings;
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (!why_not_preloaded.empty()) {
    findings.push_back({Level::kProblem, "program",
                        absl::StrCat(why_not_preloaded, ": the collector cannot be in it"),
                        "build it for this machine's glibc, linked dynamically"});
    return;
  }
  if (!process->has_collector) {
    const bool was_asked_for = absl::StrContains(variable("LD_PRELOAD"), kCollector);
    findings.push_back(
        {Level::kProblem, "collector",
         was_asked_for ? absl::StrCat("LD_PRELOAD names it (", variable("LD_PRELOAD"),
                                      "), but it is not in the process")
                       : "is not in the process",
         was_asked_for ? "see whether the file is there for the process, with an absolute path; "
                         "setuid programs take no LD_PRELOAD"
                       : "attach to it, or start the program with `tpctl run` or LD_PRELOAD"});
    return;
  }
  if (variable("TP_COLLECT") == "off") {
    findings.push_back({Level::kProblem, "collector", "TP_COLLECT is off: it does nothing",
                        "start the program without that"});
    return;
  }
  findings.push_back({Level::kFine, "collector", "is in the process", ""});
  if (const std::string theirs = variable("TP_SOCKET"); !theirs.empty() && theirs != socket) {
    findings.push_back({Level::kNote, "daemon",
                        absl::StrCat("the process looks for it at ", theirs, ", not at ", socket),
                        absl::StrCat("TP_SOCKET=", theirs, " tpctl ...")});
  }
}

void ExamineCuda(const std::set<std::string>& files, ExaminedProcess* process) {
  Findings& findings = process->findings;
  if (!process->has_driver) {
    findings.push_back({Level::kProblem, "CUDA",
                        "the process has not loaded the CUDA driver: there is nothing to capture",
                        "wait until it uses CUDA; some programs never do, or only their children"});
    return;
  }
  const std::vector<std::string> cupti = Named(files, "libcupti.so");
  findings.push_back({Level::kFine, "CUDA",
                      absl::StrCat(absl::StrJoin(Named(files, "libcuda.so"), ", "),
                                   cupti.empty() ? "; no CUPTI is loaded"
                                                 : absl::StrCat("; ", absl::StrJoin(cupti, ", "))),
                      ""});
  std::set<std::string> profilers;
  for (const std::string& file : files) {
    const std::string profiler(collect::ProfilerIn(file));
    if (!profiler.empty()) profilers.insert(absl::StrCat(profiler, " (", FileOf(file), ")"));
  }
  if (profilers.empty()) return;
  findings.push_back({Level::kNote, "other profilers",
                      absl::StrCat("their libraries are loaded: ", absl::StrJoin(profilers, ", "),
                                   "; while one profiles, it may have CUPTI for itself"),
                      "TP_PRIORITY=us takes CUPTI from it, for programs started with that"});
}

absl::Status NotOurs(const std::string& process) {
  return absl::PermissionDeniedError(absl::StrCat(
      process, " is not to be looked at: it is another user's, or has more rights than you; ",
      geteuid() != 0 ? "root may" : "as root you lack CAP_SYS_PTRACE here (a container)"));
}

}  // namespace

absl::StatusOr<ExaminedProcess> ExamineProcess(pid_t pid, const std::string& socket) {
  const std::string folder = absl::StrCat("/proc/", pid);
  const std::map<std::string, std::string> status = StatusOf(folder);
  const auto state = status.find("State");
  // A thread's number has a folder as well.
  if (state == status.end() || status.at("Tgid") != absl::StrCat(pid)) {
    // The system may hide what is another user's (hidepid).
    if (state == status.end() && kill(pid, 0) != 0 && errno == EPERM) {
      return NotOurs(absl::StrCat(pid));
    }
    return absl::NotFoundError(absl::StrCat("no process ", pid, " runs"));
  }
  ExaminedProcess process;
  process.command =
      absl::StrReplaceAll(ReadWhole(folder + "/cmdline"), {{std::string(1, '\0'), " "}});
  absl::StripTrailingAsciiWhitespace(&process.command);
  if (process.command.empty()) process.command = status.at("Name");
  if (absl::StartsWith(state->second, "Z")) {
    process.findings.push_back(
        {Level::kProblem, "process",
         "has ended, and its parent has not asked for its end yet (a zombie)", ""});
    return process;
  }
  errno = 0;
  std::ifstream maps(folder + "/maps");
  if (maps.peek() == std::ifstream::traits_type::eof()) {
    if (errno == EACCES || errno == EPERM) {
      return NotOurs(absl::StrCat(pid, " (", process.command, ")"));
    }
    process.findings.push_back(
        {Level::kProblem, "process", "is a thread of the kernel, not a program", ""});
    return process;
  }
  const std::set<std::string> files = MappedFiles(folder);
  process.has_collector = !Named(files, kCollector).empty();
  process.has_driver = !Named(files, "libcuda.so").empty();
  ExamineCollector(EnvironmentOf(folder), socket, WhyNotPreloaded(folder + "/exe"), &process);
  ExamineCuda(files, &process);
  if (state->second[0] == 'T' || state->second[0] == 't') {
    process.findings.push_back({Level::kNote, "process",
                                "is stopped: it does nothing until it goes on", "kill -CONT PID"});
  }
  return process;
}

}  // namespace tp

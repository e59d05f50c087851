// `tpctl run -- COMMAND`: traces a command from its start and sums up at its end. Everything of
// ours goes to stderr: stdout is the command's.
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/present/command.h"
#include "analyzer/present/table.h"
#include "tools/control/child_process.h"
#include "tools/control/command.h"
#include "tools/control/daemon_process.h"
#include "tools/control/exit_status.h"
#include "tools/control/installed_files.h"
#include "tools/control/output.h"
#include "tools/control/preload.h"
#include "tools/control/query_client.h"
#include "tools/control/recording.h"
#include "tools/control/screen_columns.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

constexpr int kRows = 10;
constexpr size_t kMostProcesses = 8;
// What a process that ended has sent is read by then.
constexpr std::chrono::milliseconds kLastBatches{2000};
// As is the hello of a process that has just begun and ended.
constexpr std::chrono::milliseconds kLateHello{300};
constexpr std::chrono::milliseconds kBetweenTries{20};

int64_t MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The parent of a living process; 0 if there is none.
pid_t ParentOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string stat((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  char state = 0;
  pid_t parent = 0;
  std::istringstream(stat.substr(name_end + 1)) >> state >> parent;
  return parent;
}

// Whether `process` belongs to the command: it was first seen after the start, and is, if it still
// lives, a descendant of ours. A process that has ended can no longer be asked for its parents; it
// counts, and the summary names it.
bool IsOurs(const query::Process& process, pid_t command, int64_t start_ns) {
  if (process.connected_ns() < start_ns) return false;
  if (process.pid() == command || process.state() == query::GONE) return true;
  pid_t pid = static_cast<pid_t>(process.pid());
  for (int depth = 0; pid > 1 && depth < 100; ++depth) {
    if (pid == getpid() || pid == command) return true;
    pid = ParentOf(pid);
  }
  return false;
}

absl::StatusOr<std::vector<query::Process>> OurProcesses(QueryClient* client, pid_t command,
                                                         int64_t start_ns) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    absl::StatusOr<query::Processes> processes = client->AskProcesses();
    if (!processes.ok()) return processes.status();
    std::vector<query::Process> ours;
    bool ended = true;
    for (const query::Process& process : processes->processes()) {
      if (!IsOurs(process, command, start_ns)) continue;
      ours.push_back(process);
      if (process.pid() == command) ended = ended && process.state() == query::GONE;
    }
    const auto waited = std::chrono::steady_clock::now() - begin;
    const auto patience = ours.empty() ? kLateHello : kLastBatches;
    if ((ended && !ours.empty()) || waited >= patience) {
      std::stable_sort(ours.begin(), ours.end(), [](const auto& a, const auto& b) {
        return a.device_time_ns() > b.device_time_ns();
      });
      return ours;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

absl::Status PrintView(QueryClient* client, int64_t pid, query::View view, std::ostream& errors) {
  query::TableRequest request;
  request.set_view(view);
  request.set_pid(pid);
  const absl::StatusOr<query::Table> table = client->AskTable(request);
  if (!table.ok()) return table.status();
  if (RowCount(*table) == 0) return absl::OkStatus();
  TextOptions options;
  options.row_limit = kRows;
  if (view == query::OPERATIONS && table->self_device_time_total_ns() > 0) {
    options.sort_by = "self_device_time_total";
  }
  const absl::StatusOr<std::string> text =
      TableText(*table, options, Format::kTable, /*to_terminal=*/true);
  if (!text.ok()) return text.status();
  errors << *text;
  if (!text->empty() && text->back() != '\n') errors << '\n';
  if (RowCount(*table) > kRows) {
    errors << absl::StrFormat("(%d of %d %s: `tpctl table --pid %d --view %s` shows all)\n", kRows,
                              RowCount(*table), ViewName(view), pid, ViewName(view));
  }
  if (view == query::OPERATIONS) return absl::OkStatus();
  for (const std::string& notice : Notices(*table)) errors << notice << "\n";
  return absl::OkStatus();
}

absl::Status PrintSummary(pid_t command, int64_t start_ns, std::ostream& errors) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::vector<query::Process>> processes =
      OurProcesses(&*client, command, start_ns);
  if (!processes.ok()) return processes.status();
  if (processes->empty()) {
    errors << "tpctl: nothing was captured: the command made no CUDA call, or ended before it "
              "could send "
              "any (abort, _exit, a signal)\n";
    return absl::OkStatus();
  }
  size_t printed = 0;
  for (const query::Process& process : *processes) {
    if (printed == kMostProcesses) {
      errors << absl::StrFormat("\ntpctl: and %d more processes: see `tpctl ps`\n",
                                processes->size() - printed);
      break;
    }
    ++printed;
    errors << absl::StrFormat("\ntpctl: process %d, %s\n", process.pid(),
                              EscapeForTerminal(ShortCommand(process.command())));
    if (!process.reason().empty()) {
      errors << "tpctl: nothing is captured in it: " << EscapeForTerminal(process.reason()) << "\n";
    } else if (EventCount(process) == 0) {
      errors << "tpctl: it made no CUDA call that was captured\n";
    }
    for (query::View view : {query::OPERATIONS, query::KERNELS}) {
      const absl::Status shown = PrintView(&*client, process.pid(), view, errors);
      if (!shown.ok()) return shown;
    }
  }
  return absl::OkStatus();
}

struct RunArguments {
  bool with_cublas = false;
  std::string output;  // A capture file; empty: none.
};

// Of the command and all that it starts, however deep: what loses its parent comes to us.
absl::StatusOr<std::unique_ptr<Recording>> BeginRecording(const std::string& path) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  query::RecordRequest request;
  request.set_descendants(true);
  return Recording::Begin(path, request);
}

int RunTraced(const std::vector<std::string>& command, const RunArguments& arguments,
              std::ostream& errors) {
  if (command.empty()) {
    return Fail(absl::InvalidArgumentError(
                    "run needs a command, as in `tpctl run -- ./app` (see `tpctl run --help`)"),
                errors);
  }
  const absl::StatusOr<std::string> collector = FindCollector();
  if (!collector.ok()) return Fail(collector.status(), errors);
  std::vector<std::string> shims;
  if (arguments.with_cublas) {
    const absl::StatusOr<std::string> cublas = FindCublasShim(*collector);
    if (!cublas.ok()) return Fail(cublas.status(), errors);
    shims.push_back(*cublas);
  }
  const absl::StatusOr<Preload> preload = PreloadOf(*collector, shims);
  if (!preload.ok()) return Fail(preload.status(), errors);
  const absl::StatusOr<RunningDaemon> daemon = EnsureDaemon();
  if (!daemon.ok()) return Fail(daemon.status(), errors);
  for (const std::string& note : preload->notes) errors << "tpctl: " << note << "\n";

  std::unique_ptr<Recording> recording;
  if (!arguments.output.empty()) {
    absl::StatusOr<std::unique_ptr<Recording>> begun = BeginRecording(arguments.output);
    if (!begun.ok()) return Fail(begun.status(), errors);
    recording = *std::move(begun);
  }
  const int64_t start_ns = MonotonicNow();
  std::optional<RecordingThread> recording_thread;
  const ChildEnd end = RunChild(command, preload->variables, [&] {
    if (recording != nullptr) recording_thread.emplace(recording.get());
  });
  if (recording != nullptr) {
    const absl::Status recorded =
        recording_thread.has_value() ? recording_thread->End() : recording->End();
    if (!recorded.ok()) Fail(recorded, errors);
  }
  if (end.start_error != 0) {
    errors << absl::StrFormat("tpctl: cannot run %s: %s\n", EscapeForTerminal(command[0]),
                              strerror(end.start_error));
    return end.exit_status;
  }
  // The command's exit status is what counts: a summary that fails is told, and changes nothing.
  const absl::Status summary = PrintSummary(end.pid, start_ns, errors);
  if (!summary.ok()) Fail(summary, errors);
  if (recording != nullptr) {
    errors << "\ntpctl: " << EscapeForTerminal(recording->Summary()) << "\n";
  }
  return end.exit_status;
}

}  // namespace

void AddRunCommand(CLI::App* app, const std::vector<std::string>* traced, Action* action) {
  CLI::App* command = AddCommand(
      app, "run", "Trace a command from its start and sum up at its end",
      "  tpctl run -- ./train --epochs 1\n"
      "  tpctl run -- python train.py > log     the summary goes to stderr\n"
      "  tpctl run -o epoch.tpcap -- ./train    what it does goes into a capture file, too\n"
      "  tpctl run --cublas -- ./app            cuBLAS's products as operations, with their flops\n"
      "\n"
      "Starts the daemon if there is none. The exit status is the command's; 128 + N if signal N\n"
      "ended it, 127 if it was not found, 126 if it cannot be run. TP_COLLECTOR names\n"
      "libtpcollect.so if it is not beside tpctl, TPD the daemon.");
  const auto arguments = std::make_shared<RunArguments>();
  command->add_flag("--cublas", arguments->with_cublas,
                    "Make an operation of each matrix product of cuBLAS, with shapes and flops");
  AddFileOption(command, "-o,--output", &arguments->output,
                "Write a capture file of the command and all that it starts");
  // For the help alone: the command never gets here.
  command->add_option("COMMAND", "The command and its arguments, after --")->type_name("...");
  command->callback([=] {
    *action = [traced, arguments](std::ostream&, std::ostream& errors) {
      return RunTraced(*traced, *arguments, errors);
    };
  });
}

}  // namespace tp

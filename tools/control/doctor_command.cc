// `tpctl doctor`: what would stop capturing here, or does in a process, and the remedy.
#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "analyzer/present/command.h"
#include "analyzer/present/process_list.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/installed_files.h"
#include "tools/control/query_client.h"
#include "tools/control/terminal_text.h"
#include "tools/doctor/machine.h"
#include "tools/doctor/process.h"
#include "tools/inject/obstacles.h"

namespace tp {
namespace {

using Level = Finding::Level;

const char* Word(Level level) {
  switch (level) {
    case Level::kFine:
      return "fine";
    case Level::kNote:
      return "note";
    case Level::kProblem:
      return "problem";
  }
  return "";
}

int Print(const Findings& findings, std::ostream& out) {
  constexpr int kWordWidth = 9, kSubjectWidth = 17;
  int problems = 0;
  for (const Finding& finding : findings) {
    problems += finding.level == Level::kProblem ? 1 : 0;
    out << PadRight(Word(finding.level), kWordWidth) << PadRight(finding.subject, kSubjectWidth)
        << EscapeForTerminal(finding.text) << "\n";
    if (finding.remedy.empty()) continue;
    out << std::string(kWordWidth + kSubjectWidth, ' ') << "-> "
        << EscapeForTerminal(finding.remedy) << "\n";
  }
  return problems == 0 ? kDone : kWorkFailed;
}

// The daemon, and what it knows of the process, if that carries the collector.
void ExamineDaemon(int64_t pid, const ExaminedProcess* process, Findings* findings) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) {
    findings->push_back({Level::kProblem, "daemon", std::string(client.status().message()), ""});
    return;
  }
  const absl::StatusOr<query::Daemon> daemon = client->AskDaemon();
  if (!daemon.ok()) {
    findings->push_back({Level::kProblem, "daemon", std::string(daemon.status().message()), ""});
    return;
  }
  findings->push_back({Level::kFine, "daemon",
                       absl::StrCat("runs, pid ", daemon->pid(), ", version ", daemon->version(),
                                    ", at ", client->path()),
                       ""});
  if (process == nullptr || !process->has_collector) return;
  const absl::StatusOr<query::Processes> known = client->AskProcesses();
  if (!known.ok()) return;
  for (const query::Process& one : known->processes()) {
    if (one.pid() != pid || one.state() == query::GONE) continue;
    const bool captures = one.state() == query::CAPTURING;
    const bool dormant = one.state() == query::DORMANT;
    findings->push_back(
        {captures || dormant ? Level::kFine : Level::kProblem, "capturing",
         absl::StrCat(StateName(one.state()), one.reason().empty() ? "" : ": ", one.reason()),
         dormant ? absl::StrCat("tpctl start ", pid) : ""});
    for (const std::string& note : one.notes()) {
      findings->push_back({Level::kNote, "capturing", note, ""});
    }
    return;
  }
  if (!process->has_driver) return;  // It connects when CUDA begins.
  findings->push_back({Level::kProblem, "capturing", "the daemon does not know the process",
                       "see whether it uses this socket, runs as the daemon's user, and may make "
                       "sockets (containers, seccomp)"});
}

// Whether `tpctl attach` would begin; what it finds out only by doing it is not known here.
void ExamineAttaching(int64_t pid, Findings* findings) {
  const std::optional<Obstacle> obstacle = ObstacleToAttach(static_cast<pid_t>(pid));
  if (!obstacle.has_value()) {
    findings->push_back({Level::kFine, "attaching", "nothing is seen that would stand in the way",
                         absl::StrCat("tpctl attach ", pid)});
  } else {
    findings->push_back({Level::kProblem, "attaching", obstacle->what, obstacle->remedy});
  }
}

int Examine(int64_t pid, std::ostream& out, std::ostream& errors) {
  Findings findings;
  if (pid == 0) {
    const absl::StatusOr<std::string> collector = FindCollector();
    findings =
        ExamineMachine(collector.ok() ? *collector : "", std::string(collector.status().message()));
    ExamineDaemon(0, nullptr, &findings);
    return Print(findings, out);
  }
  const absl::StatusOr<std::string> socket = SocketPath();
  if (!socket.ok()) return Fail(socket.status(), errors);
  const absl::StatusOr<ExaminedProcess> process = ExamineProcess(static_cast<pid_t>(pid), *socket);
  if (!process.ok()) return Fail(process.status(), errors);
  out << pid << " (" << EscapeForTerminal(ShortCommand(process->command)) << ")\n";
  findings = process->findings;
  if (!process->has_collector) ExamineAttaching(pid, &findings);
  ExamineDaemon(pid, &*process, &findings);
  return Print(findings, out);
}

}  // namespace

void AddDoctorCommand(CLI::App* app, Action* action) {
  const auto pid = std::make_shared<int64_t>(0);
  CLI::App* command =
      AddCommand(app, "doctor", "What stands in the way of capturing, and the remedy",
                 "  tpctl doctor          this machine, for programs started from here\n"
                 "  tpctl doctor 4242     a process that runs\n");
  command->add_option("PID", *pid, "A process")
      ->check(CLI::Range(int64_t{1}, int64_t{INT32_MAX}))
      ->type_name("");
  command->callback([=] {
    *action = [pid](std::ostream& out, std::ostream& errors) { return Examine(*pid, out, errors); };
  });
}

}  // namespace tp

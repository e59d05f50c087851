// `tpctl attach` and `tpctl detach`: to begin with a process that was started without us, and to
// leave it as it was.
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "analyzer/present/command.h"
#include "analyzer/present/process_list.h"
#include "proto/activity_set.h"
#include "proto/attach.h"
#include "tools/control/command.h"
#include "tools/control/daemon_process.h"
#include "tools/control/exit_status.h"
#include "tools/control/installed_files.h"
#include "tools/control/query_client.h"
#include "tools/control/terminal_text.h"
#include "tools/inject/injector.h"
#include "tools/inject/obstacles.h"

namespace tp {
namespace {

// For a collector to say how it fares, after it has greeted.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::milliseconds kDetachDeadline{12'000};
constexpr std::chrono::milliseconds kBetweenLooks{10};

struct AttachOptions {
  int64_t pid = 0;
  std::string duration, activities;
};

std::string Who(const query::Process& process) {
  return absl::StrFormat("%d (%s)", process.pid(),
                         EscapeForTerminal(ShortCommand(process.command())));
}

absl::StatusOr<int64_t> DurationNs(const std::string& text) {
  if (text.empty()) return 0;
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration <= absl::ZeroDuration() ||
      duration > absl::Hours(24 * 365)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--duration is '", text, "', not a time such as 500ms, 10s, 5m or 1h30m"));
  }
  return absl::ToInt64Nanoseconds(duration);
}

absl::Status CheckActivities(const std::string& words) {
  std::vector<std::string> unknown;
  ParseActivities(words, &unknown);
  if (unknown.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", unknown.front(), "': not to be collected (`tpctl start --activities x` names what is)"));
}

// The process as the daemon knows it, if its collector is connected.
absl::StatusOr<std::optional<query::Process>> Connected(QueryClient* client, int64_t pid) {
  const absl::StatusOr<query::Processes> known = client->AskProcesses();
  if (!known.ok()) return known.status();
  for (const query::Process& process : known->processes()) {
    if (process.pid() != pid || process.state() == query::GONE) continue;
    if (process.state() == query::DETACHED || process.state() == query::PROCESS_STATE_UNKNOWN) {
      continue;
    }
    return process;
  }
  return std::nullopt;
}

int Report(const query::Process& process, const std::string& how, const AttachOptions& options,
           std::ostream& out, std::ostream& errors) {
  if (process.state() != query::CAPTURING) {
    errors << "tpctl: " << Who(process) << " is attached, but not captured; it is "
           << StateName(process.state()) << ": " << EscapeForTerminal(process.reason()) << "\n";
    return kWorkFailed;
  }
  out << Who(process) << " is captured" << how;
  if (!options.duration.empty()) out << ", for " << options.duration;
  out << "\n";
  for (const std::string& note : process.notes()) {
    errors << "note: " << EscapeForTerminal(note) << "\n";
  }
  return kDone;
}

// One that carries a collector which is connected: a word to it will do.
int Switch(QueryClient* client, int64_t duration_ns, const AttachOptions& options,
           std::ostream& out, std::ostream& errors) {
  query::CaptureRequest request;
  request.set_on(true);
  request.add_pids(options.pid);
  request.set_activities(options.activities);
  request.set_duration_ns(duration_ns);
  const absl::StatusOr<query::Captures> captures = client->Capture(request);
  if (!captures.ok()) return Fail(captures.status(), errors);
  if (captures->results().empty()) {
    return Fail(absl::NotFoundError(absl::StrCat(options.pid, " has ended meanwhile")), errors);
  }
  return Report(captures->results(0).process(), ": the collector was in it already", options, out,
                errors);
}

int Attach(const AttachOptions& options, std::ostream& out, std::ostream& errors) {
  const absl::StatusOr<int64_t> duration_ns = DurationNs(options.duration);
  if (!duration_ns.ok()) return Fail(duration_ns.status(), errors);
  if (absl::Status words = CheckActivities(options.activities); !words.ok()) {
    return Fail(words, errors);
  }
  const absl::StatusOr<std::string> library = FindCollector();
  if (!library.ok()) return Fail(library.status(), errors);
  if (const absl::StatusOr<RunningDaemon> daemon = EnsureDaemon(); !daemon.ok()) {
    return Fail(daemon.status(), errors);
  }
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return Fail(client.status(), errors);
  const auto known = Connected(&*client, options.pid);
  if (!known.ok()) return Fail(known.status(), errors);
  if (known->has_value()) return Switch(&*client, *duration_ns, options, out, errors);

  AttachArguments arguments = {};
  arguments.duration_ns = *duration_ns;
  if (options.activities.size() >= sizeof(arguments.activities) ||
      client->path().size() >= sizeof(arguments.socket_path)) {
    return Fail(absl::InvalidArgumentError("--activities is too long"), errors);
  }
  memcpy(arguments.socket_path, client->path().data(), client->path().size());
  memcpy(arguments.activities, options.activities.data(), options.activities.size());
  const std::string name = NameOfProcess(static_cast<pid_t>(options.pid));
  const absl::StatusOr<Injection> injection =
      Inject(static_cast<pid_t>(options.pid), *library, arguments);
  if (!injection.ok()) {
    return Fail(absl::Status(injection.status().code(),
                             absl::StrCat(name, " ", injection.status().message())),
                errors);
  }
  const absl::Status adopted = client->Adopt(options.pid, injection->socket);
  close(injection->socket);
  if (!adopted.ok()) return Fail(adopted, errors);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const auto process = Connected(&*client, options.pid);
    if (!process.ok()) return Fail(process.status(), errors);
    if (process->has_value()) {
      const std::string how =
          absl::StrFormat(": attached%s, one of its threads was stopped for %.1f ms",
                          injection->was_there ? " to the collector that was in it" : "",
                          static_cast<double>(injection->stopped.count()) / 1e6);
      return Report(**process, how, options, out, errors);
    }
    if (std::chrono::steady_clock::now() >= end) {
      return Fail(absl::DeadlineExceededError(absl::StrCat(
                      name,
                      " has the collector, which has not told the daemon its state: see "
                      "`tpctl ps`")),
                  errors);
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

int Detach(int64_t pid, std::ostream& out, std::ostream& errors) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect(kDetachDeadline);
  if (!client.ok()) return Fail(client.status(), errors);
  query::DetachRequest request;
  request.add_pids(pid);
  const absl::StatusOr<query::Captures> left = client->Detach(request);
  if (!left.ok()) return Fail(left.status(), errors);
  if (left->results().empty()) {
    return Fail(absl::NotFoundError(absl::StrCat(pid, " has ended meanwhile")), errors);
  }
  const query::Process& process = left->results(0).process();
  switch (process.state()) {
    case query::DETACHED:
      out << Who(process)
          << " is left alone: no thread, no connection, no hook of ours; what was captured stays "
             "(the library stays mapped, and does nothing)\n";
      for (const std::string& note : process.notes()) {
        errors << "note: " << EscapeForTerminal(note) << "\n";
      }
      return kDone;
    case query::GONE:
      errors << "tpctl: " << Who(process) << " has ended\n";
      return kWorkFailed;
    default:
      errors << "tpctl: " << Who(process) << " has not left yet; it is "
             << StateName(process.state()) << ": "
             << (process.reason().empty() ? "its collector is slow, or of an older version"
                                          : EscapeForTerminal(process.reason()))
             << "\n";
      return kWorkFailed;
  }
}

}  // namespace

void AddAttachCommands(CLI::App* app, Action* action) {
  const auto options = std::make_shared<AttachOptions>();
  CLI::App* attach = AddCommand(app, "attach", "Begin with a process that runs already",
                                "  tpctl attach 4242\n"
                                "  tpctl attach 4242 --duration 10s     leaves it by itself\n"
                                "  tpctl doctor 4242     what would stand in the way\n");
  attach->add_option("PID", options->pid, "The process")
      ->required()
      ->check(CLI::Range(int64_t{1}, int64_t{INT32_MAX}))
      ->type_name("");
  attach->add_option("--duration", options->duration, "Leave after that time (default: stay)")
      ->type_name("TIME");
  attach->add_option("--activities", options->activities, "What to collect, as in TP_ACTIVITIES")
      ->type_name("WORDS");
  attach->callback([=] {
    *action = [options](std::ostream& out, std::ostream& errors) {
      return Attach(*options, out, errors);
    };
  });

  const auto pid = std::make_shared<int64_t>(0);
  CLI::App* detach = AddCommand(app, "detach", "Leave a process; what was captured stays",
                                "  tpctl detach 4242\n");
  detach->add_option("PID", *pid, "The process")
      ->required()
      ->check(CLI::Range(int64_t{1}, int64_t{INT32_MAX}))
      ->type_name("");
  detach->callback([=] {
    *action = [pid](std::ostream& out, std::ostream& errors) { return Detach(*pid, out, errors); };
  });
}

}  // namespace tp

// `tpctl start` and `tpctl stop`: whether a process that carries the collector is captured.
#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/present/command.h"
#include "analyzer/present/process_list.h"
#include "proto/activity_set.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/query_client.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

struct Arguments {
  bool on = false;
  std::vector<std::string> targets;  // Numbers of processes, or parts of their command lines.
  bool all = false;
  std::string activities;
};

std::optional<int64_t> AsPid(const std::string& target) {
  int64_t pid = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), pid);
  if (error != std::errc() || end != target.data() + target.size() || pid <= 0) return std::nullopt;
  return pid;
}

// The processes that are meant; NotFound says which there are.
absl::StatusOr<query::CaptureRequest> RequestOf(const Arguments& arguments, QueryClient* client) {
  query::CaptureRequest request;
  request.set_on(arguments.on);
  request.set_activities(arguments.activities);
  if (arguments.all) return request;
  std::set<int64_t> pids;
  std::optional<query::Processes> known;
  for (const std::string& target : arguments.targets) {
    if (const std::optional<int64_t> pid = AsPid(target); pid.has_value()) {
      pids.insert(*pid);
      continue;
    }
    if (!known.has_value()) {
      absl::StatusOr<query::Processes> processes = client->AskProcesses();
      if (!processes.ok()) return processes.status();
      known = *std::move(processes);
    }
    const size_t before = pids.size();
    for (const query::Process& process : known->processes()) {
      if (process.state() == query::GONE) continue;
      if (absl::StrContains(process.command(), target)) pids.insert(process.pid());
    }
    if (pids.size() == before) {
      return absl::NotFoundError(absl::StrCat("no running process has '", target,
                                              "' in its command; ", KnownProcesses(*known)));
    }
  }
  for (const int64_t pid : pids) request.add_pids(pid);
  return request;
}

// What was done, or why it was not.
bool Report(const Arguments& arguments, const query::CaptureResult& result, std::ostream& out,
            std::ostream& errors) {
  const bool on = arguments.on;
  const query::Process& process = result.process();
  const std::string who =
      absl::StrFormat("%d (%s)", process.pid(), EscapeForTerminal(ShortCommand(process.command())));
  const std::string why =
      process.reason().empty() ? "" : absl::StrCat(": ", EscapeForTerminal(process.reason()));
  const bool captures = process.state() == query::CAPTURING;
  if (process.state() == query::GONE) {
    errors << "tpctl: " << who << " has ended\n";
  } else if (!result.answered() && captures != on) {
    errors << "tpctl: " << who << " has not answered, and may still do it: it is "
           << StateName(process.state()) << why << "\n";
  } else if (on && captures) {
    out << who << " is captured";
    if (!arguments.activities.empty()) out << ": " << absl::StrJoin(process.activities(), ", ");
    out << "\n";
    return true;
  } else if (!on && !captures) {
    out << who << " is not captured: what was so far stays\n";
    return true;
  } else if (on) {
    errors << "tpctl: " << who << " is not captured, but " << StateName(process.state()) << why
           << "\n";
  } else {
    errors << "tpctl: " << who << " is captured again: another command has come in between\n";
  }
  return false;
}

absl::Status CheckActivities(std::string_view words) {
  std::vector<std::string> unknown;
  ParseActivities(words, &unknown);
  if (unknown.empty()) return absl::OkStatus();
  std::vector<std::string> known;
  for (size_t i = 0; i < kActivities; ++i) {
    known.emplace_back(ActivityWord(static_cast<Activity>(i)));
  }
  return absl::InvalidArgumentError(absl::StrCat("'", absl::StrJoin(unknown, "', '"),
                                                 "': not to be collected; there are ",
                                                 absl::StrJoin(known, ", ")));
}

int Capture(const Arguments& arguments, std::ostream& out, std::ostream& errors) {
  if (arguments.all == !arguments.targets.empty()) {
    return Fail(absl::InvalidArgumentError(
                    absl::StrCat("say which: PIDs, parts of commands, or --all (see `tpctl ",
                                 arguments.on ? "start" : "stop", " --help`)")),
                errors);
  }
  if (absl::Status status = CheckActivities(arguments.activities); !status.ok()) {
    return Fail(status, errors);
  }
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return Fail(client.status(), errors);
  const absl::StatusOr<query::CaptureRequest> request = RequestOf(arguments, &*client);
  if (!request.ok()) return Fail(request.status(), errors);
  const absl::StatusOr<query::Captures> captures = client->Capture(*request);
  if (!captures.ok()) return Fail(captures.status(), errors);
  if (captures->results().empty()) {
    const absl::StatusOr<query::Processes> known = client->AskProcesses();
    if (!known.ok()) return Fail(known.status(), errors);
    return Fail(
        absl::NotFoundError(absl::StrCat("no traced process runs; ", KnownProcesses(*known))),
        errors);
  }
  bool done = true;
  for (const query::CaptureResult& result : captures->results()) {
    done &= Report(arguments, result, out, errors);
  }
  return done ? kDone : kWorkFailed;
}

CLI::App* AddOne(CLI::App* app, bool on, const std::string& description,
                 const std::string& examples, Action* action) {
  const auto arguments = std::make_shared<Arguments>();
  arguments->on = on;
  CLI::App* command = AddCommand(app, on ? "start" : "stop", description, examples);
  command->add_option("PROCESS", arguments->targets, "PIDs, or parts of command lines")
      ->type_name("...");
  command->add_flag("--all", arguments->all, "All traced processes that run");
  if (on) {
    command
        ->add_option("--activities", arguments->activities,
                     "What to collect from now on, as in TP_ACTIVITIES (default: as before)")
        ->type_name("WORDS");
  }
  command->callback([=] {
    *action = [arguments](std::ostream& out, std::ostream& errors) {
      return Capture(*arguments, out, errors);
    };
  });
  return command;
}

}  // namespace

void AddCaptureCommands(CLI::App* app, Action* action) {
  AddOne(app, true, "Begin to capture in processes that carry the collector",
         "  tpctl start 4242\n"
         "  tpctl start 4242 --activities +memory,-driver     also changes what is collected\n"
         "  tpctl start train.py           all whose command line has that in it\n"
         "  TP_COLLECT=dormant tpctl run -- ./train     captures nothing until it is started\n",
         action);
  AddOne(app, false, "Stop capturing; what was captured stays",
         "  tpctl stop 4242\n"
         "  tpctl stop --all\n",
         action);
}

}  // namespace tp

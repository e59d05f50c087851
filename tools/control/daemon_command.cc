// `tpctl daemon start|stop|status`.
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/present/table.h"
#include "analyzer/present/units.h"
#include "tools/control/command.h"
#include "tools/control/daemon_process.h"
#include "tools/control/exit_status.h"
#include "tools/control/quantity.h"
#include "tools/control/query_client.h"
#include "tools/control/table_arguments.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

int Start(std::ostream& out, std::ostream& errors) {
  const absl::StatusOr<RunningDaemon> running = EnsureDaemon();
  if (!running.ok()) {
    // "No daemon" is what this command is for; its failing is failed work.
    Fail(running.status(), errors);
    return absl::IsInvalidArgument(running.status()) ? kBadInput : kWorkFailed;
  }
  out << absl::StrFormat("%s, pid %d, listens at %s\n",
                         running->started ? "The daemon is started" : "The daemon already runs",
                         running->daemon.pid(), EscapeForTerminal(running->daemon.socket()));
  return kDone;
}

int Stop(std::ostream& out, std::ostream& errors) {
  bool stays_activated;
  const absl::Status stopped = StopDaemon(&stays_activated);
  if (!stopped.ok()) return Fail(stopped, errors);
  out << "The daemon is stopped\n";
  if (stays_activated) {
    errors << "tpctl: the next program or command that needs it starts it again; `systemctl stop "
              "tpd.socket` (with --user for your own) ends that\n";
  }
  return kDone;
}

int PrintStatus(Format format, std::ostream& out, std::ostream& errors) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return Fail(client.status(), errors);
  const absl::StatusOr<query::Daemon> daemon = client->AskDaemon();
  if (!daemon.ok()) return Fail(daemon.status(), errors);
  switch (format) {
    case Format::kJson: {
      const nlohmann::json object = {{"pid", daemon->pid()},
                                     {"version", daemon->version()},
                                     {"socket", daemon->socket()},
                                     {"uptime_ns", daemon->uptime_ns()},
                                     {"events", daemon->events()},
                                     {"bytes", daemon->bytes()},
                                     {"connections", daemon->connections()},
                                     {"rejected_connections", daemon->rejected_connections()},
                                     {"memory_bytes", daemon->memory_bytes()},
                                     {"activated", daemon->activated()}};
      out << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
      break;
    }
    case Format::kCsv:
      out << CsvLine({"pid", "version", "uptime_ns", "events", "bytes", "connections",
                      "rejected_connections", "memory_bytes", "socket"})
          << CsvLine({absl::StrCat(daemon->pid()), daemon->version(),
                      absl::StrCat(daemon->uptime_ns()), absl::StrCat(daemon->events()),
                      absl::StrCat(daemon->bytes()), absl::StrCat(daemon->connections()),
                      absl::StrCat(daemon->rejected_connections()),
                      absl::StrCat(daemon->memory_bytes()), daemon->socket()});
      break;
    default:
      out << absl::StrFormat(
          "pid          %d\n"
          "version      %s\n"
          "socket       %s\n"
          "up           %s\n"
          "events       %s\n"
          "received     %s\n"
          "connections  %d (%d rejected)\n"
          "memory       %s\n",
          daemon->pid(), EscapeForTerminal(daemon->version()), EscapeForTerminal(daemon->socket()),
          UptimeText(daemon->uptime_ns()), ExactCountText(static_cast<int64_t>(daemon->events())),
          BytesText(static_cast<int64_t>(daemon->bytes())), daemon->connections(),
          daemon->rejected_connections(), BytesText(static_cast<int64_t>(daemon->memory_bytes())));
  }
  return kDone;
}

}  // namespace

void AddDaemonCommand(CLI::App* app, Action* action) {
  CLI::App* daemon = AddCommand(app, "daemon", "Start, stop or look at the daemon",
                                "  tpctl daemon start\n  tpctl daemon status --format json\n");
  daemon->require_subcommand(1);
  AddCommand(daemon, "start", "Start the daemon, if it does not run yet",
             "  tpctl daemon start\n"
             "  TP_SOCKET=/tmp/mine.sock tpctl daemon start\n")
      ->callback([=] { *action = Start; });
  AddCommand(daemon, "stop", "Stop the daemon; traced programs go on", "  tpctl daemon stop\n")
      ->callback([=] { *action = Stop; });
  const auto format = std::make_shared<Format>(Format::kTable);
  CLI::App* status = AddCommand(daemon, "status", "Say where the daemon listens and what it holds",
                                "  tpctl daemon status\n"
                                "  tpctl daemon status --format json\n");
  AddFormatOption(status, format.get());
  status->callback([=] {
    *action = [format](std::ostream& out, std::ostream& errors) {
      return PrintStatus(*format, out, errors);
    };
  });
}

}  // namespace tp

// tpd, the daemon: takes what the collectors of traced processes send, and answers tpctl.
//
// Exit status: 0 ended (or, detached, listening), 1 could not start, 2 bad arguments, 3 one runs
// there already.
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <stdio.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/serve/daemon.h"
#include "analyzer/serve/listening_socket.h"
#include "analyzer/serve/session_store.h"
#include "proto/socket_path.h"
#include "proto/version.h"
#include "tools/standard_descriptors.h"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitBadArguments = 2;
constexpr int kExitRunsAlready = 3;
constexpr size_t kLogBytes = size_t{4} << 20;
constexpr size_t kOldLogs = 1;

struct Arguments {
  std::string socket;
  std::string log_file;
  bool foreground = false;
  size_t megabytes = tp::StoreLimits::kDefaultMegabytes;
};

int Complain(std::string_view what, int exit_status) {
  fprintf(stderr, "tpd: %.*s\n", static_cast<int>(what.size()), what.data());
  return exit_status;
}

// Where the command line is at fault, says so and returns the exit status; negative: go on.
int Parse(int argc, char** argv, Arguments* arguments) {
  CLI::App app(
      "The daemon of the profiler: collects what traced processes send, and answers tpctl.\n"
      "It goes into the background once it listens.",
      "tpd");
  app.footer(
      "Example: tpd && LD_PRELOAD=libtpcollect.so ./app && tpctl table\n"
      "Exit status: 0 done, 1 failed, 2 bad arguments, 3 a daemon runs there already.");
  app.set_version_flag("--version", std::string("tpd ") + tp::kVersion);
  app.add_option("--socket", arguments->socket,
                 "where to listen (default: $TP_SOCKET, else tpd.sock in /run/tp for root, in "
                 "$XDG_RUNTIME_DIR/tp, or in /tmp/tp-UID)")
      ->type_name("PATH");
  app.add_flag("--foreground", arguments->foreground, "stay, and log to stderr");
  app.add_option("--memory", arguments->megabytes,
                 "what all processes' summaries may take, in MiB; one process at most an eighth")
      ->type_name("MB")
      ->capture_default_str()
      ->check(CLI::Range(tp::StoreLimits::kMinMegabytes, size_t{1} << 22).description(""));
  app.add_option(
         "--log-file", arguments->log_file,
         "where to log (default: in the background the socket's path with .log, else stderr)")
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    std::cout.flush();
    return std::cout.fail() ? Complain("cannot write to standard output", kExitFailed) : 0;
  } catch (const CLI::ParseError& error) {
    return Complain(std::string(error.what()) + " (tpd --help lists the options)",
                    kExitBadArguments);
  }
  return -1;
}

std::string SocketPath(const Arguments& arguments) {
  if (!arguments.socket.empty()) return arguments.socket;
  char path[tp::kSocketPathBytes];
  return tp::DaemonSocketPath(path) ? path : std::string();
}

// The socket that a service manager listens on for us, if there is one (systemd.socket(5)).
absl::StatusOr<std::optional<tp::ListeningSocket>> HandedOver() {
  const int count = sd_listen_fds(/*unset_environment=*/1);
  if (count == 0) return std::nullopt;
  if (count != 1) {
    return absl::InvalidArgumentError("the service manager has to hand over one socket, not " +
                                      std::to_string(count));
  }
  absl::StatusOr<tp::ListeningSocket> socket =
      tp::ListeningSocket::Adopt(tp::FileDescriptor(SD_LISTEN_FDS_START));
  if (!socket.ok()) return socket.status();
  return *std::move(socket);
}

absl::StatusOr<tp::ListeningSocket> MakeSocket(const Arguments& arguments) {
  std::error_code failed;
  const std::string path = std::filesystem::absolute(SocketPath(arguments), failed).string();
  if (failed || path.empty()) {
    return absl::InvalidArgumentError(
        "the socket's path is too long: set a shorter one with --socket or TP_SOCKET");
  }
  return tp::ListeningSocket::Open(path);
}

bool OpenLog(const std::string& file) {
  try {
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
    } else {
      sink = std::make_shared<spdlog::sinks::rotating_file_sink_st>(file, kLogBytes, kOldLogs);
    }
    auto logger = std::make_shared<spdlog::logger>("tpd", std::move(sink));
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
    logger->flush_on(spdlog::level::info);
    spdlog::set_default_logger(std::move(logger));
    return true;
  } catch (const spdlog::spdlog_ex& error) {
    Complain(error.what(), kExitFailed);
    return false;
  }
}

// Leaves the terminal, the folder and the standard streams of whoever started it.
void LeaveCaller() {
  setsid();
  if (chdir("/") != 0) spdlog::warn("cannot leave the working directory");
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
  if (nothing > STDERR_FILENO) close(nothing);
}

int Serve(tp::ListeningSocket socket, size_t megabytes) {
  absl::StatusOr<std::unique_ptr<tp::Daemon>> daemon =
      tp::Daemon::Create(std::move(socket), tp::StoreLimits::FromMegabytes(megabytes));
  if (!daemon.ok()) {
    spdlog::error("{}", std::string(daemon.status().message()));
    return kExitFailed;
  }
  (*daemon)->Run();
  return 0;
}

int Start(int argc, char** argv) {
  Arguments arguments;
  if (const int status = Parse(argc, argv, &arguments); status >= 0) return status;
  signal(SIGPIPE, SIG_IGN);
  umask(077);
  if (absl::Status blocked = tp::Daemon::BlockEndingSignals(); !blocked.ok()) {
    return Complain(std::string(blocked.message()), kExitFailed);
  }

  absl::StatusOr<std::optional<tp::ListeningSocket>> handed_over = HandedOver();
  if (!handed_over.ok()) {
    const absl::Status& why = handed_over.status();
    return Complain(std::string(why.message()),
                    absl::IsAlreadyExists(why) ? kExitRunsAlready : kExitFailed);
  }
  absl::StatusOr<tp::ListeningSocket> socket =
      handed_over->has_value() ? **std::move(handed_over) : MakeSocket(arguments);
  if (!socket.ok()) {
    return Complain(std::string(socket.status().message()),
                    absl::IsAlreadyExists(socket.status()) ? kExitRunsAlready : kExitFailed);
  }

  const std::string path = socket->path();
  std::string log_file = arguments.log_file;
  if (log_file.empty() && !arguments.foreground) {
    log_file = path + ".log";
  }
  std::error_code failed;
  if (!log_file.empty()) log_file = std::filesystem::absolute(log_file, failed).string();
  if (!OpenLog(log_file)) {
    socket->Close();
    return kExitFailed;
  }
  if (arguments.foreground) return Serve(*std::move(socket), arguments.megabytes);

  // The socket listens already: whoever connects from here on is answered by the child, which holds
  // the same socket and lock.
  const pid_t child = fork();
  if (child < 0) {
    socket->Close();
    return Complain("cannot fork", kExitFailed);
  }
  if (child > 0) {
    printf("tpd listens on %s (pid %d, log %s)\n", path.c_str(), child, log_file.c_str());
    fflush(stdout);
    _exit(0);
  }
  LeaveCaller();
  return Serve(*std::move(socket), arguments.megabytes);
}

}  // namespace

int main(int argc, char** argv) {
  tp::OccupyStandardDescriptors();
  // It would write to stderr what a peer sends wrong, as often as it is sent. The daemon's own log
  // tells that, and not without end.
  google::protobuf::SetLogHandler(nullptr);
  try {
    return Start(argc, argv);
  } catch (const std::exception& error) {
    return Complain(error.what(), kExitFailed);
  }
}

#include "tools/control/daemon_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "analyzer/serve/daemon_lock.h"
#include "analyzer/serve/file_descriptor.h"
#include "tools/control/installed_files.h"
#include "tools/control/query_client.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStartDeadline{10};
constexpr std::chrono::seconds kStopDeadline{10};
constexpr std::chrono::milliseconds kDismissDeadline{500};
constexpr std::chrono::milliseconds kBetweenTries{20};
// The daemon's exit status where one runs already.
constexpr int kRunsAlready = 3;

absl::StatusOr<query::Daemon> AskWhoListens() {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return client.status();
  return client->AskDaemon();
}

// Starts `program` in a session of its own, without our terminal. What it says on stderr goes to
// the file `complaints`: a file, not a pipe, since the daemon outlives us and must not get SIGPIPE
// for it.
pid_t Launch(const std::string& program, int complaints) {
  const pid_t child = fork();
  if (child != 0) return child;
  setsid();
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
  }
  dup2(complaints, STDERR_FILENO);
  // The daemon is none of the programs that are to be traced.
  unsetenv("LD_PRELOAD");
  execl(program.c_str(), "tpd", nullptr);
  dprintf(STDERR_FILENO, "%s\n", strerror(errno));
  _exit(127);
}

// Waits for the process that was to start a daemon, now that one answers: it has made that one and
// ends, or finds it and ends. One that goes on would come in its place when that one is stopped.
void Dismiss(pid_t child) {
  const Clock::time_point end = Clock::now() + kDismissDeadline;
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    if (Clock::now() >= end) kill(child, SIGKILL);
    std::this_thread::sleep_for(kBetweenTries);
  }
}

// Nobody listens, or somebody who went away instead of answering.
bool IsAbsent(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status);
}

absl::Status DidNotStart(const std::string& program, int status, std::string why) {
  if (why.empty()) {
    why = WIFSIGNALED(status) ? absl::StrCat("killed by signal ", WTERMSIG(status))
                              : absl::StrCat("exit status ", WEXITSTATUS(status));
  }
  return absl::InternalError(absl::StrCat("the daemon ", program, " did not start: ", why));
}

std::string LastLine(int file) {
  char text[4096];
  const off_t size = lseek(file, 0, SEEK_END);
  const off_t from = size > static_cast<off_t>(sizeof(text)) ? size - sizeof(text) : 0;
  const ssize_t n = pread(file, text, sizeof(text), from);
  std::string all(text, n > 0 ? n : 0);
  all.erase(all.find_last_not_of(" \n") + 1);
  const size_t line = all.rfind('\n');
  return line == std::string::npos ? all : all.substr(line + 1);
}

}  // namespace

absl::StatusOr<RunningDaemon> EnsureDaemon() {
  absl::StatusOr<query::Daemon> daemon = AskWhoListens();
  if (daemon.ok()) return RunningDaemon{*daemon, false};
  if (!IsAbsent(daemon.status())) return daemon.status();
  const absl::StatusOr<std::string> program = FindDaemonProgram();
  if (!program.ok()) return program.status();

  const FileDescriptor complaints(memfd_create("tpd-stderr", MFD_CLOEXEC));
  const Clock::time_point begin = Clock::now(), end = begin + kStartDeadline;
  pid_t child = -1;
  bool ended = true;  // As a daemon's first process does once the daemon is up.
  int status = 0;
  while (Clock::now() < end) {
    if (child < 0) {
      child = Launch(*program, complaints.get());
      if (child < 0) {
        return absl::InternalError(absl::StrCat("cannot start ", *program, ": ", strerror(errno)));
      }
      ended = false;
    }
    daemon = AskWhoListens();
    if (daemon.ok()) {
      const std::chrono::nanoseconds waited = Clock::now() - begin;
      if (!ended) Dismiss(child);
      return RunningDaemon{*daemon, daemon->uptime_ns() < waited.count()};
    }
    if (!ended && waitpid(child, &status, WNOHANG) == child) {
      ended = true;
      continue;  // Another one may have been started at the same moment.
    }
    if (ended && status != 0) {
      // One that was killed listens, without an answer, until the system is done with it.
      if (!WIFEXITED(status) || WEXITSTATUS(status) != kRunsAlready) {
        return DidNotStart(*program, status, LastLine(complaints.get()));
      }
      child = -1;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  const std::string why = LastLine(complaints.get());
  return absl::DeadlineExceededError(
      absl::StrCat("the daemon ", *program, " was started but does not answer",
                   why.empty() ? "" : ": ", why, "; run `tpd --foreground` to see why"));
}

absl::Status StopDaemon(bool* stays_activated) {
  *stays_activated = false;
  const absl::StatusOr<std::string> path = SocketPath();
  if (!path.ok()) return path.status();
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  absl::Status stopping = client.status();
  if (client.ok()) {
    const absl::StatusOr<query::Daemon> daemon = client->AskDaemon();
    *stays_activated = daemon.ok() && daemon->activated();
    stopping = client->Stop();
  }
  if (IsAbsent(stopping)) {
    const absl::StatusOr<pid_t> holder = LockHolder(*path);
    if (holder.ok()) {
      stopping = kill(*holder, SIGTERM) == 0
                     ? absl::OkStatus()
                     : absl::PermissionDeniedError(absl::StrCat("cannot end the daemon, pid ",
                                                                *holder, ": ", strerror(errno)));
    } else if (!client.ok()) {
      return absl::IsNotFound(holder.status()) ? stopping : holder.status();
    } else {
      // It is gone before its answer arrived, and has done what was asked.
      stopping = absl::OkStatus();
    }
  }
  if (!stopping.ok() && !absl::IsDeadlineExceeded(stopping)) return stopping;
  const Clock::time_point end = Clock::now() + kStopDeadline;
  absl::StatusOr<pid_t> holder = LockHolder(*path);
  while (stopping.ok() && Clock::now() < end) {
    // Where a service manager listens, to ask whether somebody does would start the next one.
    if (absl::IsNotFound(holder.status()) &&
        (*stays_activated || absl::IsUnavailable(QueryClient::Connect().status()))) {
      return absl::OkStatus();
    }
    std::this_thread::sleep_for(kBetweenTries);
    holder = LockHolder(*path);
  }
  if (holder.ok()) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the daemon at ", *path, " does not end: `kill -9 ", *holder, "` ends it in any case"));
  }
  if (!stopping.ok()) return stopping;
  return absl::DeadlineExceededError(
      absl::StrCat("what listens at ", *path, " said that it ends but still listens"));
}

}  // namespace tp

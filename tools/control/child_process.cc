#include "tools/control/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/control/exit_status.h"

namespace tp {
namespace {

constexpr int kHandedOn[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

[[noreturn]] void Become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment,
                         const sigset_t& mask, int error_pipe) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  // If this fails there is nobody left to tell.
  [[maybe_unused]] const ssize_t n = write(error_pipe, &error, sizeof(error));
  _exit(kCommandNotFound);
}

// Hands signals on until the child ends.
int WaitFor(pid_t child, const sigset_t& awaited) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      return WIFSIGNALED(status) ? kKilledBySignal + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (ended < 0 && errno != EINTR) return kWorkFailed;
    siginfo_t info;
    const int signal = sigwaitinfo(&awaited, &info);
    // Only what a process sent: the terminal's own went to the child as well.
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) kill(child, signal);
  }
}

}  // namespace

ChildEnd RunChild(const std::vector<std::string>& command,
                  const std::vector<std::pair<std::string, std::string>>& environment,
                  const std::function<void()>& started) {
  ChildEnd end;
  sigset_t awaited, before;
  sigemptyset(&awaited);
  for (int signal : kHandedOn) sigaddset(&awaited, signal);
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, &before);

  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) {
    end.start_error = errno;
  } else {
    end.pid = fork();
    if (end.pid == 0) Become(command, environment, before, error_pipe[1]);
    if (end.pid < 0) end.start_error = errno;
    close(error_pipe[1]);
    if (end.pid > 0) {
      ssize_t n;
      do {
        n = read(error_pipe[0], &end.start_error, sizeof(end.start_error));
      } while (n < 0 && errno == EINTR);
      if (started) started();
      end.exit_status = WaitFor(end.pid, awaited);
    }
    close(error_pipe[0]);
  }
  if (end.start_error != 0) {
    end.exit_status = end.start_error == ENOENT ? kCommandNotFound : kCommandNotExecutable;
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return end;
}

}  // namespace tp

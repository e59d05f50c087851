#include "collector/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace tp::collect {
namespace {

constexpr std::string_view kWords[] = {"debug", "info", "warn", "error", "off"};
// A pipe that can take anything takes this much without waiting.
constexpr size_t kMostLineBytes = PIPE_BUF;

// Set when the library is loaded, while there is one thread.
LogLevel g_level = LogLevel::kOff;
char g_path[PATH_MAX];  // Of the file; empty: stderr.
struct stat g_stderr;   // As it was.

// While it lives, writing to a pipe that nobody reads raises no signal on this thread.
class WithoutBrokenPipe {
 public:
  WithoutBrokenPipe() {
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
  }
  ~WithoutBrokenPipe() {
    const timespec none = {};
    if (!was_pending_) sigtimedwait(&broken_pipe_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t broken_pipe_, before_;
  bool was_pending_;
};

// Of a program that was started without stderr, or has closed it since, the number may be that of
// any file of its own.
bool IsStderr(int fd) {
  struct stat now = {};
  return g_stderr.st_ino != 0 && fstat(fd, &now) == 0 && now.st_dev == g_stderr.st_dev &&
         now.st_ino == g_stderr.st_ino;
}

// "2026-12-03 04:45:07.123Z tpcollect[4242] info: ": UTC, since what there is for local time takes
// a lock that a child of fork might find taken.
size_t WriteHead(LogLevel level, char* line, size_t bytes) {
  using std::chrono::floor;
  const auto now = floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto day = floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  return snprintf(
      line, bytes,
      "%04d-%02u-%02u %02d:%02d:%02d.%03dZ tpcollect[%d] %s: ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
      static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()),
      getpid(), kWords[static_cast<size_t>(level)].data());
}

}  // namespace

std::optional<LogLevel> ParseLogLevel(std::string_view word) {
  const auto* found = std::find(std::begin(kWords), std::end(kWords), word);
  if (found == std::end(kWords)) return std::nullopt;
  return static_cast<LogLevel>(found - std::begin(kWords));
}

void PrepareLog() {
  const char* level = getenv("TP_LOG");
  const char* file = getenv("TP_LOG_FILE");
  const bool has_level = level != nullptr && level[0] != '\0';
  const bool has_file = file != nullptr && file[0] != '\0';
  if (!has_level && !has_file) return;
  g_level = has_level ? ParseLogLevel(level).value_or(LogLevel::kInfo) : LogLevel::kInfo;
  if (has_file) {
    strncpy(g_path, file, sizeof(g_path) - 1);
  } else if (fstat(STDERR_FILENO, &g_stderr) != 0) {
    g_level = LogLevel::kOff;
  }
}

bool IsLogged(LogLevel level) { return level >= g_level && level != LogLevel::kOff; }

void Log(LogLevel level, std::string_view text) {
  if (!IsLogged(level)) return;
  char line[kMostLineBytes];
  size_t length = WriteHead(level, line, sizeof(line));
  text = text.substr(0, sizeof(line) - 1 - length);
  for (const char c : text) line[length++] = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  line[length++] = '\n';

  const int error_before = errno;
  const bool to_file = g_path[0] != '\0';
  const int fd =
      to_file
          ? open(g_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644)
          : STDERR_FILENO;
  pollfd entry = {fd, POLLOUT, 0};
  if (fd >= 0 && (to_file || IsStderr(fd)) && poll(&entry, 1, 0) == 1 &&
      (entry.revents & POLLOUT) != 0) {
    WithoutBrokenPipe without_broken_pipe;
    // Whatever becomes of it.
    [[maybe_unused]] const ssize_t written = write(fd, line, length);
  }
  if (to_file && fd >= 0) close(fd);
  errno = error_before;
}

}  // namespace tp::collect

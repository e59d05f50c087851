#include "collector/log.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <memory>

namespace tp::collect {
namespace {

// Of a program that was started without stderr: the descriptor's number is then that of the first
// file which the program opens.
bool g_stderr_closed = false;

bool IsSet(const char* value) { return value != nullptr && value[0] != '\0'; }

// nullptr: no log is wanted, or none can be written. Never destroyed: other threads may log while
// the process ends.
spdlog::logger* MakeLogger() {
  const char* level = getenv("TP_LOG");
  const char* file = getenv("TP_LOG_FILE");
  if (!IsSet(level) && !IsSet(file)) return nullptr;
  if (!IsSet(file) && g_stderr_closed) return nullptr;
  try {
    spdlog::sink_ptr sink;
    if (IsSet(file)) {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    } else {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    }
    auto* logger = new spdlog::logger("tpcollect", std::move(sink));
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %n[%P] %l: %v");
    logger->set_level(IsSet(level) ? spdlog::level::from_str(level) : spdlog::level::info);
    logger->flush_on(spdlog::level::debug);
    // A full disk is no reason to write to the program's stderr, which is what spdlog does else.
    logger->set_error_handler([](const std::string&) {});
    return logger;
  } catch (const std::exception&) {
    return nullptr;
  }
}

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

}  // namespace

void PrepareLog() {
  if (IsSet(getenv("TP_LOG"))) g_stderr_closed = fcntl(STDERR_FILENO, F_GETFD) < 0;
}

void Log(LogLevel level, std::string_view text) {
  static spdlog::logger* logger = MakeLogger();
  if (logger == nullptr) return;
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  WithoutBrokenPipe without_broken_pipe;
  logger->log(kLevels[static_cast<int>(level)], spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace tp::collect

#include "collector/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>

namespace tp::collect {
namespace {

// nullptr: no log is wanted, or none can be written. Never destroyed: other threads may log while
// the process ends.
spdlog::logger* MakeLogger() {
  const char* level = getenv("TP_LOG");
  const char* file = getenv("TP_LOG_FILE");
  bool to_file = file != nullptr && file[0] != '\0';
  if ((level == nullptr || level[0] == '\0') && !to_file) return nullptr;
  try {
    spdlog::sink_ptr sink;
    if (to_file) {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    } else {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    }
    auto* logger = new spdlog::logger("tpcollect", std::move(sink));
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %n[%P] %l: %v");
    logger->set_level(level != nullptr && level[0] != '\0' ? spdlog::level::from_str(level)
                                                           : spdlog::level::info);
    logger->flush_on(spdlog::level::debug);
    return logger;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

void Log(LogLevel level, std::string_view text) {
  static spdlog::logger* logger = MakeLogger();
  if (logger == nullptr) return;
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  logger->log(kLevels[static_cast<int>(level)], spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace tp::collect

#include "collector/settings.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "collector/log.h"
#include "collector/stack/stack_walker.h"

namespace tp::collect {
namespace {

constexpr size_t kDefaultMegabytes = 64, kLeastMegabytes = 4, kMostMegabytes = 65536;
constexpr size_t kMostNamedBytes = 200;

// Empty: not set.
std::string_view Value(const char* variable) {
  const char* value = getenv(variable);
  return value != nullptr ? value : "";
}

std::optional<Mode> ParseMode(std::string_view word) {
  if (word == "off") return Mode::kOff;
  if (word == "dormant") return Mode::kDormant;
  if (word == "on" || word.empty()) return Mode::kOn;
  return std::nullopt;
}

// A whole number, as large as a size_t holds; `unset` for no text.
std::optional<size_t> ParseNumber(std::string_view text, size_t unset) {
  if (text.empty()) return unset;
  size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? value : SIZE_MAX;
}

std::string Unknown(const char* variable, std::string_view known, std::string_view used) {
  std::string note(variable);
  note += " is \"";
  note += Value(variable).substr(0, kMostNamedBytes);
  note += "\", which is not ";
  note += known;
  note += ": ";
  note += used;
  return note;
}

}  // namespace

Mode ReadMode() {
  // Setuid, file capabilities: what the user's environment says must not load a library or send
  // anything there.
  if (getauxval(AT_SECURE) != 0) return Mode::kOff;
  return ParseMode(Value("TP_COLLECT")).value_or(Mode::kOn);
}

size_t ReadMemoryBytes() {
  const size_t megabytes =
      ParseNumber(Value("TP_BUFFER_MB"), kDefaultMegabytes).value_or(kDefaultMegabytes);
  return std::clamp(megabytes, kLeastMegabytes, kMostMegabytes) << 20;
}

size_t ReadStackFrames() {
  return std::min(ParseNumber(Value("TP_STACKS"), 0).value_or(0), kMostStackFrames);
}

Settings ReadSettings() {
  Settings settings;
  std::vector<std::string>& notes = settings.notes;
  settings.mode = ReadMode();
  if (!ParseMode(Value("TP_COLLECT")).has_value()) {
    notes.push_back(Unknown("TP_COLLECT", "off, dormant or on", "on is used"));
  }

  settings.memory_bytes = ReadMemoryBytes();
  const std::string used = std::to_string(settings.memory_bytes >> 20) + " is used";
  const std::optional<size_t> megabytes = ParseNumber(Value("TP_BUFFER_MB"), kDefaultMegabytes);
  if (megabytes != settings.memory_bytes >> 20) {
    notes.push_back(Unknown("TP_BUFFER_MB", "a whole number from 4 to 65536", used));
  }

  const size_t frames = ReadStackFrames();
  if (ParseNumber(Value("TP_STACKS"), 0) != frames) {
    notes.push_back(Unknown("TP_STACKS", "a whole number up to " + std::to_string(kMostStackFrames),
                            std::to_string(frames) + " is used"));
  }

  const std::string_view priority = Value("TP_PRIORITY");
  if (priority == "us") {
    settings.priority = Priority::kUs;
  } else if (!priority.empty() && priority != "others") {
    notes.push_back(Unknown("TP_PRIORITY", "others or us", "other profilers come first"));
  }

  std::vector<std::string> unknown;
  settings.activities = ParseActivities(Value("TP_ACTIVITIES"), &unknown);
  if (!unknown.empty()) {
    std::string words;
    for (const std::string& word : unknown) words += (words.empty() ? "" : ", ") + word;
    notes.push_back("TP_ACTIVITIES has words that are none: " + words.substr(0, kMostNamedBytes));
  }

  const std::string_view api = Value("TP_CUPTI_API");
  if (!api.empty() && api != "v1" && api != "v2") {
    notes.push_back(Unknown("TP_CUPTI_API", "v1 or v2", "the one that fits is used"));
  }
  const std::string_view log = Value("TP_LOG");
  if (!log.empty() && !ParseLogLevel(log).has_value()) {
    notes.push_back(Unknown("TP_LOG", "debug, info, warn, error or off", "info is used"));
  }
  return settings;
}

}  // namespace tp::collect

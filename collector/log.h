// The collector's own log, for those who want to see it at work: silent unless TP_LOG (debug, info,
// warn, error) or TP_LOG_FILE is set. What a user of the profiler must know goes to the daemon as
// well (wire.proto's Status).
//
// Takes no lock, allocates nothing and waits for nothing, so that it can be called anywhere but in
// the hot paths. A line is one write to stderr, or to the file that TP_LOG_FILE names, which is
// opened for it: a descriptor that is kept might be another file of the program's by then. What
// cannot be written at once (a full disk, a pipe that is full or closed, no descriptor) is left
// out.
#ifndef COLLECTOR_LOG_H_
#define COLLECTOR_LOG_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tp::collect {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };

// "debug", ..., "off"; none if the word is none of them.
std::optional<LogLevel> ParseLogLevel(std::string_view word);

// When the library is loaded, before the program runs: reads the environment, and notes which file
// stderr is.
void PrepareLog();

// Whether such a line would be written: so that nobody makes a text for nothing.
bool IsLogged(LogLevel level);

// Cut where it becomes too long for one write (4,096 bytes); control characters become blanks.
void Log(LogLevel level, std::string_view text);

}  // namespace tp::collect

#endif  // COLLECTOR_LOG_H_

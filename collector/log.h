// The collector's own log, for those who look for a fault in it: silent unless TP_LOG (debug, info,
// warn, error) or TP_LOG_FILE is set. What a user of the profiler must know goes to the daemon
// instead (wire.proto's Status).
#ifndef COLLECTOR_LOG_H_
#define COLLECTOR_LOG_H_

#include <string_view>

namespace tp::collect {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// When the library is loaded, before the program runs: notes whether there is a stderr at all.
void PrepareLog();

// Reads the environment at the first call; stderr, or the file that TP_LOG_FILE names. What cannot
// be written (a full disk, a closed pipe) is left out, silently. Any thread but the application's
// hot paths.
void Log(LogLevel level, std::string_view text);

}  // namespace tp::collect

#endif  // COLLECTOR_LOG_H_

// Numbers as the screen and the short texts show them. Durations follow the summary tables' rule to
// the last digit.
#ifndef TOOLS_CONTROL_QUANTITY_H_
#define TOOLS_CONTROL_QUANTITY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tp {

// "950", "12.3k", "4.56M": at most five characters, for counts of events.
std::string CountText(double count);

// "1,234,567".
std::string ExactCountText(int64_t count);

// "10s", "1.5m", "500ms", "2h" in nanoseconds; none for what is no such time, or longer than a
// year.
std::optional<int64_t> ParseDuration(std::string_view text);

// "4s", "3m 12s", "5h 02m", "12d 04h".
std::string UptimeText(int64_t ns);

}  // namespace tp

#endif  // TOOLS_CONTROL_QUANTITY_H_

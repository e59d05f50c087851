// Decimal numbers as they stand in a text, without the detour over floating point: 2^53 is too
// little for nanoseconds since 1970.
#ifndef ANALYZER_IMPORT_DECIMAL_H_
#define ANALYZER_IMPORT_DECIMAL_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tp {

// The JSON number `text` times 10^`scale`, as an integer: "12.3456" with scale 3 is 12346. Halves
// are rounded away from zero. Nothing if it is no number, or does not fit.
std::optional<int64_t> DecimalTimes(std::string_view text, int scale);

// A whole number from 0 to 2^64-1, also written as "5.0" or "5e0".
std::optional<uint64_t> WholeNumber(std::string_view text);

}  // namespace tp

#endif  // ANALYZER_IMPORT_DECIMAL_H_

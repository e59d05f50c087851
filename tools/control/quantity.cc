#include "tools/control/quantity.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tp {

std::string CountText(double count) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
  int unit = 0;
  while (std::round(count) >= 1000 && unit < 5) {
    count /= 1000;
    ++unit;
  }
  if (unit == 0) return absl::StrFormat("%.0f", count);
  const int decimals = count < 9.995 ? 2 : count < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f%s", decimals, count, kUnits[unit]);
}

std::string ExactCountText(int64_t count) {
  std::string digits = absl::StrCat(count);
  const int sign = digits[0] == '-' ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > sign; i -= 3) digits.insert(i, ",");
  return digits;
}

std::optional<int64_t> ParseDuration(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  constexpr double kLongest = 366 * 24 * 3600e9;
  for (const auto& [unit, ns] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view number = text.substr(0, text.size() - unit.size());
    double count = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
    if (!(count > 0) || count * ns > kLongest) return std::nullopt;
    return static_cast<int64_t>(count * ns);
  }
  return std::nullopt;
}

std::string UptimeText(int64_t ns) {
  const int64_t seconds = ns / 1'000'000'000;
  if (seconds < 60) return absl::StrFormat("%ds", seconds);
  if (seconds < 3600) return absl::StrFormat("%dm %02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh %02dm", seconds / 3600, seconds % 3600 / 60);
  return absl::StrFormat("%dd %02dh", seconds / 86400, seconds % 86400 / 3600);
}

}  // namespace tp

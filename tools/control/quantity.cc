#include "tools/control/quantity.h"

#include <cmath>

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

std::string UptimeText(int64_t ns) {
  const int64_t seconds = ns / 1'000'000'000;
  if (seconds < 60) return absl::StrFormat("%ds", seconds);
  if (seconds < 3600) return absl::StrFormat("%dm %02ds", seconds / 60, seconds % 60);
  if (seconds < 86400) return absl::StrFormat("%dh %02dm", seconds / 3600, seconds % 3600 / 60);
  return absl::StrFormat("%dd %02dh", seconds / 86400, seconds % 86400 / 3600);
}

}  // namespace tp

#include "tools/control/quantity.h"

#include <cmath>
#include <iterator>

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

std::string CuptiVersionText(uint32_t version) {
  if (version == 0) return "-";
  // Since 13.0 the number says it; before, releases were counted.
  if (version >= 130000) return absl::StrFormat("%d.%d", version / 10000, version % 10000 / 100);
  constexpr uint32_t kFirst = 13;
  static constexpr const char* kReleases[] = {"11.0", "11.1", "11.2", "11.5", "11.6", "11.8",
                                              "12.0", "12.2", "12.3", "12.4", "12.5", "12.6",
                                              "",     "12.8", "12.9", "12.9"};
  if (version >= kFirst && version - kFirst < std::size(kReleases) &&
      kReleases[version - kFirst][0] != '\0') {
    return kReleases[version - kFirst];
  }
  return absl::StrCat(version);
}

}  // namespace tp

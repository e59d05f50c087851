#include "analyzer/present/units.h"

#include <array>
#include <cmath>
#include <iterator>

#include "absl/strings/str_format.h"

namespace tp {
namespace {

// What "%.3f" and "%.2f" would show as 1000.000 and 1024.00.
constexpr double kRoundsToThousand = 999.9995;
constexpr double kRoundsTo1024 = 1023.995;

}  // namespace

std::string DurationText(double microseconds, TimeUnit unit) {
  switch (unit) {
    case TimeUnit::kSeconds:
      return absl::StrFormat("%.3fs", microseconds * 1e-6);
    case TimeUnit::kMilliseconds:
      return absl::StrFormat("%.3fms", microseconds * 1e-3);
    case TimeUnit::kMicroseconds:
      return absl::StrFormat("%.3fus", microseconds);
    case TimeUnit::kChosenBySize:
      break;
  }
  if (microseconds / 1000.0 >= kRoundsToThousand) {
    return absl::StrFormat("%.3fs", microseconds / 1000000.0);
  }
  if (microseconds >= kRoundsToThousand) return absl::StrFormat("%.3fms", microseconds / 1000.0);
  return absl::StrFormat("%.3fus", microseconds);
}

std::string ShareText(double part, double whole) {
  if (whole == 0) return part == 0 ? "NaN" : "inf%";
  return absl::StrFormat("%.2f%%", part * 100.0 / whole);
}

std::string BytesText(int64_t bytes) {
  constexpr std::array<const char*, 3> kUnits = {"KB", "MB", "GB"};
  if (std::abs(bytes) < 1024) return absl::StrFormat("%d B", bytes);
  double value = static_cast<double>(bytes) / 1024.0;
  size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(value) >= kRoundsTo1024) {
    value /= 1024.0;
    ++unit;
  }
  return absl::StrFormat("%.2f %s", value, kUnits[unit]);
}

FlopsUnit FlopsUnitFor(double smallest) {
  constexpr FlopsUnit kUnits[] = {{"", 1.0},  {"K", 1e3},  {"M", 1e6},
                                  {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && smallest >= kUnits[unit + 1].size) ++unit;
  return kUnits[unit];
}

}  // namespace tp

#include "analyzer/present/units.h"

#include <cmath>
#include <cstdlib>
#include <iterator>

#include "absl/strings/str_format.h"

namespace tp {

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
  // What counts is the number as it will be read.
  auto reaches_next_unit = [](const std::string& text) { return std::atof(text.c_str()) >= 1000; };
  std::string text = absl::StrFormat("%.3f", microseconds);
  if (!reaches_next_unit(text)) return text + "us";
  text = absl::StrFormat("%.3f", microseconds / 1000.0);
  if (!reaches_next_unit(text)) return text + "ms";
  return absl::StrFormat("%.3fs", microseconds / 1000000.0);
}

std::string ShareText(double part, double whole) {
  if (whole == 0) return part == 0 ? "NaN" : "inf%";
  return absl::StrFormat("%.2f%%", part * 100.0 / whole);
}

std::string BytesText(int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return absl::StrFormat("%d B", bytes);
  double value = static_cast<double>(bytes);
  std::string text;
  for (const char* unit : {" KB", " MB", " GB"}) {
    value /= 1024.0;
    text = absl::StrFormat("%.2f", value);
    bool reaches_next_unit = std::abs(std::atof(text.c_str())) >= 1024;
    text += unit;
    if (!reaches_next_unit) break;
  }
  return text;
}

std::string Counted(uint64_t count, std::string_view one) {
  return absl::StrFormat("%d %s%s", count, one, count == 1 ? "" : "s");
}

FlopsUnit FlopsUnitFor(double smallest) {
  constexpr FlopsUnit kUnits[] = {{"", 1.0},  {"K", 1e3},  {"M", 1e6},
                                  {"G", 1e9}, {"T", 1e12}, {"P", 1e15}};
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && smallest >= kUnits[unit + 1].size) ++unit;
  return kUnits[unit];
}

}  // namespace tp

// Numbers as the tables show them. Durations in ns.
#ifndef ANALYZER_PRESENT_UNITS_H_
#define ANALYZER_PRESENT_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/present/table.h"

namespace tp {

// The larger unit is taken where rounding reaches it: 999,999.6 ns are "1.000ms". `microseconds`
// may be an average.
std::string DurationText(double microseconds, TimeUnit unit);

// "12.34%"; of a whole of nothing "NaN", or "inf%" where the part is something.
std::string ShareText(double part, double whole);

// Of 1024; two decimals, whole bytes. "3.50 KB".
std::string BytesText(int64_t bytes);

// "1 record", "2 records".
std::string Counted(uint64_t count, std::string_view one);

// The unit for a column of counts of floating-point operations: that of the smallest.
struct FlopsUnit {
  const char* prefix;  // "", "K", "M", "G", "T", "P".
  double size;
};
FlopsUnit FlopsUnitFor(double smallest);

}  // namespace tp

#endif  // ANALYZER_PRESENT_UNITS_H_

#include "tools/control/quantity.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(CountText, TakesFiveCharactersAtMost) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(999.6), "1.00k");
  EXPECT_EQ(CountText(1'234), "1.23k");
  EXPECT_EQ(CountText(12'345), "12.3k");
  EXPECT_EQ(CountText(123'456), "123k");
  EXPECT_EQ(CountText(999'999), "1.00M");
  EXPECT_EQ(CountText(4'560'000), "4.56M");
}

TEST(ExactCountText, GroupsThousands) {
  EXPECT_EQ(ExactCountText(0), "0");
  EXPECT_EQ(ExactCountText(999), "999");
  EXPECT_EQ(ExactCountText(1'000), "1,000");
  EXPECT_EQ(ExactCountText(1'234'567), "1,234,567");
  EXPECT_EQ(ExactCountText(-123), "-123");
}

TEST(UptimeText, ShowsTwoUnitsAtMost) {
  EXPECT_EQ(UptimeText(4'000'000'000), "4s");
  EXPECT_EQ(UptimeText(192'000'000'000), "3m 12s");
  EXPECT_EQ(UptimeText(18'120'000'000'000), "5h 02m");
  EXPECT_EQ(UptimeText(int64_t{86'400} * 12'000'000'000 + 14'400'000'000'000), "12d 04h");
}

TEST(ParseDuration, TakesNumbersWithAUnit) {
  EXPECT_EQ(ParseDuration("10s"), 10'000'000'000);
  EXPECT_EQ(ParseDuration("500ms"), 500'000'000);
  EXPECT_EQ(ParseDuration("1.5m"), 90'000'000'000);
  EXPECT_EQ(ParseDuration("2h"), 7'200'000'000'000);
  for (const char* none : {"", "s", "10", "-1s", "0s", "1e300h", "nans", "infs", "10 s", "10sec"}) {
    EXPECT_EQ(ParseDuration(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace tp

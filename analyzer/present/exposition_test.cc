#include "analyzer/present/exposition.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tp {
namespace {

TEST(Exposition, AFamilyIsWrittenWithItsHelpAndType) {
  Exposition page;
  Exposition::Family* busy =
      page.AddFamily("x_busy_seconds_total", "Time\nwith \\work.", Exposition::kCounter);
  Exposition::Family* open = page.AddFamily("x_open", "Open ones.", Exposition::kGauge);
  // Mixed calls do not mix the families.
  busy->AddSeconds(Labels().With("pid", "7"), 1'500'000'001);
  open->AddNumber(Labels(), 3);
  busy->AddSeconds(Labels().With("pid", "8").With("device", "0"), 0);
  EXPECT_EQ(page.Text(),
            "# HELP x_busy_seconds_total Time\\nwith \\\\work.\n"
            "# TYPE x_busy_seconds_total counter\n"
            "x_busy_seconds_total{pid=\"7\"} 1.500000001\n"
            "x_busy_seconds_total{pid=\"8\",device=\"0\"} 0.000000000\n"
            "# HELP x_open Open ones.\n"
            "# TYPE x_open gauge\n"
            "x_open 3\n");
  EXPECT_EQ(page.bytes(), page.Text().size());
}

TEST(Exposition, AFamilyWithoutSamplesIsLeftOut) {
  Exposition page;
  page.AddFamily("x", "Nothing.", Exposition::kGauge);
  EXPECT_EQ(page.Text(), "");
  EXPECT_EQ(page.bytes(), 0u);
}

TEST(Exposition, NumbersAreWrittenWithAllDigits) {
  Exposition page;
  Exposition::Family* family = page.AddFamily("x", "X.", Exposition::kCounter);
  family->AddNumber(Labels(), UINT64_MAX);
  family->AddSeconds(Labels(), INT64_MAX);
  family->AddSeconds(Labels(), -5);
  EXPECT_NE(page.Text().find("x 18446744073709551615\nx 9223372036.854775807\nx 0.000000000\n"),
            std::string::npos)
      << page.Text();
}

TEST(Labels, AnyBytesBecomeAValue) {
  EXPECT_EQ(Labels().With("a", "say \"x\\y\"\nz").text(), "a=\"say \\\"x\\\\y\\\"\\nz\"");
  EXPECT_EQ(Labels().With("a", "\xff").text(), "a=\"\xef\xbf\xbd\"");
  EXPECT_EQ(Labels().With("a", "").With("b", "}").text(), "b=\"}\"");
}

}  // namespace
}  // namespace tp

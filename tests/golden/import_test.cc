// The real traces, imported, are the recordings that were made of them by other means.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/import/import.h"
#include "analyzer/present/table.h"
#include "analyzer/summarize/whole_summary.h"
#include "tests/golden/golden_case.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Cases() {
  std::vector<fs::path> cases;
  if (const std::optional<fs::path> real = RealCases(); real.has_value()) {
    for (const auto& entry : fs::directory_iterator(*real)) cases.push_back(entry.path());
  }
  return cases;
}

std::string Describe(const StringTable& strings, const Span& span) {
  return std::string(strings.Text(span.name)) + " " + static_cast<char>(span.kind) + " " +
         std::to_string(span.start_ns) + " " + std::to_string(span.end_ns) + " thread " +
         std::to_string(span.thread) + " " + std::string(strings.Text(span.shapes)) + " " +
         std::string(strings.Text(span.stack));
}

std::string Describe(const StringTable& strings, const DeviceActivity& activity) {
  std::string text =
      std::string(strings.Text(activity.name)) + " " + static_cast<char>(activity.kind);
  // Device work may leave it to its launch to say whose it is.
  const bool is_call = IsHostCall(activity.kind);
  for (const uint64_t number :
       {static_cast<uint64_t>(activity.start_ns), static_cast<uint64_t>(activity.end_ns),
        static_cast<uint64_t>(activity.device), static_cast<uint64_t>(activity.stream),
        activity.correlation, is_call ? activity.operation : 0,
        is_call ? static_cast<uint64_t>(activity.thread) : 0, static_cast<uint64_t>(activity.cbid),
        activity.bytes, static_cast<uint64_t>(activity.copy_kind), activity.value}) {
    text += " " + std::to_string(number);
  }
  return text;
}

TEST(ImportOfRealTraces, GivesTheSameRecords) {
  if (Cases().empty()) GTEST_SKIP() << "the real traces are not here: nothing was compared";
  for (const fs::path& folder : Cases()) {
    SCOPED_TRACE(folder.filename());
    const GoldenCase golden(folder);
    const absl::StatusOr<WholeRecording> imported = ImportFile(folder / "trace.json.gz");
    ASSERT_TRUE(imported.ok()) << imported.status();
    ASSERT_EQ(imported->spans.size(), golden.spans().size());
    for (size_t i = 0; i < golden.spans().size() && !HasFailure(); ++i) {
      EXPECT_EQ(Describe(*imported->strings, imported->spans[i]),
                Describe(golden.strings(), golden.spans()[i]));
    }
    std::vector<DeviceActivity> activities;
    for (const DeviceActivity& activity : imported->activities) {
      if (activity.kind != ActivityKind::kDeviceAnnotation) activities.push_back(activity);
    }
    ASSERT_EQ(activities.size(), golden.activities().size());
    for (size_t i = 0; i < activities.size() && !HasFailure(); ++i) {
      EXPECT_EQ(Describe(*imported->strings, activities[i]),
                Describe(golden.strings(), golden.activities()[i]));
    }
  }
}

TEST(ImportOfRealTraces, GivesTheExpectedTables) {
  if (Cases().empty()) GTEST_SKIP() << "the real traces are not here: nothing was compared";
  for (const fs::path& folder : Cases()) {
    SCOPED_TRACE(folder.filename());
    const absl::StatusOr<WholeRecording> imported = ImportFile(folder / "trace.json.gz");
    ASSERT_TRUE(imported.ok()) << imported.status();
    const Summary summary = Summarize(*imported);
    const auto text = [&](query::View view, int64_t row_limit) {
      TableOptions options;
      options.view = view;
      TextOptions text_options;
      text_options.row_limit = row_limit;
      return FormatTable(TabulateWhole(*imported, summary, options), text_options).value();
    };
    // One of them has no device work.
    if (fs::exists(folder / "expected/device_kernels.txt")) {
      EXPECT_EQ(text(query::KERNELS, -1), ReadFile(folder / "expected/device_kernels.txt"));
    }
    EXPECT_EQ(text(query::SPANS, 100), ReadFile(folder / "expected/event_table.txt"));
    EXPECT_EQ(text(query::OPERATIONS, -1), ReadFile(folder / "expected/key_averages.txt"));
  }
}

}  // namespace
}  // namespace tp

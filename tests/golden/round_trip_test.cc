// What is exported as a Chrome trace and imported again has the same summary, to the last digit:
// every golden recording and every real trace, in both flavours.
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/import/import.h"
#include "analyzer/present/table.h"
#include "analyzer/summarize/whole_summary.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_case.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

// All that the tables tell, but what an import says of its own file, and the processes' numbers
// where the recording has none: an export has to give one.
std::string AllTables(const WholeRecording& recording, bool with_processes) {
  const Summary summary = Summarize(recording);
  std::string text;
  const auto add = [&](const TableOptions& options) {
    query::Table table = TabulateWhole(recording, summary, options);
    table.clear_notes();
    table.clear_processes();
    if (!with_processes) {
      for (query::StreamRow& row : *table.mutable_streams()) row.clear_pid();
    }
    TextOptions with_flops;
    with_flops.with_flops = true;
    absl::StrAppend(&text, *FormatTable(table, with_flops), "\n", *FormatJson(table, {}));
  };
  for (query::View view :
       {query::OPERATIONS, query::KERNELS, query::COPIES, query::API, query::STREAMS}) {
    add({.view = view});
  }
  add({.view = query::OPERATIONS, .group_by_shape = true});
  add({.view = query::OPERATIONS, .group_by_stack = 3});
  return text;
}

// The lines in which two texts begin to differ.
std::string FirstDifference(const std::string& actual, const std::string& expected) {
  if (actual == expected) return "";
  const auto [a, b] = std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end());
  const auto around = [](const std::string& text, std::string::const_iterator place) {
    const size_t at = static_cast<size_t>(place - text.begin());
    return text.substr(at < 200 ? 0 : at - 200, 400);
  };
  return absl::StrCat("is: ", around(actual, a), "\nshould: ", around(expected, b));
}

void CheckRoundTrip(const WholeRecording& recording, bool torch_compat) {
  const std::string path = absl::StrCat(testing::TempDir(), "/round_trip_", getpid(), ".json.gz");
  auto file = OutputFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ChromeTraceOptions options;
  options.torch_compat = torch_compat;
  WriteChromeTrace(recording, Summarize(recording), options, file->get());
  ASSERT_TRUE((*file)->Finish().ok());
  const absl::StatusOr<WholeRecording> back = ImportFile(path);
  fs::remove(path);
  ASSERT_TRUE(back.ok()) << back.status();
  const bool with_processes = !recording.threads.empty();
  EXPECT_EQ(back->notes, std::vector<std::string>());
  EXPECT_EQ(FirstDifference(AllTables(*back, with_processes), AllTables(recording, with_processes)),
            "");
  EXPECT_EQ(back->memory_events.size(), recording.memory_events.size());
  EXPECT_EQ(back->rank, torch_compat ? recording.rank : -1);
}

void CheckRoundTrips(const WholeRecording& recording) {
  for (const bool torch_compat : {false, true}) {
    SCOPED_TRACE(torch_compat ? "chrome-torch" : "chrome");
    CheckRoundTrip(recording, torch_compat);
  }
}

class MadeUp : public testing::TestWithParam<std::string> {};

TEST_P(MadeUp, RecordingComesBackTheSame) {
  CheckRoundTrips(GoldenCase(MadeUpCase(GetParam())).recording());
}

INSTANTIATE_TEST_SUITE_P(Golden, MadeUp, testing::ValuesIn(MadeUpCases()), TestName);

TEST(RealTraces, ComeBackTheSame) {
  const std::optional<fs::path> cases = RealCases();
  if (!cases) GTEST_SKIP() << "the real traces are not here: name their folder in TP_SHARED";
  std::vector<fs::path> traces;
  for (const std::string& name : kRealCases) traces.push_back(*cases / name / "trace.json.gz");
  for (const auto& entry : fs::directory_iterator(*cases / "../../traces")) {
    if (entry.path().string().ends_with(".json.gz")) traces.push_back(entry.path());
  }
  for (const fs::path& trace : traces) {
    SCOPED_TRACE(trace);
    const absl::StatusOr<WholeRecording> recording = ImportFile(trace);
    ASSERT_TRUE(recording.ok()) << recording.status();
    CheckRoundTrips(*recording);
  }
}

}  // namespace
}  // namespace tp

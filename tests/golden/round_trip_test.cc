// What is exported as a Chrome trace and imported again has the same summary, to the last digit:
// every golden recording and every real recording of others, in both flavours.
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/same_summary.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

// What spans carry beside their members, a line each.
std::string ValuesOf(const WholeRecording& recording) {
  std::string lines;
  for (const SpanValue& value : recording.span_values) {
    absl::StrAppend(&lines, value.span, " ", std::string(recording.strings->Text(value.name)), " ");
    switch (value.type) {
      case ValueType::kReal:
        absl::StrAppend(&lines, "real ", std::bit_cast<double>(value.bits), "\n");
        break;
      case ValueType::kText:
        absl::StrAppend(&lines, "text ", std::string(recording.strings->Text(value.bits)), "\n");
        break;
      default:
        absl::StrAppend(&lines, static_cast<int64_t>(value.bits), "\n");
    }
  }
  return lines;
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
  EXPECT_EQ(back->rank, recording.rank);
  EXPECT_EQ(ValuesOf(*back), ValuesOf(recording));
}

void CheckRoundTrips(const WholeRecording& recording) {
  for (const bool torch_compat : {false, true}) {
    SCOPED_TRACE(torch_compat ? "chrome-torch" : "chrome");
    CheckRoundTrip(recording, torch_compat);
  }
}

class Recordings : public EveryCase {};

TEST_P(Recordings, ComeBackTheSame) { CheckRoundTrips(GoldenCase(folder()).recording()); }

INSTANTIATE_TEST_SUITE_P(Golden, Recordings, testing::ValuesIn(MadeUpCases()), TestName);

// What no trace of others has.
TEST(OwnKinds, ComeBackTheSame) {
  WholeRecording recording;
  recording.threads[0] = {50, 51, "python", "main"};
  const auto add = [&](ActivityKind kind, const char* name, uint64_t correlation) {
    DeviceActivity activity;
    activity.kind = kind;
    activity.name = recording.strings->Intern(name);
    activity.start_ns = 1000 + 100 * static_cast<int64_t>(recording.activities.size());
    activity.end_ns = activity.start_ns + 77;
    activity.correlation = correlation;
    if (IsOnHost(kind)) activity.device = -1;
    activity.context = 2;
    activity.stream = 7;
    recording.activities.push_back(activity);
    return &recording.activities.back();
  };
  add(ActivityKind::kRuntimeCall, "cudaGraphLaunch", 3);
  add(ActivityKind::kGraph, "CUDA graph 12", 3);
  add(ActivityKind::kSynchronization, "stream synchronize", 4);
  add(ActivityKind::kSynchronization, "context synchronize", 5)->has_stream = false;
  add(ActivityKind::kCompilation, "PTX to binary", 0);
  add(ActivityKind::kOverhead, "buffer flush", 0);
  const auto text = [&](std::string_view name) { return recording.strings->Intern(name); };
  recording.rank = 3;
  recording.spans.push_back({.id = 0, .start_ns = 1000, .end_ns = 1900, .name = text("reduce")});
  recording.span_values = {
      {0, text("root"), ValueType::kSigned, static_cast<uint64_t>(int64_t{-3})},
      {0, text("bytes"), ValueType::kUnsigned, 4096},
      {0, text("whole"), ValueType::kReal, std::bit_cast<uint64_t>(3.0)},
      {0, text("ratio"), ValueType::kReal, std::bit_cast<uint64_t>(0.1)},
      {0, text("by \"name\""), ValueType::kText, text("Sum \n")},
  };
  recording.counters = {{1000, 0, text("loss"), 0.25}, {1500, 0, text("loss"), -3}};
  const std::string tables = AllTables(recording, true);
  for (const char* shown : {"context synchronize", "loss"}) {
    ASSERT_NE(tables.find(shown), std::string::npos) << shown;
  }
  CheckRoundTrips(recording);
}

TEST(RealTraces, ComeBackTheSame) {
  const std::optional<fs::path> folder = RealTraces(), cases = RealCases();
  if (!folder || !cases) GTEST_SKIP() << kNoRealTraces;
  std::vector<fs::path> traces;
  for (const std::string& name : kRealCases) traces.push_back(*cases / name / "trace.json.gz");
  for (const auto& entry : fs::directory_iterator(*folder)) {
    if (entry.path().extension() == ".gz") traces.push_back(entry.path());
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

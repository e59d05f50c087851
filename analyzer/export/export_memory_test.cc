// What an export takes in memory for each event (docs/performance.md): less than what its
// recording and the sums over it take together.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/export/folded_stacks.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {
namespace {

constexpr int kLaunches = 20'000;
constexpr int kTimes = 4;
constexpr int kEventsOfALaunch = 3;
constexpr int64_t kMostBytesPerEvent = 190;

// An operation with a stack, a call and a kernel for each launch.
void WriteTrace(const std::string& path, int launches) {
  std::ofstream file(path);
  file << "{\"traceEvents\": [";
  for (int i = 0; i < launches; ++i) {
    const int64_t us = int64_t{20} * i;
    file << absl::StrCat(
        i > 0 ? "," : "", R"({"ph":"X","cat":"cpu_op","name":"op)", i % 300,
        R"(","pid":1,"tid":1,"ts":)", us, R"(,"dur":18,"args":{"Call stack":"step )", i % 40,
        R"(;main"}},{"ph":"X","cat":"cuda_runtime","name":"launch","pid":1,"tid":1,"ts":)", us + 5,
        R"(,"dur":3,"args":{"correlation":)", i + 1,
        R"(}},{"ph":"X","cat":"kernel","name":"kernel )", i % 100, R"(","pid":0,"tid":7,"ts":)",
        us + 300, R"(,"dur":15,"args":{"device":0,"stream":7,"correlation":)", i + 1, "}}\n");
  }
  file << "]}";
}

// Of a process that does only that.
int64_t PeakBytes(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  rusage usage = {};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_EQ(status, 0);
  return int64_t{usage.ru_maxrss} * 1024;
}

int64_t BytesPerEvent(void (*work)(const WholeRecording&, OutputFile*)) {
  int64_t peaks[2];
  for (int large : {0, 1}) {
    const int launches = large ? kLaunches * kTimes : kLaunches;
    const std::string path = absl::StrCat(testing::TempDir(), "/export_memory_", getpid());
    WriteTrace(path, launches);
    peaks[large] = PeakBytes([&] {
      const auto recording = ImportFile(path);
      ASSERT_TRUE(recording.ok()) << recording.status();
      ASSERT_EQ(recording->activities.size(), static_cast<size_t>(2 * launches));
      auto file = OutputFile::Create("/dev/null");
      ASSERT_TRUE(file.ok()) << file.status();
      work(*recording, file->get());
      EXPECT_TRUE((*file)->Finish().ok());
    });
    std::filesystem::remove(path);
  }
  return (peaks[1] - peaks[0]) / ((kTimes - 1) * kLaunches * kEventsOfALaunch);
}

TEST(ExportMemoryTest, ATraceForViewersTakesNoMoreThanTheSums) {
  const int64_t bytes = BytesPerEvent([](const WholeRecording& recording, OutputFile* out) {
    WriteChromeTrace(recording, Summarize(recording), {}, out);
  });
  EXPECT_LT(bytes, kMostBytesPerEvent);
  RecordProperty("bytes_per_event", static_cast<int>(bytes));
}

TEST(ExportMemoryTest, StacksTakeNoMoreThanTheSums) {
  const int64_t bytes = BytesPerEvent([](const WholeRecording& recording, OutputFile* out) {
    const Summary summary = Summarize(recording);
    const auto stacks = FoldStacks(recording, summary, "self_cpu_time");
    ASSERT_TRUE(stacks.ok()) << stacks.status();
    EXPECT_EQ(stacks->size(), 40u);
    WriteFoldedStacks(*stacks, out);
  });
  EXPECT_LT(bytes, kMostBytesPerEvent);
  RecordProperty("bytes_per_event", static_cast<int>(bytes));
}

}  // namespace
}  // namespace tp

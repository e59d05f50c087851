#include "analyzer/summarize/whole_summary.h"

#include <cstdint>
#include <string>

#include "analyzer/summarize/recording_extent.h"
#include "gtest/gtest.h"

namespace tp {
namespace {

constexpr int64_t kDayNs = int64_t{24} * 3600 * 1'000'000'000;
constexpr int64_t kNowNs = 1'700'000'000'000'000'000;

void AddSpan(int64_t start_ns, int64_t end_ns, WholeRecording* recording) {
  Span span;
  span.id = recording->spans.size();
  span.name = recording->strings->Intern("operation");
  span.kind = SpanKind::kOperation;
  span.start_ns = start_ns;
  span.end_ns = end_ns;
  recording->spans.push_back(span);
}

void AddWork(int64_t start_ns, int64_t end_ns, WholeRecording* recording,
             ActivityKind kind = ActivityKind::kKernel) {
  DeviceActivity activity;
  activity.kind = kind;
  activity.name = recording->strings->Intern("work");
  activity.start_ns = start_ns;
  activity.end_ns = end_ns;
  recording->activities.push_back(activity);
}

// An operation of 1 ms with a kernel of 7 us.
WholeRecording OneKernel(int64_t start_ns) {
  WholeRecording recording;
  AddSpan(start_ns, start_ns + 1'000'000, &recording);
  AddWork(start_ns + 1000, start_ns + 8000, &recording);
  recording.base_ns = start_ns;
  return recording;
}

int64_t DeviceTimeNs(const WholeRecording& recording) {
  return Summarize(recording).device_time_ns();
}

uint64_t Outside(const WholeRecording& recording) {
  return Summarize(recording).impossible().count(Impossibility::kOutsideRecording);
}

TEST(WholeSummary, LeavesOutAndCountsDeviceWorkFarOutside) {
  for (const int64_t start_ns :
       {int64_t{0}, int64_t{1}, int64_t{1'000'000'000'000'000'000}, kNowNs - 366 * kDayNs,
        kNowNs + 366 * kDayNs, int64_t{4'000'000'000'000'000'000}}) {
    WholeRecording recording = OneKernel(kNowNs);
    AddWork(start_ns, start_ns + 5000, &recording, ActivityKind::kCopy);
    EXPECT_EQ(DeviceTimeNs(recording), 7000) << start_ns;
    EXPECT_EQ(Outside(recording), 1u) << start_ns;
    const query::Table table = TabulateWhole(recording, Summarize(recording), {});
    ASSERT_EQ(table.losses_size(), 1);
    EXPECT_EQ(table.losses(0).kind(), "copies");
    EXPECT_EQ(table.losses(0).cause(), "outside the time of the recording");
    EXPECT_EQ(EndOf(recording), kNowNs + 1'000'000);
  }
}

TEST(WholeSummary, LeavesOutWorkOfMoreThanAYear) {
  WholeRecording recording = OneKernel(kNowNs);
  AddWork(kNowNs, kNowNs + 400 * kDayNs, &recording);
  AddWork(0, kNowNs, &recording);
  EXPECT_EQ(DeviceTimeNs(recording), 7000);
  EXPECT_EQ(Outside(recording), 2u);
}

TEST(WholeSummary, NothingIsOutsideForIdleDaysOrForTheClockThatIsUsed) {
  for (const int64_t base_ns : {int64_t{-5'000'000}, int64_t{0}, kNowNs}) {
    WholeRecording recording = OneKernel(base_ns);
    AddWork(base_ns + 364 * kDayNs, base_ns + 364 * kDayNs + 5000, &recording);
    // And on, step by step, for longer than a year in all.
    AddWork(base_ns + 700 * kDayNs, base_ns + 700 * kDayNs + 5000, &recording);
    EXPECT_EQ(DeviceTimeNs(recording), 17'000) << base_ns;
    EXPECT_EQ(Outside(recording), 0u) << base_ns;
    EXPECT_TRUE(ExtentOf(recording).is_everything);
  }
}

TEST(WholeSummary, MostRecordsAreTheRecordingWhateverTheirKind) {
  WholeRecording recording = OneKernel(kNowNs);
  for (int i = 0; i < 10; ++i) AddWork(i * 1000, i * 1000 + 10, &recording);
  EXPECT_EQ(DeviceTimeNs(recording), 100);
  EXPECT_EQ(Outside(recording), 2u);
  EXPECT_EQ(EndOf(recording), 9010);
}

TEST(WholeSummary, TimesAtTheEndsOfTheClockDoNotOverflow) {
  WholeRecording recording = OneKernel(INT64_MAX / 2 - 2'000'000);
  AddWork(INT64_MIN, INT64_MAX, &recording);
  AddWork(INT64_MAX, INT64_MIN, &recording);
  AddSpan(INT64_MIN, kStillOpen, &recording);
  EXPECT_EQ(DeviceTimeNs(recording), 7000);
  EXPECT_EQ(Outside(recording), 3u);
}

TEST(WholeSummary, AFrameworksAllocationsAreToldToBeInNoSum) {
  WholeRecording recording = OneKernel(kNowNs);
  recording.memory_events.resize(2);
  const auto notes = [&](query::View view) {
    return TabulateWhole(recording, Summarize(recording), {.view = view}).notes_size();
  };
  EXPECT_EQ(notes(query::MEMORY), notes(query::KERNELS) + 1);
}

TEST(WholeSummary, AnEmptyRecordingEndsWhereItBegins) {
  WholeRecording recording;
  EXPECT_EQ(EndOf(recording), 0);
  EXPECT_EQ(DeviceTimeNs(recording), 0);
}

}  // namespace
}  // namespace tp

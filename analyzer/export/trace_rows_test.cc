#include "analyzer/export/trace_rows.h"

#include <map>

#include "gtest/gtest.h"

namespace tp {
namespace {

class TraceRowsTest : public testing::Test {
 protected:
  void Work(int64_t start_ns, int64_t end_ns, uint32_t stream = 7, int32_t device = 0,
            ActivityKind kind = ActivityKind::kKernel, uint32_t context = 1) {
    DeviceActivity activity;
    activity.kind = kind;
    activity.start_ns = start_ns;
    activity.end_ns = end_ns;
    activity.stream = stream;
    activity.device = device;
    activity.context = context;
    recording_.activities.push_back(activity);
  }
  void Call(int64_t thread) {
    DeviceActivity call;
    call.kind = ActivityKind::kRuntimeCall;
    call.device = -1;
    call.thread = thread;
    recording_.activities.push_back(call);
  }
  void Range(int64_t thread, int64_t start_ns, int64_t end_ns, bool asynchronous = false) {
    Span span;
    span.thread = thread;
    span.start_ns = start_ns;
    span.end_ns = end_ns;
    span.asynchronous = asynchronous;
    recording_.spans.push_back(span);
  }
  // Names of rows as "PROCESS/ROW", by the row.
  static std::map<std::pair<uint32_t, uint32_t>, std::string> Names(const TraceRows& rows) {
    std::map<std::pair<uint32_t, uint32_t>, std::string> names;
    for (const TraceRows::Named& row : rows.ByProcess()) {
      const auto [place, is_new] =
          names.emplace(std::pair(rows.Pid(row.row), row.row.tid), row.name);
      EXPECT_TRUE(is_new) << "two rows in one place: " << row.name << " and " << place->second;
    }
    return names;
  }

  WholeRecording recording_;
};

TEST_F(TraceRowsTest, WorkThatOverlapsOnOneStreamIsSpreadOverAsFewRowsAsItTakes) {
  Work(0, 100);
  Work(100, 200);  // Touching is no overlap.
  Work(150, 160);
  Work(155, 300);
  Work(160, 165);
  Work(200, 210);
  const TraceRows rows(recording_, "p");
  const uint32_t first = rows.OfActivity(0).tid, second = rows.OfActivity(2).tid,
                 third = rows.OfActivity(3).tid;
  EXPECT_EQ(first, 7u);
  EXPECT_EQ(rows.OfActivity(1).tid, first);
  EXPECT_NE(second, first);
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
  EXPECT_EQ(rows.OfActivity(4).tid, second);
  EXPECT_EQ(rows.OfActivity(5).tid, first);
  EXPECT_EQ(Names(rows).at({0, 7}), "stream 7");
  EXPECT_EQ(Names(rows).at({0, second}), "stream 7 #2");
  EXPECT_EQ(Names(rows).size(), 3u);
}

TEST_F(TraceRowsTest, OrderOfTheRecordsDoesNotMatter) {
  Work(100, 200);
  Work(0, 100);
  const TraceRows rows(recording_, "p");
  EXPECT_EQ(rows.OfActivity(0).tid, rows.OfActivity(1).tid);
}

TEST_F(TraceRowsTest, DevicesStreamsAndContextsHaveRowsOfTheirOwn) {
  Work(0, 1, 7, 0);
  Work(0, 1, 7, 1);
  Work(0, 1, 8, 1);
  Work(0, 1, 8, 1, ActivityKind::kCopy, 2);
  Work(0, 1, 7, 0, ActivityKind::kDeviceAnnotation);
  const TraceRows rows(recording_, "p");
  EXPECT_EQ(rows.Pid(rows.OfActivity(0)), 0u);
  EXPECT_EQ(rows.Pid(rows.OfActivity(1)), 1u);
  const auto names = Names(rows);
  EXPECT_EQ(names.size(), 5u);
  EXPECT_EQ(names.at({1, 8}), "stream 8 (context 1)");
  EXPECT_EQ(names.at({0, rows.OfActivity(4).tid}), "stream 7 annotations");
}

TEST_F(TraceRowsTest, StreamsHaveTheirNamesWhereTheRecordingIsOfOneProcess) {
  recording_.descriptions.streams[{1, 8}].given_name = "copies";
  recording_.descriptions.contexts[1].null_stream = 7;
  Work(0, 1, 7, 0);
  Work(0, 1, 8, 0);
  Work(0, 1, 8, 0, ActivityKind::kCopy, 2);
  Work(0, 1, 9, 0);
  const auto names = Names(TraceRows(recording_, "p"));
  EXPECT_EQ(names.at({0, 7}), "stream 7: default");
  EXPECT_EQ(names.at({0, 8}), "stream 8 (context 1): copies");
  EXPECT_EQ(names.at({0, 9}), "stream 9");

  // Whose it is, nobody knows.
  recording_.threads[1] = {4242, 4242, "one", ""};
  recording_.threads[2] = {4243, 4243, "other", ""};
  Range(1, 0, 10);
  Range(2, 0, 10);
  EXPECT_EQ(Names(TraceRows(recording_, "p")).at({0, 7}), "stream 7");
}

TEST_F(TraceRowsTest, HostRowsAreThoseOfTheirProcessesAndThreads) {
  recording_.threads[1] = {4242, 4243, "train", "main"};
  recording_.threads[2] = {4242, -5, "train", ""};
  recording_.threads[3] = {0, 4243, "loader", ""};  // Where device 0 is drawn.
  Range(1, 0, 10);
  Range(2, 0, 10);
  Call(1);
  Call(3);
  Work(0, 1);
  const TraceRows rows(recording_, "p");
  EXPECT_EQ(rows.Pid(rows.OfSpan(0)), 4242u);
  EXPECT_EQ(rows.OfSpan(0).tid, 4243u);
  EXPECT_EQ(rows.OfActivity(0).tid, rows.OfSpan(0).tid);
  EXPECT_EQ(rows.Pid(rows.OfSpan(1)), 4242u);
  EXPECT_NE(rows.Pid(rows.OfActivity(1)), 0u);
  const auto names = Names(rows);
  EXPECT_EQ(names.at({4242, 4243}), "main");
  EXPECT_EQ(names.at({4242, rows.OfSpan(1).tid}), "thread -5");
  ASSERT_EQ(rows.processes().size(), 3u);
  EXPECT_EQ(rows.processes()[0].name, "train");
  EXPECT_EQ(rows.processes()[1].name, "loader");
  EXPECT_EQ(rows.processes()[2].name, "GPU 0");
}

TEST_F(TraceRowsTest, StreamsOfProcessesThatShareADeviceAreTheirOwn) {
  recording_.threads[1] = {100, 100, "a", ""};
  recording_.threads[2] = {200, 200, "b", ""};
  Work(0, 10);
  recording_.activities.back().thread = 1;
  Work(5, 15);
  recording_.activities.back().thread = 2;
  Work(20, 25);
  recording_.activities.back().thread = -1;  // Nobody tells whose it is.
  const TraceRows rows(recording_, "p");
  EXPECT_EQ(rows.Owner(recording_.activities[0]), 100u);
  EXPECT_EQ(rows.Owner(recording_.activities[1]), 200u);
  EXPECT_EQ(rows.Owner(recording_.activities[2]), std::nullopt);
  const auto names = Names(rows);
  EXPECT_EQ(names.at({0, rows.OfActivity(0).tid}), "stream 7 (process 100)");
  EXPECT_EQ(names.at({0, rows.OfActivity(1).tid}), "stream 7 (process 200)");
  EXPECT_EQ(names.size(), 3u);
}

TEST_F(TraceRowsTest, OverheadHasARowInItsProcess) {
  recording_.threads[1] = {100, 100, "a", ""};
  Range(1, 0, 10);
  Work(0, 10, 0, -1, ActivityKind::kOverhead);
  Work(5, 15, 0, -1, ActivityKind::kOverhead);
  const TraceRows rows(recording_, "p");
  EXPECT_EQ(rows.processes().size(), 1u);
  EXPECT_EQ(Names(rows).at({100, rows.OfActivity(0).tid}), "overhead");
  EXPECT_EQ(Names(rows).at({100, rows.OfActivity(1).tid}), "overhead #2");
}

TEST_F(TraceRowsTest, RangesWithNoPlaceInTheNestingLeaveTheirThreadsRow) {
  Range(1, 0, 100);
  Range(1, 50, 150, /*asynchronous=*/true);
  Range(1, 60, 160, /*asynchronous=*/true);
  Range(1, 200, 210, /*asynchronous=*/true);
  const TraceRows rows(recording_, "p");
  EXPECT_NE(rows.OfSpan(1).tid, rows.OfSpan(0).tid);
  EXPECT_NE(rows.OfSpan(2).tid, rows.OfSpan(1).tid);
  EXPECT_EQ(rows.OfSpan(3).tid, rows.OfSpan(1).tid);
  EXPECT_EQ(rows.Pid(rows.OfSpan(3)), rows.Pid(rows.OfSpan(0)));
}

TEST_F(TraceRowsTest, ThereIsAProcessEvenWhereNothingIsKnown) {
  const TraceRows rows(recording_, "p");
  ASSERT_EQ(rows.processes().size(), 1u);
  EXPECT_EQ(rows.processes()[0].name, "p");
}

}  // namespace
}  // namespace tp

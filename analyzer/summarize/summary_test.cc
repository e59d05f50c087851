#include "analyzer/summarize/summary.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tp {
namespace {

class SummaryTest : public testing::Test {
 protected:
  Span MakeSpan(uint64_t id, std::string_view name, int64_t start_ns, int64_t end_ns,
                int64_t thread = 1) {
    Span span;
    span.id = id;
    span.name = strings_.Intern(name);
    span.kind = SpanKind::kOperation;
    span.start_ns = start_ns;
    span.end_ns = end_ns;
    span.thread = thread;
    return span;
  }

  DeviceActivity MakeWork(std::string_view name, int64_t start_ns, int64_t end_ns,
                          uint64_t correlation = 0) {
    DeviceActivity work;
    work.name = strings_.Intern(name);
    work.start_ns = start_ns;
    work.end_ns = end_ns;
    work.correlation = correlation;
    return work;
  }

  DeviceActivity MakeCall(std::string_view name, uint64_t correlation,
                          uint64_t operation = kNoOperation,
                          ActivityKind kind = ActivityKind::kRuntimeCall) {
    DeviceActivity call = MakeWork(name, 100, 105, correlation);
    call.kind = kind;
    call.operation = operation;
    call.device = -1;
    return call;
  }

  static query::Table TableOf(const Summary& summary, query::View view, int64_t now_ns = 0) {
    TableOptions options;
    options.view = view;
    const Summary* one = &summary;
    return Tabulate({&one, 1}, options, now_ns);
  }

  // The group with this name; an empty row if there is none.
  static query::OperationRow Operation(const Summary& summary, std::string_view name,
                                       int64_t now_ns = 0) {
    query::Table table = TableOf(summary, query::OPERATIONS, now_ns);
    for (const query::OperationRow& row : table.operations()) {
      if (row.name() == name) return row;
    }
    return {};
  }

  StringTable strings_;
};

TEST_F(SummaryTest, WorkOfOneOfManySpansMovesUpAfterATable) {
  Summary summary(&strings_);
  constexpr uint64_t kOuter = 1, kInner = 100;
  summary.AddSpan(MakeSpan(kOuter, "outer", 0, 10'000));
  for (uint64_t i = 0; i < 100; ++i) {
    const auto start_ns = static_cast<int64_t>(i * 100);
    summary.AddSpan(MakeSpan(kInner + 2 * i, "middle", start_ns, start_ns + 90));
    summary.AddSpan(MakeSpan(kInner + 2 * i + 1, "inner", start_ns + 10, start_ns + 80));
  }
  int64_t expected_ns = 0;
  // First of all of them, which are looked at all, then of a few, which are looked for.
  for (const uint64_t spans : {100, 3}) {
    for (uint64_t i = 0; i < spans; ++i) {
      DeviceActivity work = MakeWork("kernel", 20'000, 20'007);
      work.operation = kInner + 2 * i + 1;
      summary.AddActivity(work);
      expected_ns += 7;
    }
    for (const char* name : {"outer", "middle", "inner"}) {
      EXPECT_EQ(Operation(summary, name).device_time_total_ns(), expected_ns) << name;
    }
  }
}

TEST_F(SummaryTest, AnEmptyOneHasEmptyTables) {
  Summary summary(&strings_);
  for (int view = 0; view < static_cast<int>(query::View_ARRAYSIZE); ++view) {
    query::Table table = TableOf(summary, static_cast<query::View>(view), 77);
    EXPECT_EQ(table.view(), view);
    EXPECT_EQ(table.now_ns(), 77);
    EXPECT_EQ(table.operations_size() + table.kernels_size() + table.devices_size(), 0);
    EXPECT_EQ(table.device_kind(), "");
  }
  EXPECT_EQ(TotalRow(TableOf(summary, query::OPERATIONS)).count(), 0);
}

TEST_F(SummaryTest, WaitsAndOverheadAreRowsAmongCallsAndNeverDeviceTime) {
  Summary summary(&strings_);
  DeviceActivity wait = MakeWork("stream synchronize", 100, 160, 9);
  wait.kind = ActivityKind::kSynchronization;
  wait.device = -1;
  wait.context = 1;
  wait.stream = 7;
  summary.AddActivity(wait);
  wait.has_stream = false;
  wait.name = strings_.Intern("context synchronize");
  summary.AddActivity(wait);
  DeviceActivity overhead = MakeWork("CUPTI buffer flush", 200, 230);
  overhead.kind = ActivityKind::kOverhead;
  summary.AddActivity(overhead);
  DeviceActivity kernel = MakeWork("kernel", 90, 95, 9);
  kernel.context = 1;
  kernel.stream = 7;
  summary.AddActivity(kernel);

  EXPECT_EQ(summary.device_time_ns(), 5);
  EXPECT_TRUE(TableOf(summary, query::KERNELS).kernels_size() == 1);
  const query::Table calls = TableOf(summary, query::API);
  ASSERT_EQ(calls.calls_size(), 3);
  EXPECT_EQ(calls.calls(0).domain(), "synchronization");
  EXPECT_EQ(calls.calls(0).total_ns(), 60);
  EXPECT_EQ(calls.calls(2).domain(), "overhead");
  // A wait is no launch: the kernel did not begin before its call.
  EXPECT_EQ(summary.impossible().count(Impossibility::kStartsBeforeLaunch), 0u);
  const query::Table streams = TableOf(summary, query::STREAMS);
  ASSERT_EQ(streams.streams_size(), 1);
  EXPECT_EQ(streams.streams(0).wait_count(), 1);
  EXPECT_EQ(streams.streams(0).wait_ns(), 60);
}

TEST_F(SummaryTest, AGraphsWorkBelongsToItsLaunchAndShowsWhereItWasCaptured) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "forward", 100, 200));
  summary.AddSpan(MakeSpan(2, "replay", 300, kStillOpen));
  summary.AddGraphNode({.id = 50, .operation = 1});
  summary.AddGraphNode({.id = 60, .original = 50});
  summary.AddActivity(MakeCall("cudaGraphLaunch", 9, 2));
  DeviceActivity kernel = MakeWork("kernel", 400, 430, 9);
  kernel.graph_node = 60;
  summary.AddActivity(kernel);
  summary.AddActivity(kernel);
  const query::OperationRow replay = Operation(summary, "replay", 500);
  EXPECT_EQ(replay.self_device_time_total_ns(), 60);
  EXPECT_EQ(replay.captured_device_time_ns(), 0);
  const query::OperationRow forward = Operation(summary, "forward", 500);
  EXPECT_EQ(forward.device_time_total_ns(), 0);
  EXPECT_EQ(forward.captured_device_time_ns(), 60);
  EXPECT_EQ(forward.captured_kernel_count(), 2);
}

TEST_F(SummaryTest, AGraphAsAWholeIsDeviceWorkOfItsOwnKind) {
  Summary summary(&strings_);
  DeviceActivity graph = MakeWork("CUDA graph 1", 400, 430);
  graph.kind = ActivityKind::kGraph;
  summary.AddActivity(graph);
  EXPECT_EQ(summary.device_time_ns(), 30);
  const query::Table table = TableOf(summary, query::KERNELS);
  ASSERT_EQ(table.kernels_size(), 1);
  EXPECT_EQ(table.kernels(0).kind(), "g");
  EXPECT_EQ(TableOf(summary, query::COPIES).copies_size(), 0);
}

TEST_F(SummaryTest, MemoryHasARowForEachKindAndDevice) {
  Summary summary(&strings_);
  summary.SetProcess(4242);
  MemoryChange event;
  event.time_ns = 100;
  event.operation = MemoryOperation::kAllocation;
  event.kind = 3;
  event.address = 1000;
  event.bytes = 64;
  summary.AddMemory(event);
  event.kind = 2;
  event.address = 2000;
  summary.AddMemory(event);
  const query::Table table = TableOf(summary, query::MEMORY);
  ASSERT_EQ(table.memory_size(), 2);
  EXPECT_EQ(table.memory(0).kind(), "pinned");
  EXPECT_EQ(table.memory(1).kind(), "device");
  EXPECT_EQ(table.memory(1).pid(), 4242);
  EXPECT_EQ(table.memory(1).live_bytes(), 64u);
}

TEST_F(SummaryTest, KernelsShowHowTheyWereLaunched) {
  Summary summary(&strings_);
  const StringId kernel = strings_.Intern("kernel");
  for (int i = 0; i < 3; ++i) summary.AddActivity(MakeWork("kernel", 300, 310));
  KernelLaunch launch;
  launch.configuration = {.grid = {10, 2, 1}, .block = {128, 1, 1}, .registers_per_thread = 32};
  launch.queued_to_start_ns = 50;
  summary.AddKernelLaunch(kernel, launch);
  launch.configuration.grid[0] = 20;
  launch.configuration.registers_per_thread = 64;
  launch.configuration.dynamic_shared_bytes = 1024;
  launch.configuration.type = LaunchType::kCooperative;
  launch.queued_to_start_ns = 150;
  summary.AddKernelLaunch(kernel, launch);
  summary.AddKernelLaunch(kernel, KernelLaunch());  // Does not tell.
  summary.AddActivity(MakeWork("silent", 400, 410));

  query::Table table = TableOf(summary, query::KERNELS);
  ASSERT_EQ(table.kernels_size(), 2);
  EXPECT_EQ(table.kernels(0).count(), 3);
  const query::LaunchSummary& launches = table.kernels(0).launches();
  EXPECT_EQ(launches.launches(), 2);
  EXPECT_EQ(launches.average_blocks(), 30);
  EXPECT_EQ(launches.average_threads_per_block(), 128);
  EXPECT_EQ(launches.average_registers(), 48);
  EXPECT_EQ(launches.average_dynamic_shared_bytes(), 512);
  EXPECT_EQ(launches.cooperative(), 1);
  EXPECT_EQ(launches.grid_size(), 0) << "not always the same";
  ASSERT_EQ(launches.block_size(), 3);
  EXPECT_EQ(launches.block(0), 128u);
  EXPECT_EQ(launches.cluster_size(), 0);
  EXPECT_EQ(launches.queued(), 2);
  EXPECT_EQ(launches.queued_to_start_total_ns(), 200);
  EXPECT_EQ(launches.submitted(), 0);
  EXPECT_FALSE(table.kernels(1).has_launches());

  // Over two processes it is the same as in one.
  const Summary* both[] = {&summary, &summary};
  TableOptions options;
  options.view = query::KERNELS;
  table = Tabulate(both, options, 0);
  EXPECT_EQ(table.kernels(0).launches().launches(), 4);
  EXPECT_EQ(table.kernels(0).launches().average_registers(), 48);
  EXPECT_EQ(table.kernels(0).launches().block_size(), 3);
}

TEST_F(SummaryTest, OpenSpansCountAsCallsThatEndNow) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "epoch", 100, kStillOpen));
  summary.AddSpan(MakeSpan(3, "done", 110, 150));
  summary.AddSpan(MakeSpan(2, "step", 140, kStillOpen));  // Overlaps the one before it.
  summary.AddSpan(MakeSpan(4, "inside", 160, 170));
  summary.AddActivity(MakeCall("cudaLaunchKernel", 9, 2));
  summary.AddActivity(MakeWork("kernel", 300, 307, 9));

  query::OperationRow epoch = Operation(summary, "epoch", 200);
  EXPECT_EQ(epoch.count(), 1);
  EXPECT_EQ(epoch.open(), 1);
  EXPECT_EQ(epoch.cpu_time_total_ns(), 100);
  EXPECT_EQ(epoch.self_cpu_time_total_ns(), 10);  // Covered from 110 on.
  EXPECT_EQ(epoch.device_time_total_ns(), 7);
  EXPECT_EQ(epoch.self_device_time_total_ns(), 0);
  query::OperationRow step = Operation(summary, "step", 200);
  EXPECT_EQ(step.self_cpu_time_total_ns(), 50);
  EXPECT_EQ(step.self_device_time_total_ns(), 7);
  EXPECT_EQ(step.kernel_count(), 1);

  // Later the same spans have lasted longer; what they contain has not.
  EXPECT_EQ(Operation(summary, "step", 300).cpu_time_total_ns(), 160);
  EXPECT_EQ(Operation(summary, "inside", 300).cpu_time_total_ns(), 10);

  summary.CloseSpan(2, 180);
  summary.CloseSpan(1, 190);
  EXPECT_EQ(Operation(summary, "epoch", 999).open(), 0);
  EXPECT_EQ(Operation(summary, "epoch", 999).cpu_time_total_ns(), 90);
  EXPECT_EQ(Operation(summary, "epoch", 999).self_cpu_time_total_ns(), 20);
}

TEST_F(SummaryTest, TellsWhichSpansAreOpen) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "ended", 0, 5));
  Span open = MakeSpan(2, "open", 10, kStillOpen, 77);
  open.shapes = strings_.Intern("[[2]]");
  open.dtypes = strings_.Intern("[\"float\"]");
  open.flops = 12;
  summary.AddSpan(open);
  Span other = MakeSpan(3, "asynchronous", 20, kStillOpen);
  other.asynchronous = true;
  summary.AddSpan(other);
  std::vector<Span> told;
  summary.VisitOpenSpans([&](const Span& span, bool has_key) {
    EXPECT_TRUE(has_key);
    told.push_back(span);
  });
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].id, 2u);
  EXPECT_EQ(told[0].start_ns, 10);
  EXPECT_EQ(told[0].end_ns, kStillOpen);
  EXPECT_EQ(told[0].thread, 77);
  EXPECT_EQ(told[0].name, open.name);
  EXPECT_EQ(told[0].kind, SpanKind::kOperation);
  EXPECT_EQ(told[0].shapes, open.shapes);
  EXPECT_EQ(told[0].dtypes, open.dtypes);
  EXPECT_EQ(told[0].flops, 12);
  EXPECT_TRUE(told[1].asynchronous);
}

TEST_F(SummaryTest, SpansThatBeganBeforeTheyCountCountFromThen) {
  Summary summary(&strings_);
  summary.SetSpansFrom(100);
  summary.AddSpan(MakeSpan(1, "outer", 10, kStillOpen));
  summary.AddSpan(MakeSpan(2, "inner", 90, 130));
  summary.AddSpan(MakeSpan(3, "before", 70, 80));  // It is told late, as it was.
  summary.AddSpan(MakeSpan(4, "gone", 60, kStillOpen));
  summary.CloseSpan(4, 95);
  summary.CloseSpan(1, 200);
  EXPECT_EQ(Operation(summary, "outer").cpu_time_total_ns(), 100);
  EXPECT_EQ(Operation(summary, "outer").self_cpu_time_total_ns(), 70);
  EXPECT_EQ(Operation(summary, "inner").cpu_time_total_ns(), 30);
  EXPECT_EQ(Operation(summary, "before").cpu_time_total_ns(), 10);
  EXPECT_EQ(Operation(summary, "gone").count(), 0);
  EXPECT_EQ(TableOf(summary, query::OPERATIONS).losses_size(), 0);
  google::protobuf::RepeatedPtrField<query::Loss> impossible;
  summary.impossible().AddTo(&impossible);
  EXPECT_EQ(impossible.size(), 0);
}

TEST_F(SummaryTest, ALookFromBeforeTheLatestRecordGivesNoNegativeTimes) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "open", 100, kStillOpen));
  summary.AddSpan(MakeSpan(2, "child", 110, 500));
  for (int64_t now_ns : {0, 105, 200}) {
    query::OperationRow open = Operation(summary, "open", now_ns);
    EXPECT_GE(open.cpu_time_total_ns(), 0);
    EXPECT_GE(open.self_cpu_time_total_ns(), 0);
  }
}

TEST_F(SummaryTest, ASpanThatIsClosedBeforeItComesEndsWhenItComes) {
  Summary summary(&strings_);
  summary.CloseSpan(5, 130);
  summary.AddSpan(MakeSpan(5, "late", 100, kStillOpen));
  EXPECT_EQ(Operation(summary, "late", 999).cpu_time_total_ns(), 30);
  EXPECT_EQ(Operation(summary, "late", 999).open(), 0);
  summary.CloseSpan(5, 200);  // Once is enough.
  EXPECT_EQ(Operation(summary, "late", 999).cpu_time_total_ns(), 30);
}

TEST_F(SummaryTest, DeviceTimeThatTheSourceGaveIsInclusive) {
  Summary summary(&strings_);
  Span inner = MakeSpan(2, "inner", 10, 20);
  inner.given_device_ns = 30;
  inner.given_kernel_count = 2;
  Span outer = MakeSpan(1, "outer", 0, 100);
  outer.given_device_ns = 50;
  summary.AddSpan(inner);
  summary.AddSpan(outer);
  summary.AddSpan(MakeSpan(3, "around", 0, 200));
  EXPECT_EQ(Operation(summary, "inner").self_device_time_total_ns(), 30);
  EXPECT_EQ(Operation(summary, "inner").kernel_count(), 2);
  EXPECT_EQ(Operation(summary, "outer").device_time_total_ns(), 50);
  EXPECT_EQ(Operation(summary, "outer").self_device_time_total_ns(), 20);
  EXPECT_EQ(Operation(summary, "around").device_time_total_ns(), 50);
  EXPECT_EQ(TableOf(summary, query::OPERATIONS).device_kind(), "cuda");
}

TEST_F(SummaryTest, ImpossibleRecordsAreCountedAndNeverSummed) {
  Summary summary(&strings_);
  summary.SetRecordingStart(1000);
  summary.SetLatest(5000);
  summary.AddSpan(MakeSpan(1, "backwards", 2000, 1500));
  summary.AddSpan(MakeSpan(2, "closed backwards", 2000, kStillOpen));
  summary.CloseSpan(2, 1500);
  summary.AddActivity(MakeWork("backwards", 2000, 1999));
  summary.AddSpan(MakeSpan(3, "before", 10, 20));
  summary.AddActivity(MakeWork("before", 10, 20));
  summary.AddActivity(
      MakeWork("other clock", 1'760'000'000'000'000'000, 1'760'000'000'000'000'010));
  summary.AddActivity(MakeWork("no clock", INT64_MIN, INT64_MAX));
  EXPECT_EQ(summary.impossible().count(Impossibility::kEndsBeforeStart), 3u);
  EXPECT_EQ(summary.impossible().count(Impossibility::kOutsideRecording), 4u);
  EXPECT_EQ(summary.device_time_ns(), 0);
  EXPECT_EQ(TableOf(summary, query::OPERATIONS, 3000).operations_size(), 0);
  EXPECT_EQ(TableOf(summary, query::KERNELS).kernels_size(), 0);
}

TEST_F(SummaryTest, AKernelThatStartsBeforeItsLaunchIsCountedAndNotSummed) {
  for (const bool call_first : {true, false}) {
    SCOPED_TRACE(call_first);
    Summary summary(&strings_);
    summary.AddSpan(MakeSpan(1, "mm", 90, 200));
    const DeviceActivity call = MakeCall("cudaLaunchKernel", 7, 1);  // At 100.
    const DeviceActivity early = MakeWork("early", 99, 150, 7),
                         right = MakeWork("right", 100, 130, 7);
    if (call_first) summary.AddActivity(call);
    summary.AddActivity(early);
    summary.AddActivity(right);
    if (!call_first) {
      // As long as no call contradicts it, it is work as any other.
      EXPECT_EQ(summary.device_time_ns(), 81);
      EXPECT_EQ(TableOf(summary, query::KERNELS).kernels_size(), 2);
      summary.AddActivity(call);
    }
    EXPECT_EQ(summary.device_time_ns(), 30);
    EXPECT_EQ(Operation(summary, "mm").device_time_total_ns(), 30);
    EXPECT_EQ(Operation(summary, "mm").kernel_count(), 1);
    const query::Table kernels = TableOf(summary, query::KERNELS);
    ASSERT_EQ(kernels.kernels_size(), 1);
    EXPECT_EQ(kernels.kernels(0).name(), "right");
    EXPECT_EQ(kernels.devices(0).busy_ns(), 30);

    query::Table losses;
    summary.impossible().AddTo(losses.mutable_losses());
    ASSERT_EQ(losses.losses_size(), 1);
    EXPECT_EQ(losses.losses(0).kind(), "kernels");
    EXPECT_EQ(losses.losses(0).cause(), "start before their launch");
    EXPECT_EQ(losses.losses(0).count(), 1u);
  }
}

TEST_F(SummaryTest, OfTwoCallsTheEarlierIsTheLaunch) {
  Summary summary(&strings_);
  DeviceActivity inner = MakeCall("cuLaunchKernel", 7, kNoOperation, ActivityKind::kDriverCall);
  inner.start_ns = 120, inner.end_ns = 125;
  DeviceActivity outer = MakeCall("cudaLaunchKernel", 7);
  outer.end_ns = 130;
  summary.AddActivity(inner);
  summary.AddActivity(MakeWork("kernel", 110, 150, 7));
  EXPECT_EQ(summary.impossible().count(Impossibility::kStartsBeforeLaunch), 1u);
  EXPECT_EQ(summary.device_time_ns(), 0);
  summary.AddActivity(outer);
  EXPECT_EQ(summary.impossible().count(Impossibility::kStartsBeforeLaunch), 0u);
  EXPECT_EQ(summary.device_time_ns(), 40);
  EXPECT_EQ(TableOf(summary, query::KERNELS).kernels(0).min_ns(), 40);
}

TEST_F(SummaryTest, WorkThatWaitsForItsLaunchIsBoundedAndComplete) {
  SummaryLimits limits;
  limits.unconfirmed = 100;
  Summary summary(&strings_, limits);
  for (int i = 0; i < 100; ++i)
    summary.AddActivity(MakeWork("kernel", 100 + i, 110 + i, 1 + i % 7));
  const size_t full = summary.memory_bytes();
  for (int i = 100; i < 5000; ++i) {
    summary.AddActivity(MakeWork("kernel", 100 + i, 110 + i, 1 + i % 7));
  }
  EXPECT_LT(summary.memory_bytes(), full + 8192);
  for (int round = 0; round < 2; ++round) {  // Looking changes nothing.
    const query::Table kernels = TableOf(summary, query::KERNELS);
    ASSERT_EQ(kernels.kernels_size(), 1);
    EXPECT_EQ(kernels.kernels(0).count(), 5000);
    EXPECT_EQ(kernels.kernels(0).total_ns(), 50'000);
    EXPECT_EQ(kernels.devices(0).busy_ns(), 5009);
  }
  // Only what is still kept can turn out to be impossible.
  for (uint64_t correlation = 1; correlation <= 7; ++correlation) {
    DeviceActivity call = MakeCall("cudaLaunchKernel", correlation);
    call.start_ns = call.end_ns = 100'000;
    summary.AddActivity(call);
  }
  EXPECT_EQ(summary.impossible().count(Impossibility::kStartsBeforeLaunch), 100u);
  EXPECT_EQ(TableOf(summary, query::KERNELS).kernels(0).count(), 4900);
  EXPECT_EQ(summary.device_time_ns(), 49'000);
}

TEST_F(SummaryTest, AbsurdTimesDoNoHarm) {
  Summary summary(&strings_);
  constexpr int64_t kFar = (int64_t{1} << 62) - 1;
  for (int i = 0; i < 10; ++i) {
    summary.AddSpan(MakeSpan(i, "long", -kFar, kFar, i));
    summary.AddActivity(MakeWork("long", -kFar, kFar));
  }
  EXPECT_EQ(Operation(summary, "long", INT64_MAX).count(), 10);
  EXPECT_EQ(TableOf(summary, query::KERNELS).kernels(0).count(), 10);
}

TEST_F(SummaryTest, ARecordingOfAnyClockIsTakenWhenItsStartIsUnknown) {
  Summary summary(&strings_);
  summary.AddActivity(MakeWork("kernel", 1'760'000'000'000'000'000, 1'760'000'000'000'000'010));
  EXPECT_EQ(summary.device_time_ns(), 10);
  EXPECT_EQ(summary.impossible().count(Impossibility::kOutsideRecording), 0u);
}

TEST_F(SummaryTest, WorkIsUnattributedUntilItsOperationIsKnown) {
  Summary summary(&strings_);
  summary.AddActivity(MakeWork("kernel", 500, 520, 7));
  EXPECT_EQ(summary.unattributed_count(), 1u);
  summary.AddLaunchOperation(7, 42);
  EXPECT_EQ(summary.unattributed_ns(), 20);
  summary.AddSpan(MakeSpan(42, "mm", 0, 10));
  EXPECT_EQ(summary.unattributed_count(), 0u);
  EXPECT_EQ(summary.unattributed_ns(), 0);
  EXPECT_EQ(Operation(summary, "mm").self_device_time_total_ns(), 20);
}

TEST_F(SummaryTest, ARuntimeAndADriverCallOfOneLaunchCountItsWorkOnce) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "mm", 0, 1000));
  summary.AddActivity(MakeCall("cudaLaunchKernel", 7, 1));
  summary.AddActivity(MakeCall("cuLaunchKernel", 7, 1, ActivityKind::kDriverCall));
  summary.AddActivity(MakeWork("kernel", 500, 520, 7));
  summary.AddLaunchOperation(7, 1);
  EXPECT_EQ(Operation(summary, "mm").device_time_total_ns(), 20);
  EXPECT_EQ(Operation(summary, "mm").kernel_count(), 1);
  EXPECT_EQ(summary.device_time_ns(), 20);
}

TEST_F(SummaryTest, OpenSpansOfASourceThatIsGoneEndWhenItWasLastHeardOf) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "open", 100, kStillOpen));
  summary.SetRecordingEnd(150);
  EXPECT_EQ(Operation(summary, "open", 120).cpu_time_total_ns(), 20);
  EXPECT_EQ(Operation(summary, "open", 200).cpu_time_total_ns(), 50);
  summary.SetRecordingEnd(INT64_MAX);
  EXPECT_EQ(Operation(summary, "open", 300).cpu_time_total_ns(), 200) << "it came back";
}

TEST_F(SummaryTest, AsynchronousSpansHaveNoSelfCpuTime) {
  Summary summary(&strings_);
  Span range = MakeSpan(1, "range", 0, 100);
  range.asynchronous = true;
  summary.AddSpan(range);
  summary.AddSpan(MakeSpan(2, "inside", 10, 20));
  Span open = range;
  open.id = 3;
  open.end_ns = kStillOpen;
  summary.AddSpan(open);
  for (const bool has_ended : {false, true}) {
    if (has_ended) summary.CloseSpan(3, 100);
    const query::OperationRow row = Operation(summary, "range", 100);
    EXPECT_EQ(row.cpu_time_total_ns(), 200);
    EXPECT_EQ(row.self_cpu_time_total_ns(), 0);
    EXPECT_TRUE(row.asynchronous());
    EXPECT_FALSE(Operation(summary, "inside").asynchronous());
    for (const query::View view : {query::OPERATIONS, query::SPANS}) {
      EXPECT_EQ(TableOf(summary, view, 100).self_cpu_time_total_ns(), 10);
    }
  }
}

TEST_F(SummaryTest, CallsAndCopiesHaveTheirRows) {
  Summary summary(&strings_);
  DeviceActivity failed = MakeCall("cudaMalloc", 1);
  failed.result = 2;
  summary.AddActivity(failed);
  summary.AddActivity(MakeCall("cudaMalloc", 2));
  summary.AddActivity(MakeCall("cudaMalloc", 2, kNoOperation, ActivityKind::kDriverCall));
  query::Table calls = TableOf(summary, query::API);
  ASSERT_EQ(calls.calls_size(), 2);
  EXPECT_EQ(calls.calls(0).domain(), "runtime");
  EXPECT_EQ(calls.calls(0).count(), 2);
  EXPECT_EQ(calls.calls(0).errors(), 1);
  EXPECT_EQ(calls.calls(0).total_ns(), 10);
  EXPECT_EQ(calls.calls(1).domain(), "driver");

  DeviceActivity copy = MakeWork("Memcpy HtoD", 10, 30);
  copy.kind = ActivityKind::kCopy;
  copy.copy_kind = 1;
  copy.source_memory = 2;
  copy.destination_memory = 3;
  copy.bytes = 4096;
  summary.AddActivity(copy);
  summary.AddActivity(copy);
  DeviceActivity fill = copy;
  fill.kind = ActivityKind::kFill;
  fill.source_memory = 0;
  fill.end_ns = 11;
  summary.AddActivity(fill);
  query::Table copies = TableOf(summary, query::COPIES);
  ASSERT_EQ(copies.copies_size(), 2);
  EXPECT_EQ(copies.copies(0).direction(), "HtoD");
  EXPECT_EQ(copies.copies(0).source_memory(), "pinned");
  EXPECT_EQ(copies.copies(0).destination_memory(), "device");
  EXPECT_EQ(copies.copies(0).bytes(), 8192);
  EXPECT_EQ(copies.copies(0).total_ns(), 40);
  EXPECT_EQ(copies.copies(1).direction(), "fill");
}

TEST_F(SummaryTest, StreamsTellTheirTotalAndTheirBusyTime) {
  Summary summary(&strings_);
  summary.SetProcess(4242);
  DeviceActivity work = MakeWork("kernel", 0, 100);
  work.stream = 7;
  summary.AddActivity(work);
  work.start_ns = 50;
  work.end_ns = 150;
  summary.AddActivity(work);
  work.stream = 8;
  summary.AddActivity(work);
  query::Table table = TableOf(summary, query::STREAMS);
  ASSERT_EQ(table.streams_size(), 2);
  EXPECT_EQ(table.streams(0).pid(), 4242);
  EXPECT_EQ(table.streams(0).stream(), 7u);
  EXPECT_EQ(table.streams(0).total_ns(), 200);
  EXPECT_EQ(table.streams(0).busy_ns(), 150);
  EXPECT_EQ(table.streams(1).busy_ns(), 100);
  ASSERT_EQ(table.devices_size(), 1);
  EXPECT_EQ(table.devices(0).busy_ns(), 150);
  EXPECT_EQ(table.device_time_total_ns(), 300);
}

TEST_F(SummaryTest, GroupsOfSeveralRecordingsWithOneKeyAreOneRow) {
  StringTable other_strings;
  other_strings.Intern("something else");  // So that ids differ.
  Summary one(&strings_), other(&other_strings);
  one.AddSpan(MakeSpan(1, "mm", 0, 10));
  Span span = MakeSpan(1, "mm", 0, 40);
  span.name = other_strings.Intern("mm");
  other.AddSpan(span);
  one.AddActivity(MakeWork("kernel", 0, 100));
  DeviceActivity work = MakeWork("kernel", 60, 120);
  work.name = other_strings.Intern("kernel");
  other.AddActivity(work);

  const Summary* both[] = {&one, &other};
  query::Table table = Tabulate(both, {}, 0);
  ASSERT_EQ(table.operations_size(), 1);
  EXPECT_EQ(table.operations(0).count(), 2);
  EXPECT_EQ(table.operations(0).cpu_time_total_ns(), 50);
  EXPECT_EQ(table.operations(0).cpu_time_max_ns(), 40);
  ASSERT_EQ(table.devices_size(), 1);
  EXPECT_EQ(table.devices(0).busy_ns(), 120);
  TableOptions kernels;
  kernels.view = query::KERNELS;
  table = Tabulate(both, kernels, 0);
  ASSERT_EQ(table.kernels_size(), 1);
  EXPECT_EQ(table.kernels(0).total_ns(), 160);
}

TEST_F(SummaryTest, NamesThatAreNotUtf8AreMadeSo) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "bad \xff name", 0, 10));
  summary.AddActivity(MakeWork("\xfe", 0, 10));
  EXPECT_EQ(TableOf(summary, query::OPERATIONS).operations(0).name(), "bad \uFFFD name");
  EXPECT_EQ(TableOf(summary, query::KERNELS).kernels(0).raw_name(), "\uFFFD");
}

TEST_F(SummaryTest, DeepNestingIsNoMatterOfTheStack) {
  constexpr int64_t kDepth = 100'000;
  for (bool children_first : {false, true}) {
    Summary summary(&strings_);
    for (int64_t i = 0; i < kDepth; ++i) {
      int64_t level = children_first ? kDepth - 1 - i : i;
      summary.AddSpan(MakeSpan(level, "level", level, 2 * kDepth - level));
    }
    DeviceActivity work = MakeWork("kernel", 0, 3);
    work.operation = kDepth - 1;
    summary.AddActivity(work);
    query::OperationRow row = Operation(summary, "level");
    EXPECT_EQ(row.count(), kDepth);
    EXPECT_EQ(row.self_cpu_time_total_ns(), 2 * kDepth);
    EXPECT_EQ(row.device_time_total_ns(), 3 * kDepth);
    EXPECT_EQ(row.self_device_time_total_ns(), 3);
  }
}

TEST_F(SummaryTest, DeepNestingMayBeOpenForAWhile) {
  constexpr int64_t kDepth = 50'000;
  Summary summary(&strings_);
  for (int64_t level = 0; level < kDepth; ++level) {
    summary.AddSpan(MakeSpan(level, "level", level, kStillOpen));
  }
  EXPECT_EQ(Operation(summary, "level", kDepth).self_cpu_time_total_ns(), kDepth);
  for (int64_t level = kDepth - 1; level >= 0; --level) {
    summary.CloseSpan(level, 2 * kDepth - level);
  }
  query::OperationRow row = Operation(summary, "level");
  EXPECT_EQ(row.count(), kDepth);
  EXPECT_EQ(row.open(), 0);
  EXPECT_EQ(row.self_cpu_time_total_ns(), 2 * kDepth);
}

TEST_F(SummaryTest, LettingGoOldSpansKeepsTheSums) {
  SummaryLimits limits;
  limits.spans = limits.correlations = limits.intervals = 64;
  Summary bounded(&strings_, limits), whole(&strings_);
  constexpr uint64_t kSteps = 5000;
  for (Summary* summary : {&bounded, &whole}) {
    summary->AddSpan(MakeSpan(1'000'000, "epoch", 0, kStillOpen));
    for (uint64_t step = 0; step < kSteps; ++step) {
      int64_t start_ns = static_cast<int64_t>(step) * 100;
      uint64_t id = step * 2 + 1;
      Span inner = MakeSpan(id + 1, "inner", start_ns + 10, start_ns + 30);
      inner.output_bytes = 8;
      summary->AddSpan(inner);
      summary->AddSpan(MakeSpan(id, "outer", start_ns, start_ns + 50));
      summary->AddActivity(MakeCall("cudaLaunchKernel", step + 1, id + 1));
      summary->AddActivity(MakeWork("kernel", start_ns + 120, start_ns + 127, step + 1));
    }
    summary->CloseSpan(1'000'000, kSteps * 100);
  }
  query::Table expected = TableOf(whole, query::OPERATIONS);
  query::Table actual = TableOf(bounded, query::OPERATIONS);
  EXPECT_EQ(actual.SerializeAsString(), expected.SerializeAsString());
  EXPECT_EQ(Operation(bounded, "epoch").self_cpu_time_total_ns(),
            static_cast<int64_t>(kSteps * 50));
  EXPECT_EQ(Operation(bounded, "epoch").device_time_total_ns(), static_cast<int64_t>(kSteps * 7));
  EXPECT_EQ(Operation(bounded, "epoch").nested_output_bytes(), static_cast<int64_t>(kSteps * 8));
  EXPECT_LE(TableOf(bounded, query::SPANS).operations_size(), 64);
  EXPECT_LT(bounded.memory_bytes(), whole.memory_bytes() / 10);
  EXPECT_EQ(bounded.late().operation_let_go, 0u);

  // What comes far too late is in the totals, without an operation, and counted.
  DeviceActivity late = MakeWork("late", 0, 5);
  late.operation = 2;
  bounded.AddActivity(late);
  bounded.AddActivity(MakeWork("late", 0, 6, 3));
  EXPECT_EQ(bounded.late().operation_let_go, 1u);
  EXPECT_EQ(bounded.late().launch_let_go, 1u);
  EXPECT_EQ(bounded.unattributed_ns(), 11);
  EXPECT_EQ(bounded.device_time_ns(), static_cast<int64_t>(kSteps * 7 + 11));
}

TEST_F(SummaryTest, WhateverIsLetGoNoDeviceTimeIsLostOrCountedTwice) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    SummaryLimits limits;
    limits.spans = 1 + random() % 12;
    limits.correlations = 1 + random() % 12;
    limits.groups = 1 + random() % 4;
    limits.intervals = 1 + random() % 4;
    Summary summary(&strings_, limits);
    int64_t device_ns = 0;
    for (int i = 0; i < 400; ++i) {
      uint64_t id = random() % 60;
      int64_t start_ns = random() % 100;
      Span span = MakeSpan(id, std::string(1, 'a' + random() % 8), start_ns,
                           start_ns + 1 + random() % 50, random() % 2);
      switch (random() % 6) {
        case 0:
          span.end_ns = kStillOpen;
          [[fallthrough]];
        case 1:
          span.output_bytes = random() % 3;
          summary.AddSpan(span);
          break;
        case 2:
          summary.CloseSpan(id, 100 + random() % 100);
          break;
        case 3:
          summary.AddLaunchOperation(random() % 30, id);
          break;
        default:
          DeviceActivity work = MakeWork("kernel", start_ns, start_ns + 3, random() % 30);
          if (random() % 3 == 0) work.operation = id;
          device_ns += 3;
          summary.AddActivity(work);
      }
      if (random() % 50 == 0) TableOf(summary, query::OPERATIONS, 300);
    }
    EXPECT_EQ(summary.device_time_ns(), device_ns);
    query::Table table = TableOf(summary, query::OPERATIONS, 300);
    EXPECT_LE(TableOf(summary, query::SPANS, 300).operations_size(),
              static_cast<int>(limits.spans));
    for (const query::OperationRow& row : table.operations()) {
      EXPECT_GE(row.self_cpu_time_total_ns(), 0);
      EXPECT_GE(row.device_time_total_ns(), row.self_device_time_total_ns());
    }
    EXPECT_EQ(table.self_device_time_total_ns() + summary.unattributed_ns(), device_ns);
  }
}

TEST_F(SummaryTest, GroupsBeyondTheLimitFallUnderOther) {
  SummaryLimits limits;
  limits.groups = 10;
  Summary summary(&strings_, limits);
  for (int i = 0; i < 100; ++i) {
    summary.AddSpan(MakeSpan(i, "name " + std::to_string(i), i * 10, i * 10 + 5));
    summary.AddActivity(MakeWork("kernel " + std::to_string(i), i * 10, i * 10 + 2));
    summary.AddActivity(MakeCall("call " + std::to_string(i), i));
  }
  query::Table table = TableOf(summary, query::OPERATIONS);
  EXPECT_EQ(table.operations_size(), 11);
  EXPECT_EQ(table.operations(0).name(), "(other)");
  EXPECT_EQ(table.operations(0).count(), 90);
  EXPECT_EQ(table.other_records(), 90u);
  EXPECT_EQ(TotalRow(table).cpu_time_total_ns(), 500);
  table = TableOf(summary, query::KERNELS);
  EXPECT_EQ(table.kernels_size(), 11);
  EXPECT_EQ(table.kernels(0).name(), "(other)");
  EXPECT_EQ(table.kernels(0).total_ns(), 180);
  EXPECT_EQ(table.other_records(), 90u);
  table = TableOf(summary, query::API);
  EXPECT_EQ(table.calls_size(), 11);
  EXPECT_EQ(table.calls(0).count(), 90);
  EXPECT_EQ(table.other_records(), 90u);
}

TEST_F(SummaryTest, OverheadIsARowOfItsOwnAndNobodysTimeOrLaunch) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "step", 0, 1000));
  summary.AddActivity(MakeCall("flush", 7, 1));
  summary.AddActivity(MakeCall("flush", 8, 1, ActivityKind::kOverhead));
  summary.AddActivity(MakeWork("kernel", 200, 250, 8));

  query::Table calls = TableOf(summary, query::API);
  ASSERT_EQ(calls.calls_size(), 2);
  EXPECT_EQ(calls.calls(0).domain(), "runtime");
  EXPECT_EQ(calls.calls(1).domain(), "overhead");
  EXPECT_EQ(calls.calls(1).total_ns(), 5);
  EXPECT_EQ(calls.device_time_total_ns(), 50);
  EXPECT_EQ(Operation(summary, "step").self_cpu_time_total_ns(), 1000);
  EXPECT_EQ(Operation(summary, "step").self_device_time_total_ns(), 0);
  EXPECT_EQ(summary.unattributed_count(), 1u);
}

TEST_F(SummaryTest, ManyOpenSpansStayWithinTheBounds) {
  SummaryLimits limits;
  limits.spans = 100;
  Summary summary(&strings_, limits);
  for (int i = 0; i < 1000; ++i) summary.AddSpan(MakeSpan(i, "open", i, kStillOpen));
  EXPECT_EQ(Operation(summary, "open", 2000).count(), 100);
  EXPECT_EQ(summary.late().operation_let_go, 900u);
}

TEST_F(SummaryTest, TopLevelSpansAreThoseWithNoParent) {
  Summary summary(&strings_);
  summary.AddSpan(MakeSpan(1, "outer", 0, 100));
  summary.AddSpan(MakeSpan(2, "inner", 10, 20));
  TableOptions options;
  options.view = query::SPANS;
  options.top_level = true;
  const Summary* one = &summary;
  query::Table table = Tabulate({&one, 1}, options, 0);
  ASSERT_EQ(table.operations_size(), 1);
  EXPECT_EQ(table.operations(0).name(), "outer");
  EXPECT_EQ(table.self_cpu_time_total_ns(), 100);  // Of all spans.
}

}  // namespace
}  // namespace tp

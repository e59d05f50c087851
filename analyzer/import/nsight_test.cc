// What the tables and columns of an export mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/import/nsight_export.h"

namespace tp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Nsight, AKernelBelongsToTheInnermostRangeThatWasOpenAtItsLaunch) {
  NsightExport database;
  database.Range(100, "900", "step");
  database.Range(200, "300", "forward");
  database.Call(250, 260, 1, "cudaLaunchKernel_v7000");
  database.Call(300, 310, 2, "cudaLaunchKernel_v7000");  // The inner range is over.
  database.Call(900, 910, 3, "cudaLaunchKernel_v7000");  // All are.
  database.Kernel(1000, 1010, "1", "a");
  database.Kernel(2000, 2200, "2", "b");
  database.Kernel(3000, 6000, "3", "c");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, IsEmpty());
  EXPECT_EQ(recording.base_ns, 100);
  EXPECT_THAT(DeviceTimes(recording),
              ElementsAre(testing::Pair("forward", 10), testing::Pair("step", 200)));
  const query::Table table = TableOf(recording, query::OPERATIONS);
  EXPECT_EQ(table.device_time_total_ns(), 3210);
  EXPECT_EQ(table.device_kind(), "cuda");
}

TEST(Nsight, CorrelationIdsAreEachProcessesOwn) {
  NsightExport database;
  const int64_t other = GlobalId(20, 21);
  database.Range(100, "200", "mine");
  database.Range(100, "200", "other", 59, other);
  database.Call(110, 120, 5, "cudaLaunchKernel");
  database.Call(110, 120, 5, "cudaLaunchKernel", 0, other);
  database.Kernel(300, 301, "5", "a");
  database.Kernel(300, 320, "5", "a", GlobalId(20, 0), 1);
  const WholeRecording recording = Import(database);
  EXPECT_THAT(DeviceTimes(recording),
              ElementsAre(testing::Pair("mine", 1), testing::Pair("other", 20)));
  EXPECT_EQ(recording.threads.at(other).process, 20);
  EXPECT_EQ(recording.threads.at(other).thread, 21);
}

TEST(Nsight, EachProcessHasItsOwnStreamsAndSums) {
  NsightExport database;
  const int64_t other = GlobalId(20, 21);
  database.Range(0, "9", "mine");
  database.Call(1, 2, 5, "cudaLaunchKernel");
  database.Call(1, 2, 5, "cudaLaunchKernel", 0, other);
  database.Kernel(100, 110, "5", "a");
  database.Kernel(100, 200, "5", "a", GlobalId(20, 0));
  database.Kernel(300, 301, "6", "a", GlobalId(20, 0));
  database.Execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (400, 402, 0, 1, 7, 9, NULL, 0, 8, NULL, 2)");
  const WholeRecording recording = Import(database);
  const query::Table streams = TableOf(recording, query::STREAMS);
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (const query::StreamRow& row : streams.streams()) busy.push_back({row.pid(), row.busy_ns()});
  EXPECT_THAT(busy,
              ElementsAre(testing::Pair(0, 2), testing::Pair(10, 10), testing::Pair(20, 101)));
  // Both are on one device, which is busy once.
  ASSERT_EQ(streams.devices_size(), 1);
  EXPECT_EQ(streams.devices(0).busy_ns(), 103);

  const query::Table table = TableOf(recording, query::PROCESSES);
  ASSERT_EQ(table.processes_size(), 3);
  EXPECT_EQ(table.processes(0).command(), "(not told)");
  EXPECT_EQ(table.processes(0).device_time_ns(), 2);
  EXPECT_EQ(table.processes(1).device_time_ns(), 10);
  EXPECT_EQ(table.processes(1).unattributed_count(), 0u);
  EXPECT_EQ(table.processes(2).pid(), 20);
  EXPECT_EQ(table.processes(2).device_time_ns(), 101);
  EXPECT_EQ(table.processes(2).unattributed_count(), 2u);
  EXPECT_EQ(table.processes(2).events(1).kind(), "kernels");
  EXPECT_EQ(table.processes(2).events(1).count(), 2u);
}

TEST(Nsight, RangesOfEmitNvtxAreOperationsWithShapes) {
  NsightExport database;
  database.Range(1, "9", "aten::mm, seq = 3, op_id = 4, sizes = [[2, 3], []]");
  database.Range(2, "8", "aten::mm, op_id = 5");
  database.Range(3, "7", "my step, 1");
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.spans.size(), 3u);
  EXPECT_EQ(recording.spans[0].kind, SpanKind::kOperation);
  EXPECT_EQ(Text(recording, recording.spans[0].name), "aten::mm");
  EXPECT_EQ(Text(recording, recording.spans[0].shapes), "[[2, 3], []]");
  EXPECT_EQ(recording.spans[1].name, recording.spans[0].name);
  EXPECT_EQ(recording.spans[1].shapes, 0u);
  EXPECT_EQ(recording.spans[2].kind, SpanKind::kUserAnnotation);
  EXPECT_EQ(Text(recording, recording.spans[2].name), "my step, 1");
}

TEST(Nsight, ARangesTextIsInTheRowOrInTheTableOfTexts) {
  NsightExport database;
  const int64_t text = database.Text("ncclAllReduce");
  for (int i = 0; i < 2; ++i) {
    database.Execute(
        absl::StrCat("INSERT INTO NVTX_EVENTS (start, end, eventType, textId, "
                     "globalTid, domainId) VALUES (5, 6, 59, ",
                     text, ",", kThread, ", 1)"));
  }
  database.Range(7, "8", "inline");
  database.Execute(
      "INSERT INTO NVTX_EVENTS (start, end, eventType, textId) VALUES (9, 10, 59, 99)");
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.spans.size(), 4u);
  EXPECT_EQ(Text(recording, recording.spans[1].name), "ncclAllReduce");
  EXPECT_EQ(Text(recording, recording.spans[2].name), "inline");
  EXPECT_EQ(Text(recording, recording.spans[3].name), "");
}

TEST(Nsight, OnlyRangesAreRanges) {
  NsightExport database;
  database.Range(1, "2", "push and pop", 59);
  database.Range(1, "2", "push and pop", 70);
  database.Range(1, "2", "start and end", 60);
  database.Range(1, "2", "start and end", 71);
  for (int type : {33, 34, 39, 64, 65, 72, 73, 74, 75, 76, 97, 98, 99}) {
    database.Range(1, "NULL", "none", type);
  }
  WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, IsEmpty());
  ASSERT_EQ(recording.spans.size(), 4u);
  for (const Span& span : recording.spans) {
    EXPECT_EQ(span.asynchronous, Text(recording, span.name) == "start and end");
  }
  database.Range(1, "2", "from the future", 1234);
  recording = Import(database);
  EXPECT_EQ(recording.spans.size(), 4u);
  EXPECT_THAT(recording.notes, ElementsAre("1 NVTX event of unknown kinds: left out"));
}

TEST(Nsight, ARangeWithoutAnEndEndsWithTheRecording) {
  NsightExport database;
  database.Range(100, "NULL", "open");
  database.Range(200, "0", "open too");  // As early versions write it.
  database.Call(300, 310, 1, "cudaLaunchKernel");
  database.Kernel(400, 1000, "1", "a");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, ElementsAre(HasSubstr("2 NVTX ranges without an end")));
  const query::Table table = TableOf(recording, query::OPERATIONS);
  ASSERT_EQ(table.operations_size(), 2);
  EXPECT_EQ(table.operations(0).name(), "open too");
  EXPECT_EQ(table.operations(0).cpu_time_total_ns(), 800);
  EXPECT_EQ(table.operations(0).self_device_time_total_ns(), 600);
  EXPECT_EQ(table.operations(1).cpu_time_total_ns(), 900);
}

TEST(Nsight, CallsAreCalledAsTheProgramCallsThem) {
  NsightExport database;
  database.Call(1, 2, 1, "cudaLaunchKernel_ptsz_v7000");
  database.Call(1, 2, 2, "cuMemcpyHtoDAsync_v2", 1, kThread, 700);
  // A class of its own for both, in some versions: the name tells.
  database.Call(1, 2, 3, "cuLaunchKernel", 26);
  database.Call(1, 2, 4, "cudaFree_v3020", 26);
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.activities.size(), 4u);
  std::vector<std::string> calls;
  for (const DeviceActivity& call : recording.activities) {
    calls.push_back(absl::StrCat(std::string(1, static_cast<char>(call.kind)), " ",
                                 std::string(Text(recording, call.name)), " ", call.result));
    EXPECT_EQ(call.device, -1);
    EXPECT_EQ(call.thread, kThread);
  }
  EXPECT_THAT(calls, ElementsAre("r cudaLaunchKernel 0", "d cuMemcpyHtoDAsync_v2 700",
                                 "d cuLaunchKernel 0", "r cudaFree 0"));
}

TEST(Nsight, ARuntimeAndADriverCallOfOneLaunchCountItsWorkOnce) {
  NsightExport database;
  database.Range(0, "100", "step");
  database.Call(10, 30, 4, "cudaLaunchKernel_v7000");
  database.Call(12, 28, 4, "cuLaunchKernel", 1);
  database.Kernel(200, 250, "4", "a");
  EXPECT_THAT(DeviceTimes(Import(database)), ElementsAre(testing::Pair("step", 50)));
}

TEST(Nsight, AllKernelsOfAGraphAreItsLaunches) {
  NsightExport database;
  database.Range(0, "100", "replay");
  database.Call(10, 30, 4, "cudaGraphLaunch_v10000");
  for (int node = 0; node < 3; ++node) {
    database.Kernel(200 + 10 * node, 205 + 10 * node, "4", "node");
    database.Execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = rowid");
  }
  EXPECT_THAT(DeviceTimes(Import(database)), ElementsAre(testing::Pair("replay", 15)));
}

TEST(Nsight, GraphsRecordedAsAWholeAreWorkOfTheirLaunchAndSaid) {
  NsightExport database;
  database.Execute(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,"
      "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
      "graphId INTEGER, graphExecId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1000, 3500, 0, 1, 7, 4, 0, 12, 13)");
  database.Kernel(1, 2, "0", "a");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, ElementsAre(HasSubstr("1 launch of a CUDA graph (2.500us")));
  EXPECT_EQ(Text(recording, TheOnly(recording, ActivityKind::kGraph).name), "CUDA graph 12");
  EXPECT_EQ(TableOf(recording, query::KERNELS).device_time_total_ns(), 2501);
}

TEST(Nsight, AGraphWhoseNodesAreRecordedTooCountsOnce) {
  NsightExport database;
  database.Range(0, "90", "replay");
  database.Call(10, 30, 4, "cudaGraphLaunch_v10000");
  database.Kernel(200, 205, "4", "node");
  database.Execute(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,"
      "correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE SELECT 200, 300, 0, 4, globalPid, 12 FROM "
      "CUPTI_ACTIVITY_KIND_KERNEL");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(DeviceTimes(recording), ElementsAre(testing::Pair("replay", 5)));
  EXPECT_EQ(TableOf(recording, query::KERNELS).device_time_total_ns(), 5);
  EXPECT_THAT(recording.notes, testing::IsEmpty());
}

TEST(Nsight, AKernelHasItsDemangledNameOrTheNextBest) {
  NsightExport database;
  const int64_t demangled = database.Text("void f<float>(int)"), plain = database.Text("f"),
                mangled = database.Text("_Z1fIfEvi");
  const auto add = [&](const std::string& names) {
    database.Execute(absl::StrCat(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
        "demangledName, mangledName, shortName) VALUES (1, 2, 0, 1, 7, ",
        names, ")"));
  };
  add(absl::StrCat(demangled, ",", mangled, ",", plain));
  add(absl::StrCat("NULL,", mangled, ",", plain));
  add(absl::StrCat("999,NULL,", plain));
  add("NULL,NULL,NULL");
  const WholeRecording recording = Import(database);
  std::vector<std::string_view> names;
  for (const DeviceActivity& kernel : recording.activities) {
    names.push_back(Text(recording, kernel.name));
  }
  EXPECT_THAT(names, ElementsAre("void f<float>(int)", "_Z1fIfEvi", "f", "(unknown kernel)"));
}

TEST(Nsight, CopiesAndFillsHaveCuptisNumbersAndNames) {
  NsightExport database;
  database.Execute(absl::StrCat(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 1, 2, 3, 4, ", kProcess,
      ", 4096, 1, 1, 2);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 1, 2, 3, NULL, NULL, 64, 12, 4, 7);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (10, 20, 1, 2, 3, 4, ",
      kProcess, ", 255, 1024, NULL, 2)"));
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.activities.size(), 3u);
  const DeviceActivity& copy = recording.activities[0];
  EXPECT_EQ(Text(recording, copy.name), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copy.copy_kind, 1u);
  EXPECT_EQ(copy.source_memory, 2u);
  EXPECT_EQ(copy.destination_memory, 3u);
  EXPECT_EQ(copy.bytes, 4096u);
  EXPECT_EQ(copy.device, 1);
  EXPECT_EQ(copy.context, 2u);
  EXPECT_EQ(copy.stream, 3u);
  EXPECT_EQ(Text(recording, recording.activities[1].name),
            "Memcpy Unified DtoH (Managed -> Unknown)");
  const DeviceActivity& fill = recording.activities[2];
  EXPECT_EQ(Text(recording, fill.name), "Memset (Device)");
  EXPECT_EQ(fill.value, 255u);
  EXPECT_EQ(fill.bytes, 1024u);
}

TEST(Nsight, OverheadIsARowOfItsOwn) {
  NsightExport database;
  database.Execute(absl::StrCat(
      "CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER,"
      "nameId INTEGER, overheadType INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER, end INTEGER, globalTid INTEGER,"
      "nameId INTEGER, overheadType INTEGER);"
      "CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
      "INSERT INTO ENUM_CUPTI_OVERHEAD_TYPE VALUES (7, 'LAZY', 'Lazy function loading');"
      "INSERT INTO PROFILER_OVERHEAD VALUES (120, 150, ",
      kThread, ",", database.Text("CUPTI Buffer flush"),
      ",3);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (130, 131, ",
      kThread,
      ", NULL, 7);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (130, 132, NULL, NULL, NULL)"));
  database.Range(100, "200", "step");
  const WholeRecording recording = Import(database);
  const query::Table table = TableOf(recording, query::API);
  ASSERT_EQ(table.calls_size(), 3);
  EXPECT_EQ(table.calls(0).name(), "CUPTI Buffer flush");
  EXPECT_EQ(table.calls(0).domain(), "overhead");
  EXPECT_EQ(table.calls(0).total_ns(), 30);
  EXPECT_EQ(table.calls(1).name(), "(unknown overhead)");
  EXPECT_EQ(table.calls(2).name(), "Lazy function loading");
  EXPECT_EQ(table.device_time_total_ns(), 0);
  EXPECT_EQ(table.self_cpu_time_total_ns(), 100);
}

TEST(Nsight, DevicesOfProcessesThatSeeOnlySomeAreToldApart) {
  NsightExport database;
  database.Execute(
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL,"
      "pid INTEGER NOT NULL, uuid TEXT);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 10, ''), (0, 0, 20, ''), (NULL, 1, 20, "
      "'')");
  database.Kernel(0, 10, "1", "a");
  database.Kernel(0, 10, "1", "a", GlobalId(20, 0));
  database.Kernel(0, 10, "1", "a", GlobalId(20, 0), 1);
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.activities.size(), 3u);
  EXPECT_EQ(recording.activities[0].device, 1);
  EXPECT_EQ(recording.activities[1].device, 0);
  EXPECT_EQ(recording.activities[2].device, 1);
}

TEST(Nsight, ThreadsAndProcessesHaveTheirNames) {
  NsightExport database;
  database.Execute(absl::StrCat(
      "CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
      "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
      "INSERT INTO ThreadNames VALUES (",
      database.Text("worker"), ", 20, ", kThread, "), (", database.Text("python"), ", 20, ",
      GlobalId(20, 20), "), (", database.Text("bash"), ", 20, ", GlobalId(30, 30),
      ");"
      "INSERT INTO PROCESSES VALUES (",
      kProcess, ", 10, 'train')"));
  database.Range(0, "1", "a");
  database.Range(0, "1", "a", 59, GlobalId(20, 20));
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.threads.size(), 2u);  // Only those that did something.
  EXPECT_EQ(recording.threads.at(kThread).thread_name, "worker");
  EXPECT_EQ(recording.threads.at(kThread).process_name, "train");
  // A process without a name of its own is called as its main thread is.
  EXPECT_EQ(recording.threads.at(GlobalId(20, 20)).process_name, "python");
}

TEST(Nsight, TheRankIsToldIfItIsOne) {
  NsightExport database;
  database.Execute(
      "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);"
      "INSERT INTO MPI_RANKS VALUES (1, 3), (2, 3)");
  EXPECT_EQ(Import(database).rank, 3);
  database.Execute("INSERT INTO MPI_RANKS VALUES (3, 4)");
  EXPECT_EQ(Import(database).rank, -1);
}

}  // namespace
}  // namespace tp

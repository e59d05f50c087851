#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t GlobalId(int64_t process, int64_t thread) {
  return int64_t{1} << 48 | process << 24 | thread;
}
constexpr int64_t kProcess = GlobalId(10, 0), kThread = GlobalId(10, 11);

// The tables as versions of 2025 have them, without columns that nobody reads.
constexpr char kSchema[] = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
  rangeId INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
  eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
  mangledName INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,
  srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL,
  graphNodeId INTEGER, memKind INTEGER);
)";

// What the exporter of 2019 wrote: nothing is NULL, and there are no eventClass and no mangled
// names.
constexpr char kSchemaOf2019[] = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INT NOT NULL, end INT NOT NULL, eventType INT NOT NULL,
  text TEXT NOT NULL, globalTid INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL,
  globalTid INT NOT NULL, correlationId INT NOT NULL, nameId INT NOT NULL,
  returnValue INT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL,
  deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL,
  correlationId INT NOT NULL, globalPid INT NOT NULL, demangledName INT NOT NULL,
  shortName INT NOT NULL);
)";

// A database that a test makes, gone with it.
class Export {
 public:
  explicit Export(const std::string& sql = kSchema) {
    std::string folder = testing::TempDir() + "nsight-XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    // Many pages of a few rows.
    Execute("PRAGMA page_size = 512;" + sql);
  }
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  ~Export() { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/report.sqlite"; }

  void Execute(const std::string& sql) const {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &connection), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(connection, ("PRAGMA synchronous = OFF;" + sql).c_str(), nullptr,
                           nullptr, &error),
              SQLITE_OK)
        << error << ": " << sql;
    sqlite3_free(error);
    sqlite3_close(connection);
  }

  // The id of a new text.
  int64_t Text(const std::string& text) {
    Execute(absl::StrCat("INSERT INTO StringIds VALUES (", ++texts_, ", '", text, "')"));
    return texts_;
  }
  void Range(int64_t start, const std::string& end, const std::string& text, int type = 59,
             int64_t thread = kThread) const {
    Execute(
        absl::StrCat("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (",
                     start, ",", end, ",", type, ",'", text, "',", thread, ")"));
  }
  void Call(int64_t start, int64_t end, int64_t correlation, const std::string& name,
            int event_class = 0, int64_t thread = kThread, int64_t result = 0) {
    Execute(
        absl::StrCat("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, "
                     "correlationId, nameId, returnValue) VALUES (",
                     start, ",", end, ",", event_class, ",", thread, ",", correlation, ",",
                     Text(name), ",", result, ")"));
  }
  void Kernel(int64_t start, int64_t end, const std::string& correlation, const std::string& name,
              int64_t process = kProcess, int device = 0) {
    const int64_t text = Text(name);
    Execute(absl::StrCat(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
        "correlationId, globalPid, demangledName, shortName) VALUES (",
        start, ",", end, ",", device, ",1,7,", correlation, ",", process, ",", text, ",", text,
        ")"));
  }

 private:
  std::string folder_;
  int64_t texts_ = 0;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
}

void WriteGzip(const std::string& path, std::string_view bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(file);
}

WholeRecording Import(const Export& database) {
  absl::StatusOr<WholeRecording> recording = ImportNsight(database.path());
  EXPECT_TRUE(recording.ok()) << recording.status();
  return recording.ok() ? *std::move(recording) : WholeRecording();
}

std::string_view Text(const WholeRecording& recording, StringId id) {
  return recording.strings->Text(id);
}

// Of the only record of this kind.
DeviceActivity TheOnly(const WholeRecording& recording, ActivityKind kind) {
  std::vector<DeviceActivity> found;
  std::copy_if(recording.activities.begin(), recording.activities.end(), std::back_inserter(found),
               [&](const DeviceActivity& activity) { return activity.kind == kind; });
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? DeviceActivity() : found.front();
}

query::Table TableOf(const WholeRecording& recording, query::View view) {
  return TabulateWhole(recording, Summarize(recording), TableOptions{.view = view});
}

// Self device time by operation.
std::map<std::string, int64_t> DeviceTimes(const WholeRecording& recording) {
  std::map<std::string, int64_t> times;
  const query::Table table = TableOf(recording, query::OPERATIONS);
  for (const query::OperationRow& row : table.operations()) {
    times[row.name()] = row.self_device_time_total_ns();
  }
  return times;
}

TEST(Nsight, AKernelBelongsToTheInnermostRangeThatWasOpenAtItsLaunch) {
  Export database;
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
  Export database;
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
  Export database;
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
  Export database;
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
  Export database;
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
  Export database;
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
  EXPECT_THAT(recording.notes,
              ElementsAre("1 NVTX events are of kinds that are not known: left out"));
}

TEST(Nsight, ARangeWithoutAnEndEndsWithTheRecording) {
  Export database;
  database.Range(100, "NULL", "open");
  database.Range(200, "0", "open too");  // As early versions write it.
  database.Call(300, 310, 1, "cudaLaunchKernel");
  database.Kernel(400, 1000, "1", "a");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, ElementsAre(HasSubstr("2 NVTX ranges have no end")));
  const query::Table table = TableOf(recording, query::OPERATIONS);
  ASSERT_EQ(table.operations_size(), 2);
  EXPECT_EQ(table.operations(0).name(), "open too");
  EXPECT_EQ(table.operations(0).cpu_time_total_ns(), 800);
  EXPECT_EQ(table.operations(0).self_device_time_total_ns(), 600);
  EXPECT_EQ(table.operations(1).cpu_time_total_ns(), 900);
}

TEST(Nsight, CallsAreCalledAsTheProgramCallsThem) {
  Export database;
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
  Export database;
  database.Range(0, "100", "step");
  database.Call(10, 30, 4, "cudaLaunchKernel_v7000");
  database.Call(12, 28, 4, "cuLaunchKernel", 1);
  database.Kernel(200, 250, "4", "a");
  EXPECT_THAT(DeviceTimes(Import(database)), ElementsAre(testing::Pair("step", 50)));
}

TEST(Nsight, AllKernelsOfAGraphAreItsLaunches) {
  Export database;
  database.Range(0, "100", "replay");
  database.Call(10, 30, 4, "cudaGraphLaunch_v10000");
  for (int node = 0; node < 3; ++node) {
    database.Kernel(200 + 10 * node, 205 + 10 * node, "4", "node");
    database.Execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = rowid");
  }
  EXPECT_THAT(DeviceTimes(Import(database)), ElementsAre(testing::Pair("replay", 15)));
}

TEST(Nsight, GraphsRecordedAsAWholeAreInNoSumAndSaid) {
  Export database;
  database.Execute(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER,"
      "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
      "graphId INTEGER, graphExecId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1000, 3500, 0, 1, 7, 4, 0, 12, 13)");
  database.Kernel(1, 2, "0", "a");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, ElementsAre(HasSubstr("1 launches of CUDA graphs (2.500us")));
  EXPECT_EQ(Text(recording, TheOnly(recording, ActivityKind::kDeviceAnnotation).name),
            "CUDA graph 12");
  EXPECT_EQ(TableOf(recording, query::KERNELS).device_time_total_ns(), 1);
}

TEST(Nsight, AKernelHasItsDemangledNameOrTheNextBest) {
  Export database;
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
  Export database;
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
  Export database;
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
  Export database;
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
  Export database;
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
  Export database;
  database.Execute(
      "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);"
      "INSERT INTO MPI_RANKS VALUES (1, 3), (2, 3)");
  EXPECT_EQ(Import(database).rank, 3);
  database.Execute("INSERT INTO MPI_RANKS VALUES (3, 4)");
  EXPECT_EQ(Import(database).rank, -1);
}

TEST(Nsight, AnExportOf2019IsReadToo) {
  Export database(kSchemaOf2019);
  database.Execute(absl::StrCat(
      "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'f()'), (3, 'f');"
      "INSERT INTO NVTX_EVENTS VALUES (5, 90, 59, 'step', ",
      kThread, ");INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, ", kThread,
      ", 8, 1, 0);INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (30, 70, 0, 1, 7, 8, ", kProcess,
      ", 2, 3)"));
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, IsEmpty());
  EXPECT_THAT(DeviceTimes(recording), ElementsAre(testing::Pair("step", 40)));
  const DeviceActivity call = TheOnly(recording, ActivityKind::kRuntimeCall);
  EXPECT_EQ(Text(recording, call.name), "cudaLaunchKernel");
}

TEST(Nsight, EveryTableMayBeAbsent) {
  const std::vector<std::string> tables = {
      "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL",
      "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"};
  for (const std::string& absent : tables) {
    Export database;
    database.Range(1, "2", "a");
    database.Call(1, 2, 1, "cudaMalloc");
    database.Kernel(1, 2, "1", "a");
    const size_t whole = Import(database).spans.size() + Import(database).activities.size();
    EXPECT_EQ(whole, 3u);
    database.Execute("DROP TABLE " + absent);
    const WholeRecording recording = Import(database);
    EXPECT_EQ(recording.spans.size() + recording.activities.size(),
              whole - (absent.find("MEM") == std::string::npos))
        << absent;
    EXPECT_THAT(recording.notes, IsEmpty()) << absent;
  }
}

TEST(Nsight, EveryColumnButTheTimesMayBeAbsent) {
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"NVTX_EVENTS", "eventType"},
      {"NVTX_EVENTS", "text"},
      {"NVTX_EVENTS", "textId"},
      {"NVTX_EVENTS", "globalTid"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "eventClass"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "deviceId"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "contextId"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "streamId"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "mangledName"},
      {"CUPTI_ACTIVITY_KIND_KERNEL", "shortName"}};
  for (const auto& [table, column] : columns) {
    Export database;
    database.Range(0, "90", "a");
    database.Call(1, 2, 1, "cudaLaunchKernel_v7000");
    database.Kernel(3, 10, "1", "kernel");
    database.Execute(absl::StrCat("ALTER TABLE ", table, " DROP COLUMN ", column));
    const WholeRecording recording = Import(database);
    EXPECT_EQ(recording.spans.size(), 1u) << table << " " << column;
    EXPECT_EQ(recording.activities.size(), 2u) << table << " " << column;
    // Where one process is all there is, all is of it.
    const bool joined = column != "correlationId" && column != "globalTid";
    EXPECT_EQ(TableOf(recording, query::OPERATIONS).operations(0).self_device_time_total_ns(),
              joined ? 7 : 0)
        << table << " " << column;
  }
}

TEST(Nsight, WorkOfNobodyKnowsWhichOfSeveralProcessesBelongsToNoOperation) {
  Export database;
  database.Range(0, "90", "a");
  database.Call(1, 2, 1, "cudaLaunchKernel");
  database.Call(1, 2, 1, "cudaLaunchKernel", 0, GlobalId(20, 21));
  database.Kernel(3, 10, "1", "kernel");
  database.Execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, ElementsAre(HasSubstr("1 records of device work do not say which")));
  EXPECT_THAT(DeviceTimes(recording), ElementsAre(testing::Pair("a", 0)));
}

TEST(Nsight, RowsWithValuesOfAnotherTypeAreLeftOutAndCounted) {
  Export database;
  for (const char* start :
       {"'early'", "1.5", "x'00'", "-9223372036854775808", "9223372036854775807"}) {
    database.Execute(
        absl::StrCat("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (",
                     start, ", 9223372036854775807, 59, 'a', 1)"));
  }
  const std::string kernel =
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, demangledName) VALUES ";
  for (const char* values : {"('a', 2, 0, 1, 7, 1, 1, 1)", "(1, x'01', 0, 1, 7, 1, 1, 1)",
                             "(1, 2, 4294967296, 1, 7, 1, 1, 1)", "(1, 2, 0, -1, 7, 1, 1, 1)",
                             "(1, 2, 0, 1, 'seven', 1, 1, 1)", "(1, 2, 0, 1, 7, 4294967296, 1, 1)",
                             "(1, 2, 0, 1, 7, 1, 'p', 1)", "(1, 2, 0, 1, 7, 1, 1, 'name')"}) {
    database.Execute(kernel + values);
  }
  database.Execute(kernel + "(5, 6, 0, 1, 7, NULL, NULL, NULL)");
  const WholeRecording recording = Import(database);
  EXPECT_EQ(recording.spans.size(), 0u);
  EXPECT_EQ(recording.activities.size(), 1u);
  EXPECT_EQ(recording.base_ns, 5);
  EXPECT_THAT(recording.notes,
              ElementsAre("5 rows of NVTX_EVENTS hold values that cannot be right: left out",
                          "8 rows of CUPTI_ACTIVITY_KIND_KERNEL hold values that cannot be right: "
                          "left out"));
}

TEST(Nsight, RecordsThatEndBeforeTheyStartAreCountedAndInNoSum) {
  Export database;
  database.Range(-50, "-20", "before zero");
  database.Kernel(100, 50, "0", "a");
  database.Kernel(100, 150, "0", "b");
  const WholeRecording recording = Import(database);
  EXPECT_EQ(recording.base_ns, -50);
  const query::Table table = TableOf(recording, query::KERNELS);
  EXPECT_EQ(table.device_time_total_ns(), 50);
  ASSERT_EQ(table.losses_size(), 1);
  EXPECT_EQ(table.losses(0).cause(), "end before they start");
}

TEST(Nsight, TextsWithoutAnOrderAreFoundToo) {
  Export database(
      "CREATE TABLE StringIds (id INTEGER, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, demangledName "
      "INTEGER)");
  database.Execute(
      "INSERT INTO StringIds VALUES (7, 'seven'), ('x', 'none'), (3, 'three'), (3, 'again');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 3), (1, 2, 7)");
  const WholeRecording recording = Import(database);
  ASSERT_EQ(recording.activities.size(), 2u);
  EXPECT_EQ(Text(recording, recording.activities[0].name), "three");
  EXPECT_EQ(Text(recording, recording.activities[1].name), "seven");
}

TEST(Nsight, AnEmptyExportIsARecordingOfNothingThatSaysSo) {
  const WholeRecording recording = Import(Export());
  EXPECT_TRUE(recording.spans.empty());
  EXPECT_THAT(recording.notes, ElementsAre("it holds no CUDA work and no NVTX ranges"));
  EXPECT_EQ(TableOf(recording, query::OPERATIONS).operations_size(), 0);
}

std::string ErrorOf(const std::string& path) {
  const absl::StatusOr<WholeRecording> recording = ImportNsight(path);
  EXPECT_FALSE(recording.ok());
  if (recording.ok()) return "";
  EXPECT_EQ(recording.status().message().find('\n'), absl::string_view::npos);
  return std::string(recording.status().message());
}

TEST(Nsight, WhatIsNoExportIsAnErrorThatSaysWhy) {
  const Export other("CREATE TABLE bookmarks (url TEXT)");
  EXPECT_THAT(ErrorOf(other.path()), HasSubstr("no export of Nsight Systems"));
  // Neither views nor virtual tables are tables.
  const Export view("CREATE VIEW StringIds AS SELECT 1 AS id, 'a' AS value");
  EXPECT_THAT(ErrorOf(view.path()), HasSubstr("no export of Nsight Systems"));
  const std::string text = other.path() + ".txt";
  for (const char* bytes : {"", "SQLite", "this is no database", "SQLite format 3"}) {
    WriteFile(text, bytes);
    EXPECT_THAT(ErrorOf(text), HasSubstr("is no SQLite database"));
  }
  WriteFile(text, std::string("SQLite format 3\0 and nonsense", 29));
  EXPECT_THAT(ErrorOf(text), HasSubstr("is no SQLite database that can be read"));
  EXPECT_THAT(ErrorOf(other.path() + ".absent"), HasSubstr("cannot open"));
  EXPECT_THAT(ErrorOf(testing::TempDir()), HasSubstr("is no file"));
}

// Enough for every table to have several pages.
void Fill(Export* database, int count = 60) {
  const int64_t text = database->Text("aten::mm, op_id = 7, sizes = [[2, 3]]");
  const int64_t launch = database->Text("cudaLaunchKernel_v7000");
  const auto rows = [&](const std::string& values) {
    return absl::StrCat(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
        "i < ",
        count, ") INSERT INTO ", values, " FROM n;");
  };
  database->Execute(absl::StrCat(
      rows("StringIds SELECT 100 + i, 'kernel number ' || i"),
      rows(absl::StrCat("NVTX_EVENTS SELECT 100 * i, 100 * i + 50, 59, NULL, NULL, ", kThread,
                        ", NULL, ", text, ", 0")),
      rows(absl::StrCat("CUPTI_ACTIVITY_KIND_RUNTIME SELECT 100 * i + 10, 100 * i + 20, 0, ",
                        kThread, ", i, ", launch, ", 0")),
      rows(
          absl::StrCat("CUPTI_ACTIVITY_KIND_KERNEL SELECT 100 * i + 30, 100 * i + 90, 0, 1, 7, i, ",
                       kProcess, ", 100 + i, NULL, NULL, NULL"))));
}

TEST(Nsight, AFileThatIsCutAnywhereGivesWhatItHoldsAndSaysWhatIsMissing) {
  Export database;
  Fill(&database);
  const WholeRecording whole = Import(database);
  ASSERT_EQ(whole.spans.size(), 60u);
  ASSERT_EQ(whole.activities.size(), 120u);
  EXPECT_THAT(whole.notes, IsEmpty());
  const std::string bytes = ReadFile(database.path());
  const std::string cut = database.path() + ".cut";
  int readable = 0;
  for (size_t size = 0; size < bytes.size(); size += 131) {
    WriteFile(cut, std::string_view(bytes).substr(0, size));
    const absl::StatusOr<WholeRecording> recording = ImportNsight(cut);
    if (!recording.ok()) {
      EXPECT_EQ(recording.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ++readable;
    EXPECT_THAT(recording->notes, testing::Contains(HasSubstr("bytes are missing")));
    EXPECT_LE(recording->spans.size(), 60u);
    EXPECT_LE(recording->activities.size(), 120u);
    for (const DeviceActivity& activity : recording->activities) {
      EXPECT_GT(activity.end_ns, activity.start_ns);
    }
  }
  EXPECT_GT(readable, 10);
}

TEST(Nsight, AGzippedFileIsUnpackedAsFarAsItGoes) {
  Export database;
  Fill(&database);
  const std::string packed = database.path() + ".gz";
  WriteGzip(packed, ReadFile(database.path()));
  const absl::StatusOr<WholeRecording> whole = ImportNsight(packed);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->spans.size(), 60u);
  EXPECT_THAT(whole->notes, IsEmpty());

  const std::string bytes = ReadFile(packed);
  int readable = 0;
  for (size_t size = 0; size < bytes.size(); size += 61) {
    WriteFile(packed, std::string_view(bytes).substr(0, size));
    const absl::StatusOr<WholeRecording> recording = ImportNsight(packed);
    if (!recording.ok()) continue;
    ++readable;
    EXPECT_THAT(recording->notes.front(), HasSubstr("the gzipped data end in the middle"));
  }
  EXPECT_GT(readable, 0);
  WriteGzip(packed, std::string(100000, 'x'));
  EXPECT_THAT(ErrorOf(packed), HasSubstr("is no SQLite database"));
}

TEST(Nsight, BytesThatAreWrongDoNoHarm) {
  Export database;
  Fill(&database);
  const std::string right = ReadFile(database.path());
  const std::string broken = database.path() + ".broken";
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    std::string bytes = right;
    for (int i = 0; i < 1 + round % 20; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    WriteFile(broken, bytes);
    const absl::StatusOr<WholeRecording> recording = ImportNsight(broken);
    if (!recording.ok()) {
      EXPECT_EQ(recording.status().message().find('\n'), absl::string_view::npos);
      continue;
    }
    // No more rows than the file has room for.
    EXPECT_LE(recording->spans.size(), bytes.size() / 4);
    TableOf(*recording, query::KERNELS);
  }
}

TEST(Nsight, PagesThatLeadToTheSameRowsAgainAndAgainEnd) {
  Export database;
  Fill(&database, 2000);
  // Inner pages of tables say which pages are below them. Each is made to name one page again and
  // again: the small ones, which are the tables' first, a large one, that the next large one.
  std::string bytes = ReadFile(database.path());
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  std::vector<size_t> small, large;
  for (size_t page = 512; page < bytes.size(); page += 512) {
    constexpr unsigned char kInnerPage = 5;
    if (byte(page) == kInnerPage) (byte(page + 4) < 20 ? small : large).push_back(page);
  }
  ASSERT_GE(small.size(), 3u);
  ASSERT_GE(large.size(), 4u);
  const auto lead = [&](size_t page, size_t to) {
    const size_t number = to / 512 + 1;
    const std::string below = {0, 0, static_cast<char>(number >> 8), static_cast<char>(number)};
    for (size_t cell = 0; cell < byte(page + 4); ++cell) {
      const size_t pointer = page + 12 + 2 * cell;
      bytes.replace(page + byte(pointer) * 256u + byte(pointer + 1), 4, below);
    }
    bytes.replace(page + 8, 4, below);
  };
  for (const size_t page : small) lead(page, large[0]);
  for (size_t i = 0; i + 1 < 4; ++i) lead(large[i], large[i + 1]);
  WriteFile(database.path(), bytes);
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes, testing::Contains(HasSubstr("more rows than there is room for")));
  EXPECT_LE(recording.spans.size() + recording.activities.size(), bytes.size());
}

// A real recording: two processes on a GPU each. The numbers are those of SQL and plain loops over
// the file.
class RealExport : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::path shared;
    if (const char* named = getenv("TP_SHARED"); named != nullptr && *named != '\0') {
      shared = named;
    } else {
      // Data files are links into the workspace.
      shared = std::filesystem::canonical("analyzer/import/import.h")
                   .parent_path()
                   .parent_path()
                   .parent_path()
                   .parent_path() /
               "shared";
    }
    const std::filesystem::path path = shared / "traces/nsys_2gpu.sqlite.gz";
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP()
          << "the real traces are not here: name the folder that holds traces in TP_SHARED";
    }
    absl::StatusOr<WholeRecording> recording = ImportNsight(path);
    ASSERT_TRUE(recording.ok()) << recording.status();
    recording_ = *std::move(recording);
  }

  // Records and the sum of their durations.
  std::pair<int64_t, int64_t> Sums(ActivityKind kind) const {
    std::pair<int64_t, int64_t> sums;
    for (const DeviceActivity& activity : recording_.activities) {
      if (activity.kind != kind) continue;
      ++sums.first;
      sums.second += activity.end_ns - activity.start_ns;
    }
    return sums;
  }

  WholeRecording recording_;
};

TEST_F(RealExport, HoldsAllRecordsOfTheFile) {
  EXPECT_THAT(recording_.notes, IsEmpty());
  ASSERT_EQ(recording_.spans.size(), 19118u);
  const auto operations =
      std::count_if(recording_.spans.begin(), recording_.spans.end(),
                    [](const Span& span) { return span.kind == SpanKind::kOperation; });
  EXPECT_EQ(operations, 18656);
  EXPECT_EQ(Sums(ActivityKind::kRuntimeCall), std::pair(int64_t{6392}, int64_t{366524413}));
  EXPECT_EQ(Sums(ActivityKind::kDriverCall), std::pair(int64_t{1074}, int64_t{3644576}));
  EXPECT_EQ(Sums(ActivityKind::kKernel), std::pair(int64_t{4010}, int64_t{535200650}));
  EXPECT_EQ(Sums(ActivityKind::kCopy), std::pair(int64_t{1020}, int64_t{5692087}));
  EXPECT_EQ(Sums(ActivityKind::kFill), std::pair(int64_t{269}, int64_t{213408}));
  EXPECT_EQ(Sums(ActivityKind::kOverhead), std::pair(int64_t{6}, int64_t{2009505}));
  EXPECT_EQ(recording_.base_ns, 60111430336);
  EXPECT_EQ(recording_.threads.at(GlobalId(144, 245)).process_name, "python3");
}

TEST_F(RealExport, AttributesDeviceWorkAsAPlainSearchForTheEnclosingRangeDoes) {
  const query::Table table = TableOf(recording_, query::OPERATIONS);
  EXPECT_EQ(table.operations_size(), 93);
  EXPECT_EQ(table.device_time_total_ns(), 541106145);
  EXPECT_EQ(table.self_device_time_total_ns(), 541106145 - 18700516);
  EXPECT_THAT(table.notes(), ElementsAre("device work without an operation: 31 records, 18.701ms"));
  const std::map<std::string, int64_t> times = DeviceTimes(recording_);
  EXPECT_EQ(times.at("flash_attn::_flash_attn_forward"), 256586234);
  EXPECT_EQ(times.at("aten::copy_"), 69869064);
  EXPECT_EQ(times.at("aten::addmm"), 57807320);
  EXPECT_EQ(times.at("aten::mul"), 42979045);
  EXPECT_EQ(times.at("ncclGroupEnd"), 25179513);
}

TEST_F(RealExport, HasTheKernelsCopiesAndCallsThatSqlCounts) {
  const query::Table kernels = TableOf(recording_, query::KERNELS);
  EXPECT_EQ(kernels.kernels_size(), 27 + 2 + 1);
  EXPECT_EQ(kernels.kernels(0).count(), 68);
  EXPECT_EQ(kernels.kernels(0).total_ns(), 272317378);
  EXPECT_EQ(kernels.kernels(1).name(), "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN");
  EXPECT_EQ(kernels.kernels(1).total_ns(), 38226009);
  EXPECT_EQ(kernels.kernels(1).min_ns(), 97696);
  EXPECT_EQ(kernels.kernels(1).max_ns(), 527903);

  const query::Table copies = TableOf(recording_, query::COPIES);
  ASSERT_EQ(copies.copies_size(), 3);
  EXPECT_EQ(copies.copies(0).direction(), "DtoD");
  EXPECT_EQ(copies.copies(0).count(), 986);
  EXPECT_EQ(copies.copies(0).bytes(), 8046134272);
  EXPECT_EQ(copies.copies(0).total_ns(), 5665431);
  EXPECT_EQ(copies.copies(2).source_memory(), "pageable");
  EXPECT_EQ(copies.copies(2).bytes(), 272);

  const query::Table processes = TableOf(recording_, query::PROCESSES);
  ASSERT_EQ(processes.processes_size(), 2);
  EXPECT_EQ(processes.processes(0).pid(), 144);
  EXPECT_EQ(processes.processes(0).device_time_ns(), 273830229);
  EXPECT_EQ(processes.processes(1).device_time_ns(), 267275916);

  const query::Table calls = TableOf(recording_, query::API);
  EXPECT_EQ(calls.calls(0).name(), "cudaStreamSynchronize");
  EXPECT_EQ(calls.calls(0).total_ns(), 324534733);
  EXPECT_EQ(calls.calls(1).name(), "cudaLaunchKernel");
  EXPECT_EQ(calls.calls(1).count(), 3604);
}

}  // namespace
}  // namespace tp

// Exports of other versions: tables and columns that are not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/import/nsight_export.h"

namespace tp {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Nsight, AnExportOf2019IsReadToo) {
  NsightExport database(kSchemaOf2019);
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
    NsightExport database;
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
    NsightExport database;
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
  NsightExport database;
  database.Range(0, "90", "a");
  database.Call(1, 2, 1, "cudaLaunchKernel");
  database.Call(1, 2, 1, "cudaLaunchKernel", 0, GlobalId(20, 21));
  database.Kernel(3, 10, "1", "kernel");
  database.Execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = NULL");
  const WholeRecording recording = Import(database);
  EXPECT_THAT(recording.notes,
              ElementsAre(AllOf(HasSubstr("does not say which"), HasSubstr("1 record"))));
  EXPECT_THAT(DeviceTimes(recording), ElementsAre(testing::Pair("a", 0)));
}

}  // namespace
}  // namespace tp

#include "analyzer/import/nsight_export.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {

NsightExport::NsightExport(const std::string& sql) {
  std::string folder = testing::TempDir() + "nsight-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  folder_ = folder;
  // Many pages of a few rows.
  Execute("PRAGMA page_size = 512;" + sql);
}

NsightExport::~NsightExport() { std::filesystem::remove_all(folder_); }

void NsightExport::Execute(const std::string& sql) const {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &connection), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(connection, ("PRAGMA synchronous = OFF;" + sql).c_str(), nullptr, nullptr,
                         &error),
            SQLITE_OK)
      << error << ": " << sql;
  sqlite3_free(error);
  sqlite3_close(connection);
}

int64_t NsightExport::Text(const std::string& text) {
  Execute(absl::StrCat("INSERT INTO StringIds VALUES (", ++texts_, ", '", text, "')"));
  return texts_;
}

void NsightExport::Range(int64_t start, const std::string& end, const std::string& text, int type,
                         int64_t thread) const {
  Execute(absl::StrCat("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (",
                       start, ",", end, ",", type, ",'", text, "',", thread, ")"));
}

void NsightExport::Call(int64_t start, int64_t end, int64_t correlation, const std::string& name,
                        int event_class, int64_t thread, int64_t result) {
  Execute(
      absl::StrCat("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, "
                   "correlationId, nameId, returnValue) VALUES (",
                   start, ",", end, ",", event_class, ",", thread, ",", correlation, ",",
                   Text(name), ",", result, ")"));
}

void NsightExport::Kernel(int64_t start, int64_t end, const std::string& correlation,
                          const std::string& name, int64_t process, int device) {
  const int64_t text = Text(name);
  Execute(absl::StrCat(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, "
      "correlationId, globalPid, demangledName, shortName) VALUES (",
      start, ",", end, ",", device, ",1,7,", correlation, ",", process, ",", text, ",", text, ")"));
}

WholeRecording Import(const NsightExport& database) {
  absl::StatusOr<WholeRecording> recording = ImportNsight(database.path());
  EXPECT_TRUE(recording.ok()) << recording.status();
  return recording.ok() ? *std::move(recording) : WholeRecording();
}

std::string_view Text(const WholeRecording& recording, StringId id) {
  return recording.strings->Text(id);
}

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

std::map<std::string, int64_t> DeviceTimes(const WholeRecording& recording) {
  std::map<std::string, int64_t> times;
  const query::Table table = TableOf(recording, query::OPERATIONS);
  for (const query::OperationRow& row : table.operations()) {
    times[row.name()] = row.self_device_time_total_ns();
  }
  return times;
}

}  // namespace tp

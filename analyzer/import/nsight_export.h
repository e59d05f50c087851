// SQLite exports as Nsight Systems writes them, made up by tests of their import.
#ifndef ANALYZER_IMPORT_NSIGHT_EXPORT_H_
#define ANALYZER_IMPORT_NSIGHT_EXPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analyzer/model/whole_recording.h"
#include "proto/query.pb.h"

namespace tp {

constexpr int64_t GlobalId(int64_t process, int64_t thread) {
  return int64_t{1} << 48 | process << 24 | thread;
}
inline constexpr int64_t kProcess = GlobalId(10, 0), kThread = GlobalId(10, 11);

// The tables as versions of 2025 have them, without columns that nobody reads.
inline constexpr char kSchema[] = R"(
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
inline constexpr char kSchemaOf2019[] = R"(
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
class NsightExport {
 public:
  explicit NsightExport(const std::string& sql = kSchema);
  NsightExport(const NsightExport&) = delete;
  NsightExport& operator=(const NsightExport&) = delete;
  ~NsightExport();

  std::string path() const { return folder_ + "/report.sqlite"; }

  void Execute(const std::string& sql) const;

  // The id of a new text.
  int64_t Text(const std::string& text);
  void Range(int64_t start, const std::string& end, const std::string& text, int type = 59,
             int64_t thread = kThread) const;
  void Call(int64_t start, int64_t end, int64_t correlation, const std::string& name,
            int event_class = 0, int64_t thread = kThread, int64_t result = 0);
  void Kernel(int64_t start, int64_t end, const std::string& correlation, const std::string& name,
              int64_t process = kProcess, int device = 0);

 private:
  std::string folder_;
  int64_t texts_ = 0;
};

// The recording of one that is good.
WholeRecording Import(const NsightExport& database);

std::string_view Text(const WholeRecording& recording, StringId id);
// The only record of this kind.
DeviceActivity TheOnly(const WholeRecording& recording, ActivityKind kind);
query::Table TableOf(const WholeRecording& recording, query::View view);
// Self device time by operation.
std::map<std::string, int64_t> DeviceTimes(const WholeRecording& recording);

}  // namespace tp

#endif  // ANALYZER_IMPORT_NSIGHT_EXPORT_H_

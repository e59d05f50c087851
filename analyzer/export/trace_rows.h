// The rows of a trace viewer: where each record of a recording is drawn. A row is a pair (pid,
// tid); host threads have theirs under their process, with all that happens on them; each stream
// has one under its device.
//
// Viewers drop slices that overlap another one on their row. So what may overlap is spread over as
// many rows as it takes: the work of one stream, images of annotations, overhead, and ranges that
// have no place in the nesting of their thread. Other spans stay on their thread's row whatever
// they do: the row says which thread they belong to.
//
// Numbers are those of the recording where they are small and free, so that a reader finds the
// process and the thread that it knows; others are made up.
#ifndef ANALYZER_EXPORT_TRACE_ROWS_H_
#define ANALYZER_EXPORT_TRACE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/model/whole_recording.h"

namespace tp {

struct TraceRow {
  uint32_t process = 0;  // Place in TraceRows::processes().
  uint32_t tid = 0;
};

class TraceRows {
 public:
  struct Process {
    uint32_t pid = 0;
    bool is_device = false;
    int32_t device = 0;
    std::string name;  // Of a device: that of the processes that use it, if it is one name.
  };
  struct Named {
    TraceRow row;
    std::string name;
  };

  // `unnamed`: what to call a process whose name is not known.
  TraceRows(const WholeRecording& recording, const std::string& unnamed);

  // Host processes as they were first seen, at least one; then devices by number.
  const std::vector<Process>& processes() const { return processes_; }
  // All rows, those of one process together.
  std::vector<Named> ByProcess() const;

  // The pid of the process that device work belongs to, where there are several and the recording
  // tells whose it is.
  std::optional<uint32_t> Owner(const DeviceActivity& activity) const;

  uint32_t Pid(TraceRow row) const { return processes_[row.process].pid; }
  // Of the record at this place in the recording.
  TraceRow OfSpan(size_t place) const { return rows_[span_rows_[place]].row; }
  TraceRow OfActivity(size_t place) const { return rows_[activity_rows_[place]].row; }
  // Of a thread that calls, spans, memory events, samples or counters are of.
  TraceRow OfThread(int64_t thread) const { return rows_[thread_rows_.at(thread)].row; }

 private:
  // Numbers that are in use in one place.
  class Numbers {
   public:
    // `wanted` if it is small and free, else another one.
    uint32_t Take(int64_t wanted);

   private:
    absl::flat_hash_set<uint32_t> taken_;
    uint32_t next_ = 1 << 22;  // Beyond the numbers that Linux gives to processes and threads.
  };
  // What is drawn at one place in the recording, and when.
  struct Slice {
    uint32_t place;
    int64_t start_ns, end_ns;
  };
  class Hosts;
  // Slices that share rows, which are made when it is known how many it takes.
  struct Lanes {
    uint32_t process = 0;
    int64_t wanted_tid = -1;
    std::string name;
    std::vector<Slice> slices;
  };

  uint32_t AddProcess(Process process);
  void AddThreads(const WholeRecording& recording, Hosts* hosts);
  void AddAsynchronousSpans(const WholeRecording& recording);
  void AddOwners(const WholeRecording& recording, Hosts* hosts);
  void AddOverhead(const WholeRecording& recording, Hosts* hosts);
  void AddStreams(const WholeRecording& recording, const Hosts& hosts,
                  const absl::flat_hash_map<int32_t, uint32_t>& process_of_device);
  uint32_t AddRow(uint32_t process, int64_t wanted_tid, std::string name);
  void Spread(Lanes* lanes, std::vector<uint32_t>* row_of_place);

  std::vector<Process> processes_;
  Numbers pids_;
  std::vector<Numbers> tids_;  // By process.
  std::vector<Named> rows_;
  absl::flat_hash_map<int64_t, uint32_t> thread_rows_;
  absl::flat_hash_map<int64_t, uint32_t> owner_of_thread_;  // A place in processes_.
  std::vector<uint32_t> span_rows_;
  std::vector<uint32_t> activity_rows_;
};

}  // namespace tp

#endif  // ANALYZER_EXPORT_TRACE_ROWS_H_

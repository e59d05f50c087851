// The running summary of one recording: fed its records in any order and as late as may be, it
// always gives the summary that an analysis of all of them at once would give (but for what had to
// be let go, which it counts).
//
//   Summary summary(&strings, limits);
//   summary.AddSpan(...); summary.AddActivity(...); summary.AddLaunchOperation(...);   // as
//   records come query::Table table = Tabulate({&summary}, options, now_ns); // costs the number of
//   groups
//
// Live sources are fed batch by batch, files all at once: one implementation. Not thread-safe: one
// thread at a time.
#ifndef ANALYZER_SUMMARIZE_SUMMARY_H_
#define ANALYZER_SUMMARIZE_SUMMARY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "analyzer/model/descriptions.h"
#include "analyzer/model/recording.h"
#include "analyzer/model/string_table.h"
#include "analyzer/summarize/impossible.h"
#include "proto/query.pb.h"

namespace tp {

// Bounds on what a summary keeps beside its groups. What no longer fits is let go oldest first;
// sums stay right, late records that refer to what was let go are counted in `Missed`.
struct SummaryLimits {
  size_t spans = 1 << 20;         // Kept for nesting and for late device work.
  size_t correlations = 1 << 20;  // Launches kept for late device work.
  size_t groups = 1 << 16;        // Of each view; further ones fall under "(other)".
  // Of each stream and device, kept to tell busy time (see busy_time.h).
  size_t intervals = 1 << 14;
  // Device records kept until the call that launched them comes. Beyond that the oldest is taken
  // for right, as all are whose call never comes. 0 is for sources that give all calls first.
  size_t unconfirmed = 1 << 16;
  size_t allocations = 1 << 20;  // That are live at a time.
  size_t graph_nodes = 1 << 17;
  size_t span_details = 1 << 18;  // Spans with values.
};

// Device work that is in the sums without its operation, and why.
struct LateRecords {
  uint64_t launch_let_go = 0;     // Its launch was too long ago.
  uint64_t operation_let_go = 0;  // Its operation was too long ago.
};

// The numbers of one span.
struct SpanSummary {
  uint64_t id = kNoOperation;
  uint64_t parent = kNoOperation;  // The innermost span around it.
  int64_t duration_ns = 0;
  int64_t self_cpu_ns = 0;
  int64_t self_device_ns = 0;
  int64_t device_total_ns = 0;
  int64_t kernels = 0;  // Its own.
  int64_t nested_output_bytes = 0;
};

class Summary {
 public:
  // `strings` outlives the summary. Of device work only sums are kept, of spans those that `limits`
  // allow.
  explicit Summary(const StringTable* strings, const SummaryLimits& limits = {});
  ~Summary();
  Summary(Summary&&) noexcept;
  Summary& operator=(Summary&&) noexcept;

  // Whose records these are: the `pid` of the rows of streams.
  void SetProcess(int64_t pid);
  // What is known of the things that the records name by number; to be filled in as it comes.
  Descriptions& descriptions();
  const Descriptions& descriptions() const;
  // When capturing began: spans and calls that ended before, and device work that started before,
  // are kept out of the sums. 0: unknown, all are in.
  void SetRecordingStart(int64_t start_ns);
  // Nothing can have ended after this: it is kept out of the sums.
  void SetLatest(int64_t latest_ns);
  // When the source was last heard of: spans that are open then end there, not at the time of a
  // query. INT64_MAX: it is still heard of.
  void SetRecordingEnd(int64_t end_ns);
  int64_t recording_end_ns() const;

  // What began before is not to be known: spans that were open then count from this time on.
  void SetSpansFrom(int64_t start_ns);

  // A span that is over, or (end_ns == kStillOpen) one that is open; adding an id again is ignored.
  void AddSpan(const Span& span);
  // What a span carries; before the span or after it.
  void AddSpanValue(const SpanValue& value);
  void AddCounter(const CounterValue& counter);
  // Whether a span with this id was added, and is still kept.
  bool HasSpan(uint64_t id) const;
  // Ends a span that was added open; one that is not known yet ends when it is added.
  void CloseSpan(uint64_t id, int64_t end_ns);
  // A kernel, copy, fill, graph, call, other host time or device annotation.
  void AddActivity(const DeviceActivity& activity);
  // How a kernel of this name was launched; beside its record.
  void AddKernelLaunch(StringId kernel, const KernelLaunch& launch);
  void AddMemory(const MemoryChange& event);
  // A node of a graph was made.
  void AddGraphNode(const GraphNode& node);
  // The call with this correlation id was made while `operation` was the innermost open span.
  void AddLaunchOperation(uint64_t correlation, uint64_t operation);

  // Visits the spans that are kept, in the order in which they came; those that are open end at
  // `now_ns`.
  void VisitSpans(int64_t now_ns, absl::FunctionRef<void(const SpanSummary&)> visit) const;

  // Visits the spans that have not ended, in the order in which they came. `has_key`: false for
  // one that is in the group of all others, whose name, kind, shapes and stack are not kept.
  void VisitOpenSpans(absl::FunctionRef<void(const Span&, bool has_key)> visit) const;

  // Of each kind, how many records were kept out of the sums, and why.
  const ImpossibleRecords& impossible() const;
  LateRecords late() const;
  // Spans whose values were let go.
  uint64_t details_let_go() const;
  // Device work that belongs to no operation.
  uint64_t unattributed_count() const;
  int64_t unattributed_ns() const;
  // All device work.
  int64_t device_time_ns() const;
  // The devices that the process has contexts on, as far as it is told, or work; what is known of
  // them.
  void AddDevices(query::Process* process) const;
  size_t memory_bytes() const;

 private:
  friend class Tabulation;
  struct State;
  std::unique_ptr<State> state_;
};

struct TableOptions {
  query::View view = query::OPERATIONS;
  bool group_by_shape = false;
  uint32_t group_by_stack = 0;
  bool top_level =
      false;  // SPANS: only those with no parent. Groups have none: all of them are shown.
};

// The rows of one view over one or several recordings (several processes: groups with the same key
// are one row). Spans that are open count as ending at `now_ns`. Fills rows, totals, devices and
// the kind of device ("cuda"); processes, losses and notes are the caller's. Rows are in their
// default order: groups by self CPU time, device work, copies and calls by total time, largest
// first; memory by process, kind and device; streams by process, device, context and number; single
// spans as they came; equal ones as they were first seen.
query::Table Tabulate(std::span<const Summary* const> summaries, const TableOptions& options,
                      int64_t now_ns);

// One row "Total" over all groups of a table of OPERATIONS.
query::OperationRow TotalRow(const query::Table& table);

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_SUMMARY_H_

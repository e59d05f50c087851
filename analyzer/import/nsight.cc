// Nsight Systems' SQLite exports to recordings: section 9 of the summaries' specification.
//
// What the tables and numbers mean is NVIDIA's documentation of the export's schema. All of it is
// optional: versions since 2019 have added tables and columns and left none of these out.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analyzer/correlate/launch_enclosure.h"
#include "analyzer/import/import.h"
#include "analyzer/import/sqlite_database.h"
#include "analyzer/model/copy_kind.h"
#include "analyzer/present/units.h"
#include "proto/function_name.h"
#include "proto/operation_name.h"

namespace tp {
namespace {

// Beyond this no clock counts, and differences would not fit.
constexpr int64_t kFarthestNs = int64_t{1} << 62;
constexpr size_t kMostKnownTexts = 1 << 16;

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

// A serialized global id: hardware and virtual machine (8 bits each), process and thread (24 each).
constexpr uint64_t kThreadBits = 0xFFFFFF;
constexpr int kProcessShift = 24;

int64_t ProcessBits(int64_t global_id) {
  return static_cast<int64_t>(static_cast<uint64_t>(global_id) & ~kThreadBits);
}
int64_t ProcessNumber(int64_t global_id) {
  return static_cast<int64_t>(static_cast<uint64_t>(global_id) >> kProcessShift & kThreadBits);
}
int64_t ThreadNumber(int64_t global_id) {
  return static_cast<int64_t>(static_cast<uint64_t>(global_id) & kThreadBits);
}
int64_t MainThread(int64_t global_id) { return ProcessBits(global_id) | ProcessNumber(global_id); }

// What a row of NVTX_EVENTS is, by its eventType.
enum class NvtxEvent { kPushPop, kStartEnd, kNoRange, kUnknown };

NvtxEvent NvtxEventOf(int64_t event_type) {
  switch (event_type) {
    case 59:
    case 70:  // From a text file of ranges.
      return NvtxEvent::kPushPop;
    case 60:
    case 71:
      return NvtxEvent::kStartEnd;
    case 33:  // Categories,
    case 64:
    case 34:  // marks,
    case 65:
    case 39:  // names of threads,
    case 72:
    case 73:  // of processes,
    case 74:  // files,
    case 75:  // domains, created and destroyed,
    case 76:
    case 97:  // names of devices, contexts and streams.
    case 98:
    case 99:
      return NvtxEvent::kNoRange;
    default:
      return NvtxEvent::kUnknown;
  }
}

// Columns that the tables of calls, of device work and of overhead begin with here.
enum Column { kStart, kEnd, kFirstOther };
enum WorkColumn { kDevice = kFirstOther, kContext, kStream, kCorrelation, kProcess, kFirstOwn };

class NsightImport {
 public:
  explicit NsightImport(SqliteDatabase database)
      : database_(std::move(database)), texts_(database_.Texts("StringIds")) {}

  absl::StatusOr<WholeRecording> Run(const std::string& path) {
    if (!database_.HasTable("StringIds")) {
      const std::string& why = texts_.damage().empty() ? database_.damage() : texts_.damage();
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is a SQLite database, but no export of Nsight Systems: ",
                       why.empty() ? "it has no table StringIds" : why));
    }
    if (!database_.damage().empty()) Note(absl::StrCat(path, ": ", database_.damage()));
    ReadDevices();
    ReadRanges();
    ReadCalls();
    ReadKernels();
    ReadCopies();
    ReadFills();
    ReadGraphs();
    CountWaits();
    ReadOverheadTypes();
    ReadOverhead("PROFILER_OVERHEAD");
    ReadOverhead("CUPTI_ACTIVITY_KIND_OVERHEAD");
    if (!texts_.damage().empty()) {
      Note(absl::StrCat("names are missing: StringIds is damaged: ", texts_.damage()));
    }
    if (recording_.spans.empty() && recording_.activities.empty()) {
      if (!recording_.notes.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": nothing in it can be read: ", recording_.notes.front()));
      }
      Note("it holds no CUDA work and no NVTX ranges");
    }

    GiveSpansIds();
    JoinCallsToSpans(recording_.spans, &recording_.activities);
    GiveProcessToTheUnknown();
    for (const Span& span : recording_.spans) SeeStart(span.start_ns);
    for (const DeviceActivity& activity : recording_.activities) SeeStart(activity.start_ns);
    if (saw_start_) recording_.base_ns = earliest_ns_;
    NameThreads();
    ReadRank();
    return std::move(recording_);
  }

 private:
  // A range's text, read.
  struct RangeName {
    StringId name = 0;
    StringId shapes = 0;
    SpanKind kind = SpanKind::kUserAnnotation;
  };

  StringTable& strings() { return *recording_.strings; }

  void Note(std::string note) {
    if (!note.empty()) recording_.notes.push_back(std::move(note));
  }

  // Says what is not in the recording of a table that was read.
  void NoteLosses(std::string_view table, const TableRows& rows) {
    if (!rows.damage().empty() && rows.rows() == 0) {
      Note(absl::StrCat(Absl(table), " cannot be read: ", rows.damage()));
    } else if (!rows.damage().empty()) {
      Note(absl::StrCat(Absl(table), " breaks off after ", Counted(rows.rows(), "row"), ": ",
                        rows.damage()));
    }
    if (rows.wrong_rows() > 0) {
      Note(absl::StrCat(Counted(rows.wrong_rows(), "row"), " of ", Absl(table),
                        " with values that cannot be right: left out"));
    }
  }

  void SeeStart(int64_t start_ns) {
    earliest_ns_ = saw_start_ ? std::min(earliest_ns_, start_ns) : start_ns;
    saw_start_ = true;
  }

  int64_t Time(TableRows* rows, int column) {
    const int64_t time_ns = rows->Required(column);
    if (time_ns <= -kFarthestNs || time_ns >= kFarthestNs) rows->Reject();
    return time_ns;
  }

  // Of a text by its id in StringIds.
  StringId Name(int64_t id) {
    if (const auto known = names_.find(id); known != names_.end()) return known->second;
    if (names_.size() == kMostKnownTexts) names_.clear();
    return names_[id] = strings().Intern(texts_.Text(id));
  }

  RangeName ReadRangeName(std::string_view text) {
    const OperationName operation = ReadOperationName(text);
    return {strings().Intern(operation.name), strings().Intern(operation.shapes),
            static_cast<SpanKind>(operation.kind)};
  }

  const RangeName& RegisteredRangeName(int64_t id) {
    if (const auto known = range_names_.find(id); known != range_names_.end()) {
      return known->second;
    }
    if (range_names_.size() == kMostKnownTexts) range_names_.clear();
    return range_names_[id] = ReadRangeName(texts_.Text(id));
  }

  int64_t Thread(int64_t global_id) {
    if (global_id != last_thread_) threads_.insert(last_thread_ = global_id);
    return global_id;
  }

  // Correlation ids are each process's own.
  uint64_t Correlation(TableRows* rows, int column, bool has_process, int64_t global_id) {
    const uint32_t id = rows->Unsigned(column);
    if (id == 0) return 0;
    uint64_t process = 0;
    if (has_process) {
      process = processes_.emplace(ProcessBits(global_id), processes_.size() + 1).first->second;
    }
    return process << 32 | id;
  }

  // The device that a process calls by another number if it sees only some of them.
  void ReadDevices() {
    enum { kGpu, kCuda, kPid };
    TableRows rows = database_.Rows("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"});
    while (rows.Next()) {
      if (rows.IsNull(kGpu)) continue;
      const auto gpu = static_cast<int32_t>(rows.Unsigned(kGpu));
      const std::pair device(rows.Required(kPid), rows.Required(kCuda));
      if (rows.RowIsRight() && gpu >= 0) devices_[device] = gpu;
    }
    NoteLosses("TARGET_INFO_CUDA_DEVICE", rows);
  }

  void ReadRanges() {
    enum { kType = kFirstOther, kText, kTextId, kGlobalTid };
    TableRows rows =
        database_.Rows("NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"});
    uint64_t unknown = 0, open = 0, without_thread = 0;
    while (rows.Next()) {
      NvtxEvent event = rows.IsNull(kEnd) ? NvtxEvent::kNoRange : NvtxEvent::kPushPop;
      if (rows.HasColumn(kType)) event = NvtxEventOf(rows.Required(kType));
      if (event == NvtxEvent::kNoRange) continue;
      Span span;
      span.start_ns = Time(&rows, kStart);
      // Early versions write 0 for what is not there.
      const bool is_open = rows.IsNull(kEnd) || (rows.Integer(kEnd) == 0 && span.start_ns > 0);
      span.end_ns = is_open ? kStillOpen : Time(&rows, kEnd);
      span.asynchronous = event == NvtxEvent::kStartEnd;
      const bool has_thread = !rows.IsNull(kGlobalTid);
      const int64_t global_id = rows.Integer(kGlobalTid);
      const bool is_registered = rows.IsNull(kText) && !rows.IsNull(kTextId);
      const int64_t text_id = rows.Integer(kTextId);
      const std::string_view text = rows.Text(kText);
      if (!rows.RowIsRight()) continue;
      if (event == NvtxEvent::kUnknown) {
        ++unknown;
        continue;
      }
      if (has_thread) {
        span.thread = Thread(global_id);
      } else {
        span.asynchronous = true;
        ++without_thread;
      }
      if (is_open) ++open;
      const RangeName name = is_registered ? RegisteredRangeName(text_id) : ReadRangeName(text);
      span.name = name.name;
      span.shapes = name.shapes;
      span.kind = name.kind;
      recording_.spans.push_back(span);
    }
    NoteLosses("NVTX_EVENTS", rows);
    if (unknown > 0) {
      Note(absl::StrCat(Counted(unknown, "NVTX event"), " of unknown kinds: left out"));
    }
    if (open > 0) {
      Note(absl::StrCat(Counted(open, "NVTX range"),
                        " without an end: taken to end with the recording"));
    }
    if (without_thread > 0) {
      Note(absl::StrCat(Counted(without_thread, "NVTX range"),
                        " without a thread: no device work belongs there"));
    }
  }

  void ReadCalls() {
    enum { kClass = kFirstOther, kGlobalTid, kCallCorrelation, kName, kResult };
    enum { kRuntimeClass = 0, kDriverClass = 1 };
    TableRows rows = database_.Rows(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"});
    while (rows.Next()) {
      DeviceActivity call;
      call.device = -1;
      call.start_ns = Time(&rows, kStart);
      call.end_ns = Time(&rows, kEnd);
      const bool has_thread = !rows.IsNull(kGlobalTid);
      const int64_t global_id = rows.Integer(kGlobalTid);
      const int64_t event_class = rows.Integer(kClass, -1);
      const int64_t name_id = rows.Integer(kName);
      const int64_t result = rows.Integer(kResult);
      if (result < INT32_MIN || result > UINT32_MAX) rows.Reject();
      call.result = static_cast<uint32_t>(result);
      call.correlation = Correlation(&rows, kCallCorrelation, has_thread, global_id);
      if (!rows.RowIsRight()) continue;
      if (has_thread) call.thread = Thread(global_id);
      call.name = Name(name_id);
      const std::string_view name = strings().Text(call.name);
      bool is_driver = event_class == kDriverClass;
      // cuLaunchKernel, as against cudaLaunchKernel.
      if (event_class != kRuntimeClass && event_class != kDriverClass) {
        is_driver = name.size() > 2 && name.starts_with("cu") && absl::ascii_isupper(name[2]);
      }
      call.kind = is_driver ? ActivityKind::kDriverCall : ActivityKind::kRuntimeCall;
      if (!is_driver) call.name = strings().Intern(RuntimeFunctionName(name));
      if (name.empty()) call.name = strings().Intern("(unknown call)");
      recording_.activities.push_back(call);
    }
    NoteLosses("CUPTI_ACTIVITY_KIND_RUNTIME", rows);
  }

  // Reads a table of device work, whose own columns `fill(rows, activity)` reads from kFirstOwn on.
  template <typename Fill>
  void ReadWork(std::string_view table, ActivityKind kind,
                const std::vector<std::string_view>& own_columns, Fill fill) {
    std::vector<std::string_view> columns = {"start",    "end",           "deviceId", "contextId",
                                             "streamId", "correlationId", "globalPid"};
    columns.insert(columns.end(), own_columns.begin(), own_columns.end());
    TableRows rows = database_.Rows(table, columns);
    while (rows.Next()) {
      DeviceActivity activity;
      activity.kind = kind;
      activity.start_ns = Time(&rows, kStart);
      activity.end_ns = Time(&rows, kEnd);
      const uint32_t device = rows.Unsigned(kDevice);
      if (device > INT32_MAX) rows.Reject();
      activity.device = static_cast<int32_t>(device);
      activity.context = rows.Unsigned(kContext);
      activity.stream = rows.Unsigned(kStream);
      const bool has_process = !rows.IsNull(kProcess);
      const int64_t global_id = rows.Integer(kProcess);
      activity.correlation = Correlation(&rows, kCorrelation, has_process, global_id);
      fill(&rows, &activity);
      if (!rows.RowIsRight()) continue;
      if (has_process) {
        activity.thread = Thread(MainThread(global_id));
        const auto known = devices_.find({ProcessNumber(global_id), activity.device});
        if (known != devices_.end()) activity.device = known->second;
      } else if (activity.correlation != 0) {
        ++work_without_process_;
      }
      recording_.activities.push_back(activity);
    }
    NoteLosses(table, rows);
  }

  void ReadKernels() {
    ReadWork("CUPTI_ACTIVITY_KIND_KERNEL", ActivityKind::kKernel,
             {"demangledName", "mangledName", "shortName"},
             [&](TableRows* rows, DeviceActivity* kernel) {
               for (int column = kFirstOwn; column < kFirstOwn + 3 && kernel->name == 0; ++column) {
                 if (!rows->IsNull(column)) kernel->name = Name(rows->Integer(column));
               }
               if (kernel->name == 0) kernel->name = strings().Intern("(unknown kernel)");
             });
  }

  void ReadCopies() {
    enum { kBytes = kFirstOwn, kCopyKind, kSource, kDestination };
    ReadWork("CUPTI_ACTIVITY_KIND_MEMCPY", ActivityKind::kCopy,
             {"bytes", "copyKind", "srcKind", "dstKind"},
             [&](TableRows* rows, DeviceActivity* copy) {
               copy->bytes = Bytes(rows, kBytes);
               copy->copy_kind = NarrowKind(rows->Unsigned(kCopyKind));
               copy->source_memory = Memory(rows, kSource);
               copy->destination_memory = Memory(rows, kDestination);
               copy->name = strings().Intern(
                   CopyName(copy->copy_kind, copy->source_memory, copy->destination_memory));
             });
  }

  void ReadFills() {
    enum { kBytes = kFirstOwn, kValue, kMemory };
    ReadWork("CUPTI_ACTIVITY_KIND_MEMSET", ActivityKind::kFill, {"bytes", "value", "memKind"},
             [&](TableRows* rows, DeviceActivity* fill) {
               fill->bytes = Bytes(rows, kBytes);
               fill->value = rows->Unsigned(kValue);
               fill->source_memory = fill->destination_memory = Memory(rows, kMemory);
               fill->name = strings().Intern(FillName(fill->source_memory));
             });
  }

  // Graphs of which only the time as a whole was recorded: one piece of device work each, as from a
  // live process.
  void ReadGraphs() {
    const size_t before = recording_.activities.size();
    ReadWork("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", ActivityKind::kGraph, {"graphId"},
             [&](TableRows* rows, DeviceActivity* graph) {
               graph->name =
                   strings().Intern(absl::StrCat("CUDA graph ", rows->Integer(kFirstOwn)));
             });
    if (recording_.activities.size() == before) return;
    KeepOneOfGraphAndNodes(before);
    size_t graphs = 0;
    int64_t total_ns = 0;
    for (size_t i = before; i < recording_.activities.size(); ++i) {
      const DeviceActivity& graph = recording_.activities[i];
      if (!IsDeviceWork(graph.kind)) continue;
      ++graphs;
      if (graph.end_ns > graph.start_ns) total_ns += graph.end_ns - graph.start_ns;
    }
    if (graphs == 0) return;
    Note(absl::StrCat(
        graphs, graphs == 1 ? " launch of a CUDA graph (" : " launches of CUDA graphs (",
        DurationText(static_cast<double>(total_ns) / 1000.0, TimeUnit::kChosenBySize),
        " on the device) recorded as a whole: gaps count, and"
        " kernels in graphs are in no table (nsys profile --cuda-graph-trace=node records them)"));
  }

  // A graph whose nodes are there as well, before `first_graph`, is only their frame.
  void KeepOneOfGraphAndNodes(size_t first_graph) {
    absl::flat_hash_set<uint64_t> with_work;
    for (size_t i = 0; i < first_graph; ++i) {
      const DeviceActivity& activity = recording_.activities[i];
      if (IsDeviceWork(activity.kind)) with_work.insert(activity.correlation);
    }
    for (size_t i = first_graph; i < recording_.activities.size(); ++i) {
      DeviceActivity& graph = recording_.activities[i];
      if (graph.correlation != 0 && with_work.contains(graph.correlation)) {
        graph.kind = ActivityKind::kDeviceAnnotation;
      }
    }
  }

  // They are pictures on the device's rows, as in PyTorch's traces.
  void CountWaits() {
    constexpr std::string_view kTable = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    TableRows rows = database_.Rows(kTable, {"start"});
    while (rows.Next()) {
    }
    NoteLosses(kTable, rows);
    if (rows.rows() == 0) return;
    Note(absl::StrCat(Counted(rows.rows(), "wait"),
                      " of streams and events left out: no device work, and the host's are in its "
                      "calls"));
  }

  void ReadOverheadTypes() {
    enum { kId, kLabel };
    TableRows rows = database_.Rows("ENUM_CUPTI_OVERHEAD_TYPE", {"id", "label"});
    while (rows.Next() && overhead_types_.size() < kMostKnownTexts) {
      const int64_t id = rows.Required(kId);
      const std::string_view label = rows.Text(kLabel);
      if (rows.RowIsRight()) overhead_types_[id] = strings().Intern(label);
    }
  }

  // What the profiler cost the program, and what CUDA did beside what it was asked for.
  void ReadOverhead(std::string_view table) {
    enum { kGlobalTid = kFirstOther, kName, kType };
    TableRows rows = database_.Rows(table, {"start", "end", "globalTid", "nameId", "overheadType"});
    while (rows.Next()) {
      DeviceActivity overhead;
      overhead.kind = ActivityKind::kOverhead;
      overhead.device = -1;
      overhead.start_ns = Time(&rows, kStart);
      overhead.end_ns = Time(&rows, kEnd);
      const bool has_thread = !rows.IsNull(kGlobalTid);
      const int64_t global_id = rows.Integer(kGlobalTid);
      const int64_t name_id = rows.Integer(kName);
      const int64_t type = rows.Integer(kType, -1);
      if (!rows.RowIsRight()) continue;
      if (has_thread) overhead.thread = Thread(global_id);
      overhead.name = Name(name_id);
      if (const auto label = overhead_types_.find(type);
          overhead.name == 0 && label != overhead_types_.end()) {
        overhead.name = label->second;
      }
      if (overhead.name == 0) overhead.name = strings().Intern("(unknown overhead)");
      recording_.activities.push_back(overhead);
    }
    NoteLosses(table, rows);
  }

  uint64_t Bytes(TableRows* rows, int column) {
    const int64_t bytes = rows->Integer(column);
    if (bytes < 0) rows->Reject();
    return static_cast<uint64_t>(bytes);
  }

  // As CUPTI numbers it: the export begins one earlier, and has a number for what is not known.
  uint32_t Memory(TableRows* rows, int column) {
    if (rows->IsNull(column)) return 0;
    const uint32_t kind = rows->Unsigned(column);
    return kind < kMemoryKinds - 1 ? kind + 1 : 0;
  }

  // In order of start, so that of two spans the later begun has the larger id (launch_join.h).
  void GiveSpansIds() {
    std::vector<Span>& spans = recording_.spans;
    const auto before = [](const Span& a, const Span& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    };
    if (!std::is_sorted(spans.begin(), spans.end(), before)) {
      std::stable_sort(spans.begin(), spans.end(), before);
    }
    for (size_t i = 0; i < spans.size(); ++i) spans[i].id = i;
  }

  // Records that do not say their process are of the only one, if there is only one.
  void GiveProcessToTheUnknown() {
    if (processes_.size() == 1) {
      for (DeviceActivity& activity : recording_.activities) {
        if (activity.correlation != 0) activity.correlation |= uint64_t{1} << 32;
      }
    } else if (!processes_.empty() && work_without_process_ > 0) {
      Note(
          absl::StrCat("device work that does not say which of several processes it is of, and "
                       "so belongs to no operation: ",
                       Counted(work_without_process_, "record")));
    }
  }

  void NameThreads() {
    std::map<int64_t, ThreadIdentity>& identities = recording_.threads;
    threads_.erase(0);
    for (const int64_t thread : threads_) {
      identities[thread] = {ProcessNumber(thread), ThreadNumber(thread), "", ""};
    }
    absl::flat_hash_map<int64_t, std::string> process_names;
    enum { kGlobalId, kName };
    TableRows threads = database_.Rows("ThreadNames", {"globalTid", "nameId"});
    while (threads.Next()) {
      const auto known = identities.find(threads.Integer(kGlobalId));
      const int64_t name = threads.Integer(kName);
      if (!threads.RowIsRight() || known == identities.end()) continue;
      known->second.thread_name = texts_.Text(name);
      // Unless there is a better one: a process is called as its main thread is.
      if (known->first == MainThread(known->first)) {
        process_names[ProcessBits(known->first)] = known->second.thread_name;
      }
    }
    TableRows processes = database_.Rows("PROCESSES", {"globalPid", "name"});
    while (processes.Next()) {
      const int64_t process = processes.Integer(kGlobalId);
      const std::string_view name = processes.Text(kName);
      if (processes.RowIsRight() && !name.empty()) {
        process_names[process] = std::string(name);
      }
    }
    for (auto& [thread, identity] : identities) {
      const auto known = process_names.find(ProcessBits(thread));
      if (known != process_names.end()) identity.process_name = known->second;
    }
  }

  void ReadRank() {
    TableRows rows = database_.Rows("MPI_RANKS", {"rank"});
    int32_t rank = -1;
    while (rows.Next()) {
      const uint32_t number = rows.Unsigned(0, UINT32_MAX);
      if (!rows.RowIsRight() || number > INT32_MAX) continue;
      if (rank >= 0 && rank != static_cast<int32_t>(number)) return;  // Of several.
      rank = static_cast<int32_t>(number);
    }
    recording_.rank = rank;
  }

  SqliteDatabase database_;
  TextsById texts_;
  WholeRecording recording_;
  absl::flat_hash_map<int64_t, StringId> names_;         // By id in StringIds.
  absl::flat_hash_map<int64_t, RangeName> range_names_;  // Likewise.
  absl::flat_hash_map<int64_t, StringId> overhead_types_;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, int32_t> devices_;  // By process and its number.
  absl::flat_hash_map<int64_t, uint64_t> processes_;  // From 1, by their bits; 0: not known.
  absl::flat_hash_set<int64_t> threads_;              // Global ids.
  int64_t last_thread_ = 0;
  uint64_t work_without_process_ = 0;
  int64_t earliest_ns_ = 0;
  bool saw_start_ = false;
};

}  // namespace

absl::StatusOr<WholeRecording> ImportNsight(const std::string& path) {
  absl::StatusOr<SqliteDatabase> database = SqliteDatabase::Open(path);
  if (!database.ok()) return database.status();
  return NsightImport(*std::move(database)).Run(path);
}

}  // namespace tp

#include "analyzer/export/chrome_trace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/correlate/activity_links.h"
#include "analyzer/export/json_text.h"
#include "analyzer/export/trace_rows.h"
#include "analyzer/model/frames.h"
#include "analyzer/present/utf8.h"
#include "analyzer/summarize/texts.h"
#include "analyzer/summarize/whole_summary.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

constexpr size_t kEventsBetweenLooks = 4096;
constexpr int64_t kAfterTheLastNs = 1000;      // Where the recording's window ends.
constexpr int64_t kShownNs = 1;                // The length of what has none, so that it is seen.
constexpr int64_t kDeviceSortIndex = 6000000;  // Below all host processes.

std::string_view Category(SpanKind kind, bool torch_compat) {
  switch (kind) {
    case SpanKind::kOperation:
      return "cpu_op";
    case SpanKind::kBackward:
      return torch_compat ? "user_annotation" : "backward";
    default:
      return "user_annotation";
  }
}

std::string_view Category(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kKernel:
      return "kernel";
    case ActivityKind::kCopy:
      return "gpu_memcpy";
    case ActivityKind::kFill:
      return "gpu_memset";
    case ActivityKind::kRuntimeCall:
      return "cuda_runtime";
    case ActivityKind::kDriverCall:
      return "cuda_driver";
    case ActivityKind::kOverhead:
      return "overhead";
    case ActivityKind::kSynchronization:
      return "cuda_sync";
    case ActivityKind::kCompilation:
      return "compilation";
    case ActivityKind::kGraph:
      return "gpu_graph";
    case ActivityKind::kDeviceAnnotation:
      break;
  }
  return "gpu_user_annotation";
}

// The device work inside of a span.
struct WorkInside {
  int64_t device_total_ns = 0;
  int64_t kernels = 0;
};

// Of each span of the recording. A parameter: the summary goes before the rows of all records come.
std::vector<WorkInside> WorkInsideSpans(const WholeRecording& recording, Summary summary) {
  std::vector<WorkInside> work(recording.spans.size());
  size_t place = 0;
  // Both are in the same order; what is impossible the summary does not have.
  summary.VisitSpans(EndOf(recording), [&](const SpanSummary& span) {
    while (place < work.size() && recording.spans[place].id != span.id) ++place;
    if (place < work.size()) work[place++] = {span.device_total_ns, span.kernels};
  });
  return work;
}

class Writer {
 public:
  Writer(const WholeRecording& recording, Summary summary, const ChromeTraceOptions& options,
         OutputFile* out)
      : recording_(recording),
        options_(options),
        out_(out),
        latest_ns_(EndOf(recording)),
        shown_until_ns_(latest_ns_),
        work_inside_(WorkInsideSpans(recording, std::move(summary))),
        rows_(recording, options.unnamed_process),
        links_(LinkActivities(recording.activities)) {}

  void Write() {
    out_->Append("{\"traceEvents\": [");
    WriteNames();
    WriteSpans();
    WriteActivities();
    WriteMemoryEvents();
    WriteSamples();
    WriteCounters();
    WriteArrows();
    WriteEnd();
  }

 private:
  // One event: its members are written one after the other, in this order.
  void Begin() {
    event_ += is_first_ ? "\n{" : ",\n{";
    is_first_ = false;
    is_first_member_ = true;
  }
  void Key(std::string_view key) {
    if (!is_first_member_) event_ += ", ";
    is_first_member_ = false;
    absl::StrAppend(&event_, "\"", std::string(key), "\": ");
  }
  void Text(std::string_view key, std::string_view text) {
    Key(key);
    AppendJsonString(text, &event_);
  }
  void Number(std::string_view key, int64_t number) {
    Key(key);
    absl::StrAppend(&event_, number);
  }
  void Flag(std::string_view key) {
    Key(key);
    event_ += "true";
  }
  void Id(std::string_view key, uint64_t id) {
    Key(key);
    AppendJsonId(id, &event_);
  }
  void Time(std::string_view key, int64_t ns) {
    Key(key);
    AppendMicroseconds(ns, &event_);
  }
  void Start(int64_t time_ns) { Time("ts", time_ns - recording_.base_ns); }
  void Place(TraceRow row) {
    Number("pid", rows_.Pid(row));
    Number("tid", row.tid);
  }
  void BeginArguments() {
    Key("args");
    event_ += '{';
    is_first_member_ = true;
  }
  void EndArguments() { event_ += '}'; }
  void End() {
    event_ += '}';
    out_->Append(event_);
    event_.clear();
    if (++written_ % kEventsBetweenLooks == 0 && options_.progress) {
      const size_t all = recording_.spans.size() + 2 * recording_.activities.size() +
                         recording_.memory_events.size() + recording_.samples.size() +
                         recording_.counters.size();
      options_.progress(std::min(1.0, static_cast<double>(written_) / static_cast<double>(all)));
    }
  }

  void Slice(std::string_view name, std::string_view category, int64_t start_ns,
             int64_t duration_ns, TraceRow row) {
    Begin();
    Text("name", name);
    Text("cat", category);
    Text("ph", "X");
    Start(start_ns);
    Time("dur", duration_ns);
    shown_until_ns_ = std::max(shown_until_ns_, start_ns + duration_ns);
    Place(row);
    BeginArguments();
  }

  void WriteNames() {
    int64_t earliest_ns = EarliestNs();
    const auto name = [&](const char* what, uint32_t pid, uint32_t tid, auto argument) {
      Begin();
      Text("ph", "M");
      Text("name", what);
      Start(earliest_ns);
      Number("pid", pid);
      Number("tid", tid);
      BeginArguments();
      argument();
      EndArguments();
      End();
    };
    int64_t place = 0;
    for (const TraceRows::Process& process : rows_.processes()) {
      name("process_name", process.pid, 0, [&] { Text("name", process.name); });
      name("process_labels", process.pid, 0, [&] {
        Text("labels", process.is_device ? absl::StrCat("GPU ", process.device) : "CPU");
      });
      name("process_sort_index", process.pid, 0, [&] {
        Number("sort_index", process.is_device ? kDeviceSortIndex + process.device : place);
      });
      ++place;
    }
    place = 0;
    for (const TraceRows::Named& row : rows_.ByProcess()) {
      name("thread_name", rows_.Pid(row.row), row.row.tid, [&] { Text("name", row.name); });
      name("thread_sort_index", rows_.Pid(row.row), row.row.tid,
           [&] { Number("sort_index", place); });
      ++place;
    }
  }

  int64_t EarliestNs() const {
    int64_t earliest_ns = latest_ns_;
    for (const Span& span : recording_.spans) earliest_ns = std::min(earliest_ns, span.start_ns);
    for (const DeviceActivity& activity : recording_.activities) {
      earliest_ns = std::min(earliest_ns, activity.start_ns);
    }
    for (const MemoryEvent& event : recording_.memory_events) {
      earliest_ns = std::min(earliest_ns, event.time_ns);
    }
    for (const Sample& sample : recording_.samples) {
      earliest_ns = std::min(earliest_ns, sample.time_ns);
    }
    for (const CounterValue& counter : recording_.counters) {
      earliest_ns = std::min(earliest_ns, counter.time_ns);
    }
    return earliest_ns;
  }

  void WriteSpans() {
    for (const SpanValue& value : recording_.span_values) values_[value.span].push_back(&value);
    for (size_t i = 0; i < recording_.spans.size() && out_->ok(); ++i) {
      WriteSpan(recording_.spans[i], work_inside_[i], rows_.OfSpan(i));
    }
  }

  void WriteSpan(const Span& span, const WorkInside& work, TraceRow row) {
    const bool is_open = span.end_ns == kStillOpen;
    const int64_t duration_ns = (is_open ? latest_ns_ : span.end_ns) - span.start_ns;
    Slice(TextOf(span.name), Category(span.kind, options_.torch_compat), span.start_ns,
          duration_ns == 0 ? kShownNs : duration_ns, row);
    if (span.shapes != 0) {
      Key("Input Dims");
      event_ += Cached(span.shapes, &shapes_, [](std::string_view text) {
        google::protobuf::RepeatedPtrField<query::Shape> shapes;
        ParseShapes(text, &shapes);
        return ShapesText(shapes);
      });
    }
    if (span.dtypes != 0) {
      Key("Input type");
      event_ += Cached(span.dtypes, &dtypes_, [](std::string_view text) {
        const auto types = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
        return types.is_array() ? types.dump() : "[]";
      });
    }
    if (span.call_site != 0) Text("Call site", TextOf(span.call_site));
    if (work.device_total_ns > 0) {
      Key("GPU duration (ms)");
      absl::StrAppendFormat(&event_, "%.4f", static_cast<double>(work.device_total_ns) / 1e6);
    }
    if (work.kernels > 0) Number("Kernels", work.kernels);
    if (span.output_bytes > 0) Number("Output alloc (bytes)", span.output_bytes);

    WriteValues(span.id);
    if (span.id != kNoOperation) Id("External id", span.id + options_.first_id);
    if (span.stack != 0) {
      event_ += ", ";
      event_ += Cached(span.stack, &stacks_, StackMembers);
    }
    if (duration_ns == 0) Number("Duration (ns)", 0);
    if (span.flops != 0) Number("Flops", span.flops);
    if (span.given_device_ns >= 0) Number("Given device time (ns)", span.given_device_ns);
    if (span.kind == SpanKind::kBackward && options_.torch_compat) Flag("Backward");
    if (span.asynchronous) Flag("Asynchronous");
    if (is_open) Flag("Still open");
    EndArguments();
    End();
  }

  // In an object of their own: what a program calls its values may be an argument's name.
  void WriteValues(uint64_t span) {
    const auto found = values_.find(span);
    if (found == values_.end()) return;
    const std::vector<const SpanValue*>& values = found->second;
    Key("Values");
    event_ += '{';
    is_first_member_ = true;
    for (auto value = values.begin(); value != values.end(); ++value) {
      const bool comes_again = std::any_of(value + 1, values.end(), [&](const SpanValue* later) {
        return later->name == (*value)->name;
      });
      if (!comes_again) WriteValue(**value);
    }
    event_ += '}';
    is_first_member_ = false;
  }

  void WriteValue(const SpanValue& value) {
    std::string name;
    AppendJsonString(TextOf(value.name), &name);
    if (!is_first_member_) event_ += ", ";
    is_first_member_ = false;
    absl::StrAppend(&event_, name, ": ");
    switch (value.type) {
      case ValueType::kSigned:
        absl::StrAppend(&event_, static_cast<int64_t>(value.bits));
        break;
      case ValueType::kUnsigned:
        AppendJsonId(value.bits, &event_);
        break;
      case ValueType::kReal:
        AppendReal(std::bit_cast<double>(value.bits));
        break;
      case ValueType::kText:
        AppendJsonString(TextOf(static_cast<StringId>(value.bits)), &event_);
        break;
    }
  }

  // JSON has no word for what is no finite number.
  void AppendReal(double value) {
    if (!std::isfinite(value)) {
      event_ += "null";
      return;
    }
    const std::string text = absl::StrFormat("%.17g", value);
    event_ += text;
    // So that it is read back as what it is.
    if (text.find_first_of(".e") == text.npos) event_ += ".0";
  }

  // As PyTorch writes it; where that cannot hold the frames as they are, as a list too.
  static std::string StackMembers(std::string_view stack) {
    const std::vector<std::string> frames = SplitFrames(stack);
    std::vector<std::string> joinable = frames;
    for (std::string& frame : joinable) std::replace(frame.begin(), frame.end(), ';', ':');
    std::string members = "\"Call stack\": ";
    AppendJsonString(absl::StrJoin(joinable, ";"), &members);
    if (joinable == frames) return members;
    members += ", \"stack\": ";
    AppendFrames(frames, &members);
    return members;
  }

  static void AppendFrames(const std::vector<std::string>& frames, std::string* text) {
    *text += '[';
    for (const std::string& frame : frames) {
      if (&frame != &frames.front()) *text += ", ";
      AppendJsonString(frame, text);
    }
    *text += ']';
  }

  void WriteActivities() {
    for (size_t i = 0; i < recording_.activities.size() && out_->ok(); ++i) {
      const DeviceActivity& activity = recording_.activities[i];
      Slice(TextOf(activity.name), Category(activity.kind), activity.start_ns,
            activity.end_ns - activity.start_ns, rows_.OfActivity(i));
      Id("correlation", activity.correlation);
      if (links_[i].operation != kNoOperation) {
        Id("External id", links_[i].operation + options_.first_id);
      }
      if (IsHostCall(activity.kind)) {
        Number("cbid", activity.cbid);
        if (activity.result != 0) Number("result", activity.result);
      } else if (activity.kind == ActivityKind::kSynchronization) {
        Number("context", activity.context);
        if (activity.has_stream) Number("wait stream", activity.stream);
      } else if (!IsOnHost(activity.kind)) {
        WriteDeviceArguments(activity);
        if (const auto process = rows_.Owner(activity)) Number("process", *process);
      }
      EndArguments();
      End();
    }
  }

  void WriteDeviceArguments(const DeviceActivity& activity) {
    const bool is_copy = activity.kind == ActivityKind::kCopy;
    const bool is_fill = activity.kind == ActivityKind::kFill;
    if (is_copy || is_fill) Id("bytes", activity.bytes);
    if (is_copy) Number("copy kind", activity.copy_kind);
    if (is_fill) Id("value", activity.value);
    if (activity.source_memory != 0) Number("source memory", activity.source_memory);
    if (activity.destination_memory != 0) {
      Number("destination memory", activity.destination_memory);
    }
    Number("device", activity.device);
    Number("context", activity.context);
    Number("stream", activity.stream);
  }

  void WriteMemoryEvents() {
    const std::string device_kind =
        recording_.device_kind.empty() ? "cuda" : absl::AsciiStrToLower(recording_.device_kind);
    for (const MemoryEvent& event : recording_.memory_events) {
      if (!out_->ok()) return;
      Slice("[memory]", "user_annotation", event.time_ns, kShownNs, rows_.OfThread(event.thread));
      Number("Bytes", event.bytes);
      Text("Allocation Type", event.allocated ? "alloc" : "free");
      Text("Device", event.on_device ? absl::StrCat(device_kind, ":", event.device) : "cpu");
      Id("Addr", event.address);
      EndArguments();
      End();
    }
  }

  void WriteSamples() {
    for (const Sample& sample : recording_.samples) {
      const std::vector<std::string> frames = SplitFrames(TextOf(sample.frames));
      if (frames.empty()) continue;
      if (!out_->ok()) return;
      Begin();
      Text("name", frames.front());
      Text("cat", "python_function");
      Text("ph", "i");
      Text("s", "t");
      Start(sample.time_ns);
      shown_until_ns_ = std::max(shown_until_ns_, sample.time_ns);
      Place(rows_.OfThread(sample.thread));
      BeginArguments();
      Key("stack");
      AppendFrames(frames, &event_);
      EndArguments();
      End();
    }
  }

  // Of a process, not of a thread: viewers draw one line for each name.
  void WriteCounters() {
    for (const CounterValue& counter : recording_.counters) {
      if (!out_->ok()) return;
      if (!std::isfinite(counter.value)) continue;  // Nothing can be drawn.
      Begin();
      Text("name", TextOf(counter.name));
      Text("cat", "counter");
      Text("ph", "C");
      Start(counter.time_ns);
      shown_until_ns_ = std::max(shown_until_ns_, counter.time_ns);
      Number("pid", rows_.Pid(rows_.OfThread(counter.thread)));
      BeginArguments();
      Key("value");
      AppendReal(counter.value);
      EndArguments();
      End();
    }
  }

  void WriteArrows() {
    absl::flat_hash_map<uint64_t, size_t> span_of;
    for (size_t i = 0; i < recording_.spans.size(); ++i) span_of[recording_.spans[i].id] = i;
    for (size_t i = 0; i < recording_.activities.size() && out_->ok(); ++i) {
      const DeviceActivity& work = recording_.activities[i];
      if (!IsDeviceWork(work.kind)) continue;
      // From the launch; without one, from the operation that the record names.
      if (const uint32_t launch = links_[i].launch; launch != kNoLaunch) {
        WriteArrow(recording_.activities[launch].start_ns, rows_.OfActivity(launch), work.start_ns,
                   rows_.OfActivity(i));
      } else if (const auto span = span_of.find(work.operation); span != span_of.end()) {
        WriteArrow(recording_.spans[span->second].start_ns, rows_.OfSpan(span->second),
                   work.start_ns, rows_.OfActivity(i));
      }
    }
  }

  void WriteArrow(int64_t from_ns, TraceRow from, int64_t to_ns, TraceRow to) {
    // None runs back in time. Each has an id of its own: a launch may have issued much work.
    if (from_ns > to_ns) return;
    ++arrows_;
    for (const bool is_end : {false, true}) {
      Begin();
      Text("ph", is_end ? "f" : "s");
      Id("id", arrows_);
      Place(is_end ? to : from);
      Start(is_end ? to_ns : from_ns);
      Text("cat", "ac2g");
      Text("name", "ac2g");
      if (is_end) Text("bp", "e");
      End();
    }
  }

  void WriteEnd() {
    Begin();
    Text("ph", "i");
    Text("s", "g");
    Text("name", "Record Window End");
    Text("pid", "");
    Text("tid", "");
    Start(shown_until_ns_ + kAfterTheLastNs);
    End();

    const auto any_span = [&](auto has) {
      return std::any_of(recording_.spans.begin(), recording_.spans.end(), has) ? "true" : "false";
    };
    out_->Append(
        absl::StrCat("\n],\n\"displayTimeUnit\": ", options_.torch_compat ? "\"ms\"" : "\"ns\""));
    // So that an import takes the ids' word for it and needs no rule.
    Field("externalIds", "operations");
    if (!recording_.device_kind.empty()) Field("deviceKind", recording_.device_kind);
    if (recording_.rank >= 0) {
      out_->Append(absl::StrCat(",\n\"distributedInfo\": {\"rank\": ", recording_.rank, "}"));
    }
    if (options_.torch_compat || !recording_.descriptions.devices.empty()) {
      out_->Append(absl::StrCat(",\n\"deviceProperties\": ", DeviceProperties()));
    }
    if (options_.torch_compat) {
      out_->Append(absl::StrCat(
          ",\n\"schemaVersion\": 1", ",\n\"baseTimeNanoseconds\": ", recording_.base_ns,
          // Flops are the spans' own here, not to be worked out from shapes.
          ",\n\"with_flops\": false",
          ",\n\"record_shapes\": ", any_span([](const Span& span) { return span.shapes != 0; }),
          ",\n\"with_stack\": ", any_span([](const Span& span) { return span.stack != 0; })));
      if (!options_.trace_name.empty()) Field("traceName", options_.trace_name);
      if (!options_.host_name.empty()) Field("host_name", options_.host_name);
      if (!options_.trace_id.empty()) Field("trace_id", options_.trace_id);
    }
    out_->Append("}\n");
    if (options_.progress) options_.progress(1);
  }

  // As PyTorch writes it, without what is not known.
  std::string DeviceProperties() const {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& [number, device] : recording_.descriptions.devices) {
      nlohmann::ordered_json properties = {{"id", number}, {"name", ValidUtf8(device.name)}};
      const auto add = [&properties](const char* key, uint64_t value) {
        if (value != 0) properties[key] = value;
      };
      add("totalGlobalMem", device.memory_bytes);
      if (device.compute_major != 0) {
        properties["computeMajor"] = device.compute_major;
        properties["computeMinor"] = device.compute_minor;
      }
      add("maxThreadsPerBlock", device.threads_per_block);
      add("maxThreadsPerMultiprocessor", device.threads_per_multiprocessor);
      add("regsPerBlock", device.registers_per_block);
      add("warpSize", device.threads_per_warp);
      add("sharedMemPerBlock", device.shared_bytes_per_block);
      add("numSms", device.multiprocessors);
      add("regsPerMultiprocessor", device.registers_per_multiprocessor);
      add("sharedMemPerMultiprocessor", device.shared_bytes_per_multiprocessor);
      all.push_back(std::move(properties));
    }
    return all.dump();
  }

  // A member of the object around the events.
  void Field(std::string_view key, std::string_view text) {
    std::string quoted;
    AppendJsonString(text, &quoted);
    out_->Append(absl::StrCat(",\n\"", std::string(key), "\": ", quoted));
  }

  std::string_view TextOf(StringId id) const { return recording_.strings->Text(id); }

  using TextsById = absl::flat_hash_map<StringId, std::string>;
  template <typename Make>
  const std::string& Cached(StringId id, TextsById* texts, Make make) {
    const auto [text, is_new] = texts->try_emplace(id);
    if (is_new) text->second = make(TextOf(id));
    return text->second;
  }

  const WholeRecording& recording_;
  const ChromeTraceOptions& options_;
  OutputFile* out_;
  int64_t latest_ns_;
  int64_t shown_until_ns_;
  std::vector<WorkInside> work_inside_;
  TraceRows rows_;
  std::vector<ActivityLink> links_;
  std::string event_;
  bool is_first_ = true;
  bool is_first_member_ = true;
  size_t written_ = 0;
  uint64_t arrows_ = 0;
  TextsById shapes_, dtypes_, stacks_;
  absl::flat_hash_map<uint64_t, std::vector<const SpanValue*>> values_;  // By span.
};

}  // namespace

void WriteChromeTrace(const WholeRecording& recording, Summary summary,
                      const ChromeTraceOptions& options, OutputFile* out) {
  Writer(recording, std::move(summary), options, out).Write();
}

}  // namespace tp

// PyTorch profiler (Kineto) traces to recordings: section 9 of the summaries' specification.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/correlate/launch_enclosure.h"
#include "analyzer/import/decimal.h"
#include "analyzer/import/event_meaning.h"
#include "analyzer/import/file_bytes.h"
#include "analyzer/import/import.h"
#include "analyzer/import/json_cursor.h"
#include "analyzer/import/shapes.h"
#include "analyzer/import/trace_elements.h"
#include "analyzer/import/trace_event.h"
#include "analyzer/model/copy_kind.h"
#include "analyzer/model/frames.h"
#include "analyzer/present/utf8.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

constexpr uint64_t kNoId = kNoOperation;
constexpr int64_t kNoThread = -1;
constexpr size_t kCategoriesNamed = 8;
constexpr size_t kMostDevices = 1024;
// Beyond this no clock counts, and differences would not fit.
constexpr int64_t kFarthestNs = int64_t{1} << 62;

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

struct NamedMemory {
  uint8_t copy_kind = 0;
  uint8_t source = 0, destination = 0;
};

// As names tell it: "Memcpy HtoD (Pageable -> Device)", "Memset (Device)". 0 where they do not.
NamedMemory MemoryOfName(std::string_view name) {
  NamedMemory memory;
  for (uint8_t kind = 1; kind <= kCopyKindsOfCalls && memory.copy_kind == 0; ++kind) {
    if (name.find(CopyDirection(kind)) != std::string_view::npos) memory.copy_kind = kind;
  }
  const size_t open = name.find('('), close = name.find(')', std::min(open, name.size()));
  if (close == std::string_view::npos) return memory;
  const std::string_view inside = name.substr(open + 1, close - open - 1);
  constexpr std::string_view kArrow = " -> ";
  const size_t arrow = std::min(inside.find(kArrow), inside.size());
  const auto kind_of = [](std::string_view word) -> uint8_t {
    for (uint8_t kind = 1; kind < kMemoryKinds; ++kind) {
      if (absl::EqualsIgnoreCase(Absl(word), Absl(MemoryKind(kind)))) return kind;
    }
    return 0;
  };
  memory.source = kind_of(inside.substr(0, arrow));
  if (arrow < inside.size()) memory.destination = kind_of(inside.substr(arrow + kArrow.size()));
  return memory;
}

// Numbers for processes and threads: those that are none get one that no other has.
class Numbers {
 public:
  static bool IsNumber(const std::string& text) {
    int64_t number;
    return absl::SimpleAtoi(text, &number);
  }
  // To be called for all before Of().
  void Claim(const std::string& text) {
    int64_t number;
    if (absl::SimpleAtoi(text, &number)) taken_.insert(number);
  }
  int64_t Of(const std::string& text) {
    int64_t number;
    if (absl::SimpleAtoi(text, &number)) return number;
    const auto [found, is_new] = words_.try_emplace(text);
    if (is_new) {
      while (taken_.contains(next_)) ++next_;
      found->second = next_++;
    }
    return found->second;
  }

 private:
  absl::flat_hash_set<int64_t> taken_;
  absl::flat_hash_map<std::string, int64_t> words_;
  int64_t next_ = 1;
};

class KinetoImport {
 public:
  KinetoImport(FileBytes bytes, const ImportLimits& limits)
      : limits_(limits), bytes_(std::move(bytes)), elements_(&bytes_) {}

  absl::StatusOr<WholeRecording> Run(const std::string& path) {
    TraceEvent event;
    for (TraceElements::Kind kind;
         (kind = elements_.Next(&reader_, &event)) != TraceElements::Kind::kEnd;) {
      if (kind == TraceElements::Kind::kEvent) {
        if (IsFull()) break;
        AddElement(event);
      } else {
        AddField();
      }
    }
    if (!elements_.found_events()) {
      std::string why = elements_.damage();
      if (why.empty()) why = "it has no \"traceEvents\"";
      return absl::InvalidArgumentError(absl::StrCat(path, " is no trace: ", why));
    }
    if (read_ == 0 && !elements_.is_object() && !elements_.damage().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is no trace: a list without an event in it"));
    }
    if (read_ == 0 && unreadable_ > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is no trace: none of its elements is an event"));
    }
    JoinCalls();
    NameThreads();
    NameStreams();
    TakeOwners();
    if (!ids_are_operations_) TakeMemoryFromNames();
    for (const Span& span : recording_.spans) SeeStart(span.start_ns);
    for (const DeviceActivity& activity : recording_.activities) SeeStart(activity.start_ns);
    if (saw_start_) recording_.base_ns = base_ns_;
    AddNotes(path);
    return std::move(recording_);
  }

 private:
  bool IsFull() {
    const size_t records = recording_.spans.size() + recording_.activities.size() +
                           recording_.memory_events.size() + recording_.samples.size() +
                           recording_.span_values.size() + recording_.counters.size();
    is_full_ = records >= limits_.records || strings().memory_bytes() >= limits_.text_bytes;
    return is_full_;
  }

  void SeeStart(int64_t start_ns) {
    base_ns_ = saw_start_ ? std::min(base_ns_, start_ns) : start_ns;
    saw_start_ = true;
  }

  void AddElement(const TraceEvent& event) {
    if (!elements_.is_readable() || event.phase == 0) {
      ++unreadable_;
      return;
    }
    ++read_;
    switch (event.phase) {
      case 'X':
        AddComplete(event);
        break;
      case 'M':
        AddMetadata(event);
        break;
      case 'i':
      case 'I':
        if (event.name == "[memory]") AddMemory(event);
        if (event.category == "python_function" && !event.frames.empty()) AddSample(event);
        break;
      case 'C':
        if (event.category == "counter") AddCounter(event);  // Of our own exports.
        break;
      case 'B':
      case 'E':
        ++begins_and_ends_;
        break;
      default:
        break;
    }
  }

  void AddComplete(const TraceEvent& event) {
    // Our own exports draw them as slices.
    if (event.name == "[memory]" && !event.allocation.empty()) return AddMemory(event);
    const Meaning& meaning = MeaningOfCategory(event.category);
    // PyTorch's waits are pictures on the device's row: the call that waited is there too.
    const bool is_picture_of_wait =
        meaning.activity == ActivityKind::kSynchronization && !event.device.empty();
    if (meaning.what == Meaning::What::kUnknown || is_picture_of_wait) {
      CountLeftOut(event.category);
      return;
    }
    if (meaning.what == Meaning::What::kLeftOut) return;
    if (event.start.empty() || event.duration.empty()) {
      ++without_time_;
      return;
    }
    const std::optional<int64_t> start_ns = Nanoseconds(event.start);
    const std::optional<int64_t> duration_ns = Nanoseconds(event.duration);
    // The sum of two that fit need not.
    int64_t end_ns = 0;
    if (!start_ns.has_value() || !duration_ns.has_value() ||
        __builtin_add_overflow(*start_ns, *duration_ns, &end_ns) || end_ns <= -kFarthestNs ||
        end_ns >= kFarthestNs) {
      ++unreadable_times_;
      return;
    }
    if (meaning.what == Meaning::What::kSpan) {
      AddSpan(event, meaning.span, *start_ns, end_ns);
    } else {
      AddActivity(event, meaning.activity, *start_ns, end_ns);
    }
  }

  // Most events have the category of the one before them.
  const Meaning& MeaningOfCategory(std::string_view category) {
    if (category != last_category_) {
      last_category_ = category;
      last_meaning_ = MeaningOf(category);
    }
    return last_meaning_;
  }

  // Nothing if it is no number, or one that no clock shows.
  static std::optional<int64_t> Nanoseconds(std::string_view microseconds) {
    constexpr int kMicrosecondsToNs = 3;
    const std::optional<int64_t> ns = DecimalTimes(microseconds, kMicrosecondsToNs);
    if (!ns.has_value() || *ns <= -kFarthestNs || *ns >= kFarthestNs) return std::nullopt;
    return ns;
  }

  void AddSpan(const TraceEvent& event, SpanKind kind, int64_t start_ns, int64_t end_ns) {
    Span span;
    span.id = recording_.spans.size();
    span.kind = event.backward == "true" ? SpanKind::kBackward : kind;
    span.asynchronous = event.asynchronous == "true";
    span.name = strings().Intern(event.name);
    span.start_ns = start_ns;
    span.end_ns = event.duration_in_args_ns == "0" ? start_ns : end_ns;
    span.thread = ThreadOf(event.process, event.thread);
    if (!event.shapes.empty()) span.shapes = Shapes(event.shapes);
    if (!event.dtypes.empty()) span.dtypes = Dtypes(event.dtypes);
    if (!event.frames.empty()) {
      span.stack = Frames(event.frames);
    } else if (!event.call_stack.empty()) {
      span.stack = strings().Intern(JoinFrames(absl::StrSplit(Absl(event.call_stack), ';')));
    }
    span.call_site = strings().Intern(event.call_site);
    span.output_bytes = Amount(event.output_bytes);
    span.flops = Amount(event.flops);
    if (!event.given_device_ns.empty()) {
      span.given_device_ns = Amount(event.given_device_ns);
      span.given_kernel_count = Amount(event.kernels);
    }
    if (!event.values.empty()) AddValues(span.id, event.values);
    recording_.spans.push_back(span);
    span_ids_.push_back(Id(event.external_id));
  }

  void AddActivity(const TraceEvent& event, ActivityKind kind, int64_t start_ns, int64_t end_ns) {
    DeviceActivity activity;
    activity.kind = kind;
    activity.name = strings().Intern(event.name);
    activity.start_ns = start_ns;
    activity.end_ns = end_ns;
    activity.correlation = WholeNumber(event.correlation).value_or(0);
    activity.thread = kNoThread;
    if (IsOnHost(kind)) {
      activity.device = -1;
      if (IsHostCall(kind)) {
        activity.thread = ThreadOf(event.process, event.thread);
      } else if (event.process != "-1") {  // PyTorch gives overhead a made-up process.
        overhead_threads_.emplace_back(recording_.activities.size(),
                                       IdentityOf(event.process, event.thread));
      }
      activity.cbid = static_cast<uint32_t>(WholeNumber(event.cbid).value_or(0));
      activity.result = static_cast<uint32_t>(WholeNumber(event.result).value_or(0));
      if (kind == ActivityKind::kSynchronization) {
        activity.context = static_cast<uint32_t>(WholeNumber(event.context).value_or(0));
        activity.has_stream = !event.wait_stream.empty();
        activity.stream = static_cast<uint32_t>(WholeNumber(event.wait_stream).value_or(0));
      }
      if (absl::StartsWithIgnoreCase(Absl(event.category), "xpu")) recording_.device_kind = "xpu";
    } else {
      activity.device = static_cast<int32_t>(Numbered(event.device, event.process));
      activity.stream = static_cast<uint32_t>(Numbered(event.stream, event.thread));
      activity.context = static_cast<uint32_t>(WholeNumber(event.context).value_or(0));
      activity.bytes = static_cast<uint64_t>(Amount(event.bytes));
      activity.value = WholeNumber(event.value).value_or(0);
      activity.copy_kind = NarrowKind(WholeNumber(event.copy_kind).value_or(0));
      activity.source_memory = NarrowKind(WholeNumber(event.source_memory).value_or(0));
      activity.destination_memory = NarrowKind(WholeNumber(event.destination_memory).value_or(0));
    }
    if (!event.owner.empty() && !IsOnHost(kind)) {
      owners_.emplace_back(recording_.activities.size(), event.owner);
    }
    recording_.activities.push_back(activity);
    activity_ids_.push_back(Id(event.external_id));
  }

  // What copies and fills do not say in numbers their names say.
  void TakeMemoryFromNames() {
    absl::flat_hash_map<StringId, NamedMemory> known;
    for (DeviceActivity& activity : recording_.activities) {
      const bool is_copy = activity.kind == ActivityKind::kCopy;
      if (!is_copy && activity.kind != ActivityKind::kFill) continue;
      const auto [found, is_new] = known.try_emplace(activity.name);
      if (is_new) found->second = MemoryOfName(strings().Text(activity.name));
      if (is_copy && activity.copy_kind == 0) activity.copy_kind = found->second.copy_kind;
      if (activity.source_memory == 0) activity.source_memory = found->second.source;
      if (activity.destination_memory == 0) {
        activity.destination_memory = found->second.destination;
      }
    }
  }

  void AddMemory(const TraceEvent& event) {
    const std::optional<int64_t> time_ns = Nanoseconds(event.start);
    const std::optional<int64_t> bytes = DecimalTimes(event.bytes, 0);
    if (!time_ns.has_value() || !bytes.has_value() || *bytes == INT64_MIN) {
      ++unreadable_memory_;
      return;
    }
    MemoryEvent memory;
    memory.time_ns = *time_ns;
    memory.address = WholeNumber(event.address).value_or(0);
    memory.bytes = std::abs(*bytes);
    std::string_view device;  // Empty: the host's.
    if (event.allocation.empty()) {
      memory.allocated = *bytes >= 0;
      if (WholeNumber(event.device_type).value_or(0) != 0) device = event.device;
    } else {
      memory.allocated = event.allocation == "alloc";
      // "cuda:0"
      const size_t colon = event.device.find(':');
      if (colon != std::string_view::npos) device = event.device.substr(colon + 1);
    }
    memory.on_device = !device.empty();
    if (memory.on_device) memory.device = static_cast<int32_t>(WholeNumber(device).value_or(0));
    recording_.memory_events.push_back(memory);
    memory_threads_.push_back(IdentityOf(event.process, event.thread));
  }

  // {"bytes": 4096, "reduction": "sum"}
  void AddValues(uint64_t span, std::string_view text) {
    const auto values = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!values.is_object()) return;
    for (const auto& [name, value] : values.items()) {
      SpanValue told{.span = span, .name = strings().Intern(name)};
      if (value.is_number_unsigned()) {
        told.type = ValueType::kUnsigned;
        told.bits = value.get<uint64_t>();
      } else if (value.is_number_integer()) {
        told.bits = static_cast<uint64_t>(value.get<int64_t>());
      } else if (value.is_number() || value.is_null()) {  // What is no number is written so.
        told.type = ValueType::kReal;
        told.bits = std::bit_cast<uint64_t>(value.is_null() ? std::nan("") : value.get<double>());
      } else if (value.is_string()) {
        told.type = ValueType::kText;
        told.bits = strings().Intern(value.get_ref<const std::string&>());
      } else {
        continue;
      }
      recording_.span_values.push_back(told);
    }
  }

  void AddCounter(const TraceEvent& event) {
    const std::optional<int64_t> time_ns = Nanoseconds(event.start);
    CounterValue counter;
    if (!time_ns.has_value() || !absl::SimpleAtod(Absl(event.value), &counter.value)) {
      ++unreadable_counters_;
      return;
    }
    counter.time_ns = *time_ns;
    counter.name = strings().Intern(event.name);
    recording_.counters.push_back(counter);
    // A trace tells the process alone: its first thread stands for it.
    counter_threads_.push_back(IdentityOf(event.process, event.process));
  }

  void AddSample(const TraceEvent& event) {
    const std::optional<int64_t> time_ns = Nanoseconds(event.start);
    if (!time_ns.has_value()) {
      ++unreadable_times_;
      return;
    }
    Sample sample;
    sample.time_ns = *time_ns;
    sample.frames = Frames(event.frames);
    recording_.samples.push_back(sample);
    sample_threads_.push_back(IdentityOf(event.process, event.thread));
  }

  // A JSON list of texts.
  StringId Frames(std::string_view json) {
    return strings().Intern(JoinFrames(TextsFromJson(json)));
  }

  // Zero where there is none, or one that is too large.
  static int64_t Amount(std::string_view text) {
    const uint64_t number = WholeNumber(text).value_or(0);
    return number <= INT64_MAX ? static_cast<int64_t>(number) : 0;
  }
  static uint64_t Id(std::string_view text) { return WholeNumber(text).value_or(kNoId); }
  static uint64_t Numbered(std::string_view argument, std::string_view id) {
    const std::optional<uint64_t> number = WholeNumber(argument);
    return number.has_value() ? *number : WholeNumber(id).value_or(0);
  }

  // Names of processes and threads may come before or after their events.
  void AddMetadata(const TraceEvent& event) {
    if (event.label.empty()) return;
    if (event.name == "process_name") {
      process_names_[std::string(event.process)] = std::string(event.label);
    } else if (event.name == "thread_name") {
      thread_names_[ThreadKey(event.process, event.thread)] = std::string(event.label);
      const std::pair<std::string, std::string> row =
          absl::StrSplit(Absl(event.label), absl::MaxSplits(": ", 1));
      if (absl::StartsWith(row.first, "stream ") && !row.second.empty()) {
        if (const auto device = WholeNumber(event.process); device.has_value()) {
          stream_names_[{static_cast<int64_t>(*device), row.first}] = row.second;
        }
      }
    }
  }

  void AddField() {
    const std::string_view text = elements_.text();
    JsonCursor cursor(text.data(), text.data() + text.size());
    // Of our own exports.
    if (elements_.key() == "externalIds") {
      ids_are_operations_ = true;
    } else if (elements_.key() == "deviceKind") {
      recording_.device_kind = DeviceKind(cursor.ReadValue().text);
    } else if (elements_.key() == "deviceProperties") {
      AddDevices(text);
    } else if (elements_.key() == "distributedInfo" && cursor.EnterObject()) {
      // {"backend": "nccl", "rank": 0, "world_size": 2}
      for (JsonValue key; cursor.ReadKey(&key);) {
        const JsonValue value = cursor.ReadValue();
        if (key.text != "rank" || !value.is_scalar()) continue;
        const std::optional<uint64_t> rank = WholeNumber(value.text);
        if (rank.has_value() && *rank <= INT32_MAX) recording_.rank = static_cast<int32_t>(*rank);
      }
    }
  }

  // [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 42505273344, ...}]
  void AddDevices(std::string_view text) {
    const auto all = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!all.is_array()) return;
    for (const nlohmann::json& properties : all) {
      if (!properties.is_object() || recording_.descriptions.devices.size() >= kMostDevices)
        continue;
      const auto number = [&properties](const char* key, auto* value) {
        const auto found = properties.find(key);
        if (found == properties.end() || !found->is_number_unsigned()) return false;
        const uint64_t read = found->template get<uint64_t>();
        if (read > std::numeric_limits<std::remove_reference_t<decltype(*value)>>::max()) {
          return false;
        }
        *value = static_cast<std::remove_reference_t<decltype(*value)>>(read);
        return true;
      };
      uint32_t id = 0;
      if (!number("id", &id)) continue;
      DeviceDescription& device = recording_.descriptions.devices[id];
      if (const auto name = properties.find("name");
          name != properties.end() && name->is_string()) {
        device.name = name->get<std::string>();
      }
      number("totalGlobalMem", &device.memory_bytes);
      number("computeMajor", &device.compute_major);
      number("computeMinor", &device.compute_minor);
      number("maxThreadsPerBlock", &device.threads_per_block);
      number("maxThreadsPerMultiprocessor", &device.threads_per_multiprocessor);
      number("regsPerBlock", &device.registers_per_block);
      number("warpSize", &device.threads_per_warp);
      number("sharedMemPerBlock", &device.shared_bytes_per_block);
      number("numSms", &device.multiprocessors);
      number("regsPerMultiprocessor", &device.registers_per_multiprocessor);
      number("sharedMemPerMultiprocessor", &device.shared_bytes_per_multiprocessor);
    }
  }

  // Our own exports put a stream's name behind its number: "stream 13: copies", or, where contexts
  // have streams of one number, "stream 13 (context 2): copies". Of one process.
  void NameStreams() {
    std::set<int64_t> processes;
    for (const auto& [number, thread] : recording_.threads) processes.insert(thread.process);
    if (processes.size() > 1) return;
    std::set<std::tuple<int64_t, uint32_t, uint32_t>> streams;
    for (const DeviceActivity& activity : recording_.activities) {
      if (!IsOnHost(activity.kind)) {
        streams.emplace(activity.device, activity.stream, activity.context);
      }
    }
    for (const auto& [device, stream, context] : streams) {
      for (const auto& row : {absl::StrCat("stream ", stream),
                              absl::StrCat("stream ", stream, " (context ", context, ")")}) {
        const auto found = stream_names_.find({device, row});
        if (found == stream_names_.end()) continue;
        StreamDescription& description = recording_.descriptions.streams[{context, stream}];
        description.given_name = found->second;
      }
    }
  }

  // Goes into the titles of tables: "cuda", "xpu"; what is no such word is none.
  static std::string DeviceKind(std::string_view word) {
    constexpr size_t kLongest = 16;
    const bool is_word =
        word.size() <= kLongest && std::all_of(word.begin(), word.end(), [](char c) {
          return absl::ascii_islower(c) || absl::ascii_isdigit(c);
        });
    return is_word ? std::string(word) : std::string();
  }

  // Device work belongs to the process of its launch, unless the trace tells whose it is.
  void TakeOwners() {
    if (owners_.empty()) return;
    absl::flat_hash_map<std::string, int64_t> thread_of_process;
    for (const Identity& identity : identities_) {
      thread_of_process.emplace(identity.process, identity.number);
    }
    for (const auto& [place, process] : owners_) {
      const auto thread = thread_of_process.find(process);
      if (thread != thread_of_process.end()) recording_.activities[place].thread = thread->second;
    }
  }

  // A launch belongs to the innermost span around it. Ids serve only for those that none encloses,
  // and only where no id contradicts what encloses it.
  void JoinCalls() {
    FindLaunches();
    std::vector<DeviceActivity>& activities = recording_.activities;
    if (ids_are_operations_) {
      TakeIds([](size_t) { return true; });
      return;
    }
    // An id that only repeats the correlation names nothing.
    for (size_t i = 0; i < activities.size(); ++i) {
      if (activity_ids_[i] == activities[i].correlation) activity_ids_[i] = kNoId;
    }
    JoinCallsToSpans(recording_.spans, &activities);
    const bool ids_hold = IdsHold();
    SettleSharedCorrelations();
    if (!ids_hold) return;
    TakeIds([&](size_t i) {
      const auto launch = launches_.find(activities[i].correlation);
      const bool is_known = launch != launches_.end() && launch->second.thread != kNoThread;
      return is_known == IsHostCall(activities[i].kind);
    });
  }

  // The threads that made the calls with each correlation; what was launched gets them.
  void FindLaunches() {
    for (const DeviceActivity& call : recording_.activities) {
      if (!IsHostCall(call.kind) || call.correlation == 0) continue;
      const auto [found, is_new] = launches_.emplace(call.correlation, Launch{call.thread});
      if (is_new) continue;
      found->second.has_several_calls = has_shared_correlations_ = true;
      if (found->second.thread != call.thread) found->second.thread = kNoThread;
    }
    for (DeviceActivity& activity : recording_.activities) {
      if (IsHostCall(activity.kind)) continue;
      const auto found = launches_.find(activity.correlation);
      if (found != launches_.end()) activity.thread = found->second.thread;
    }
  }

  // A runtime call and the driver call inside of it are one launch, made where the inner one was.
  // Calls of several threads have one number by chance: none of them knows whose the work is.
  void SettleSharedCorrelations() {
    if (!has_shared_correlations_) return;
    const auto each_of_several = [&](auto visit) {
      for (DeviceActivity& call : recording_.activities) {
        if (!IsHostCall(call.kind)) continue;
        const auto found = launches_.find(call.correlation);
        if (found != launches_.end() && found->second.has_several_calls) visit(found->second, call);
      }
    };
    each_of_several([](Launch& launch, const DeviceActivity& call) {
      if (call.operation == kNoOperation || call.start_ns < launch.innermost_start_ns) return;
      launch.innermost = call.operation;
      launch.innermost_start_ns = call.start_ns;
    });
    each_of_several([](const Launch& launch, DeviceActivity& call) {
      call.operation = launch.thread == kNoThread ? kNoOperation : launch.innermost;
    });
    for (const auto& [correlation, launch] : launches_) ambiguous_ += launch.thread == kNoThread;
  }

  // Judged where an operation encloses a call: does the call's id say the same?
  bool IdsHold() const {
    for (size_t i = 0; i < recording_.activities.size(); ++i) {
      const DeviceActivity& call = recording_.activities[i];
      if (!IsHostCall(call.kind) || activity_ids_[i] == kNoId || call.operation == kNoOperation) {
        continue;
      }
      const uint64_t id_around = span_ids_[call.operation];
      if (recording_.spans[call.operation].kind == SpanKind::kOperation && id_around != kNoId &&
          id_around != activity_ids_[i]) {
        return false;
      }
    }
    return true;
  }

  // Records that have no operation get that of their id, if `may_take` says so of their place.
  template <typename MayTake>
  void TakeIds(MayTake may_take) {
    std::vector<size_t> takers;
    for (size_t i = 0; i < recording_.activities.size(); ++i) {
      if (activity_ids_[i] != kNoId && recording_.activities[i].operation == kNoOperation &&
          may_take(i)) {
        takers.push_back(i);
      }
    }
    if (takers.empty()) return;
    absl::flat_hash_map<uint64_t, uint64_t> span_of;
    for (size_t i = 0; i < span_ids_.size(); ++i) {
      if (span_ids_[i] == kNoId) continue;
      const auto [found, is_new] = span_of.emplace(span_ids_[i], i);
      if (!is_new) found->second = kNoOperation;  // Two have it: it names none.
    }
    for (const size_t i : takers) {
      const auto found = span_of.find(activity_ids_[i]);
      if (found != span_of.end()) recording_.activities[i].operation = found->second;
    }
  }

  void CountLeftOut(std::string_view category) {
    std::string name = ValidUtf8(category.substr(0, 60));
    if (left_out_.size() >= 1000 && left_out_.count(name) == 0) name = "others";
    ++left_out_[name];
  }

  void AddNotes(const std::string& path) {
    const auto note = [&](uint64_t count, std::string_view one, std::string_view several) {
      if (count == 0) return;
      recording_.notes.push_back(absl::StrCat(count, " ", Absl(count == 1 ? one : several)));
    };
    if (!elements_.damage().empty()) {
      recording_.notes.push_back(absl::StrCat(path, ": ", elements_.damage()));
    }
    if (is_full_) {
      recording_.notes.push_back(absl::StrCat("it is too large: what comes after the first ", read_,
                                              " events was left out"));
    }
    note(unreadable_ + elements_.without_end(), "element could not be read: left out",
         "elements could not be read: left out");
    note(elements_.too_long(), "element is too long: left out", "elements are too long: left out");
    note(without_time_, "event has no start or no duration: left out",
         "events have no start or no duration: left out");
    note(unreadable_times_, "event has a time that is no number or does not fit: left out",
         "events have times that are no numbers or do not fit: left out");
    note(unreadable_memory_, "memory event has no time or no size: left out",
         "memory events have no time or no size: left out");
    note(unreadable_counters_, "counter's value has no time or is no number: left out",
         "counters' values have no time or are no numbers: left out");
    note(begins_and_ends_, "event is a begin or end (ph B or E), not a complete one: left out",
         "events are begins or ends (ph B and E), not complete ones: left out");
    note(ambiguous_,
         "correlation id is used by calls of several threads: its device work has no operation",
         "correlation ids are used by calls of several threads: their device work has no "
         "operation");
    if (!left_out_.empty()) {
      std::vector<std::pair<std::string, uint64_t>> categories(left_out_.begin(), left_out_.end());
      std::stable_sort(categories.begin(), categories.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      uint64_t more = 0;
      std::vector<std::string> words;
      for (const auto& [category, count] : categories) {
        if (words.size() < kCategoriesNamed) {
          words.push_back(absl::StrCat(count, " ", category.empty() ? "without any" : category));
        } else {
          more += count;
        }
      }
      if (more > 0) words.push_back(absl::StrCat(more, " others"));
      recording_.notes.push_back(
          absl::StrCat("events of categories that are no spans and no device work, left out: ",
                       absl::StrJoin(words, ", ")));
    }
  }

  // One and the same wherever it is written as a number or in quotes.
  static std::string ThreadKey(std::string_view process, std::string_view thread) {
    return absl::StrCat(Absl(process), absl::string_view("\0", 1), Absl(thread));
  }

  // The place of a thread in identities_.
  size_t IdentityOf(std::string_view process, std::string_view thread) {
    if (!identities_.empty()) {
      const Identity& last = identities_[last_identity_];
      if (last.process == process && last.thread == thread) return last_identity_;
    }
    const auto [found, is_new] =
        identity_places_.emplace(ThreadKey(process, thread), identities_.size());
    if (is_new) identities_.push_back({std::string(process), std::string(thread)});
    return last_identity_ = found->second;
  }

  // Threads are numbered as they come in spans and calls, and only then in all else.
  int64_t ThreadOf(std::string_view process, std::string_view thread) {
    return Numbered(&identities_[IdentityOf(process, thread)]);
  }

  void NameThreads() {
    for (size_t i = 0; i < recording_.memory_events.size(); ++i) {
      recording_.memory_events[i].thread = Numbered(&identities_[memory_threads_[i]]);
    }
    for (size_t i = 0; i < recording_.samples.size(); ++i) {
      recording_.samples[i].thread = Numbered(&identities_[sample_threads_[i]]);
    }
    for (size_t i = 0; i < recording_.counters.size(); ++i) {
      recording_.counters[i].thread = Numbered(&identities_[counter_threads_[i]]);
    }
    for (const auto& [place, identity] : overhead_threads_) {
      recording_.activities[place].thread = Numbered(&identities_[identity]);
    }
    Numbers numbers;
    for (const Identity& identity : identities_) {
      numbers.Claim(identity.process);
      numbers.Claim(identity.thread);
    }
    for (const Identity& identity : identities_) {
      ThreadIdentity& told = recording_.threads[identity.number];
      told.process = numbers.Of(identity.process);
      told.thread = numbers.Of(identity.thread);
      // Words say best what they stand for, unless the trace has names for them.
      if (!numbers.IsNumber(identity.process)) told.process_name = identity.process;
      if (!numbers.IsNumber(identity.thread)) told.thread_name = identity.thread;
      const auto process = process_names_.find(identity.process);
      if (process != process_names_.end()) told.process_name = process->second;
      const auto name = thread_names_.find(ThreadKey(identity.process, identity.thread));
      if (name != thread_names_.end()) told.thread_name = name->second;
    }
  }

  StringId Shapes(std::string_view json) {
    return Cached(json, &shapes_, [](std::string_view text) { return ShapesFromJson(text); });
  }
  StringId Dtypes(std::string_view json) {
    return Cached(json, &dtypes_, [](std::string_view text) { return ListFromJson(text); });
  }
  // Few different ones come again and again.
  template <typename Read>
  StringId Cached(std::string_view json, absl::flat_hash_map<std::string, StringId>* cache,
                  Read read) {
    if (const auto found = cache->find(Absl(json)); found != cache->end()) return found->second;
    const StringId id = strings().Intern(read(json));
    if (cache->size() < 100'000) cache->emplace(std::string(json), id);
    return id;
  }

  StringTable& strings() { return *recording_.strings; }

  struct Launch {
    int64_t thread = kNoThread;  // Several threads: none.
    bool has_several_calls = false;
    uint64_t innermost = kNoOperation;
    int64_t innermost_start_ns = INT64_MIN;
  };
  struct Identity {
    std::string process, thread;  // As they are written.
    int64_t number = kNoThread;
  };
  int64_t Numbered(Identity* identity) {
    if (identity->number == kNoThread) identity->number = threads_++;
    return identity->number;
  }

  const ImportLimits limits_;
  FileBytes bytes_;
  TraceElements elements_;
  TraceEventReader reader_;
  WholeRecording recording_;
  std::string last_category_;
  Meaning last_meaning_ = MeaningOf("");
  std::vector<uint64_t> span_ids_, activity_ids_;  // External ids, by position.
  // Places in identities_, likewise.
  std::vector<size_t> memory_threads_, sample_threads_, counter_threads_;
  std::vector<std::pair<size_t, size_t>> overhead_threads_;  // Places of activities, likewise.
  std::vector<std::pair<size_t, std::string>> owners_;  // Places of activities, their processes.
  absl::flat_hash_map<uint64_t, Launch> launches_;      // By correlation.
  bool has_shared_correlations_ = false;
  uint64_t ambiguous_ = 0;
  std::vector<Identity> identities_;
  absl::flat_hash_map<std::string, size_t> identity_places_;
  size_t last_identity_ = 0;
  int64_t threads_ = 0;
  absl::flat_hash_map<std::string, std::string> process_names_, thread_names_;
  std::map<std::pair<int64_t, std::string>, std::string> stream_names_;  // By device and row.
  absl::flat_hash_map<std::string, StringId> shapes_, dtypes_;
  std::map<std::string, uint64_t> left_out_;
  bool ids_are_operations_ = false;
  int64_t base_ns_ = 0;
  bool saw_start_ = false;
  bool is_full_ = false;
  uint64_t read_ = 0;
  uint64_t unreadable_ = 0;
  uint64_t without_time_ = 0;
  uint64_t unreadable_times_ = 0;
  uint64_t unreadable_memory_ = 0;
  uint64_t unreadable_counters_ = 0;
  uint64_t begins_and_ends_ = 0;
};

}  // namespace

absl::StatusOr<WholeRecording> ImportKineto(const std::string& path, const ImportLimits& limits) {
  absl::StatusOr<FileBytes> bytes = FileBytes::Open(path);
  if (!bytes.ok()) return bytes.status();
  return KinetoImport(*std::move(bytes), limits).Run(path);
}

}  // namespace tp

// PyTorch profiler (Kineto) traces to recordings: section 9 of the summaries' specification.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/correlate/launch_enclosure.h"
#include "analyzer/import/decimal.h"
#include "analyzer/import/file_bytes.h"
#include "analyzer/import/import.h"
#include "analyzer/import/shapes.h"
#include "analyzer/import/trace_elements.h"
#include "analyzer/import/trace_event.h"
#include "analyzer/model/frames.h"
#include "analyzer/present/utf8.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

constexpr uint64_t kNoId = kNoOperation;
constexpr size_t kCategoriesNamed = 8;
// Beyond this no clock counts, and differences would not fit.
constexpr int64_t kFarthestNs = int64_t{1} << 62;

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

// What an event becomes, by its category.
struct Meaning {
  enum class What { kUnknown, kSpan, kActivity, kLeftOut } what = What::kUnknown;
  SpanKind span = SpanKind::kOperation;
  ActivityKind activity = ActivityKind::kKernel;
};

Meaning MeaningOf(std::string_view category) {
  const auto is = [&](std::string_view word) {
    return absl::EqualsIgnoreCase(Absl(category), Absl(word));
  };
  const auto ends = [&](std::string_view word) {
    return absl::EndsWithIgnoreCase(Absl(category), Absl(word));
  };
  using What = Meaning::What;
  if (is("cpu_op") || is("operator")) return {What::kSpan, SpanKind::kOperation, {}};
  if (is("user_annotation")) return {What::kSpan, SpanKind::kUserAnnotation, {}};
  if (is("backward")) return {What::kSpan, SpanKind::kBackward, {}};  // Of our own exports.
  if (is("kernel")) return {What::kActivity, {}, ActivityKind::kKernel};
  if (is("gpu_memcpy") || is("memcpy")) return {What::kActivity, {}, ActivityKind::kCopy};
  if (is("gpu_memset") || is("memset")) return {What::kActivity, {}, ActivityKind::kFill};
  if (is("gpu_user_annotation")) return {What::kActivity, {}, ActivityKind::kDeviceAnnotation};
  // cuda_runtime, xpu_runtime, ...
  if (is("runtime") || ends("_runtime")) return {What::kActivity, {}, ActivityKind::kRuntimeCall};
  if (is("driver") || ends("_driver")) return {What::kActivity, {}, ActivityKind::kDriverCall};
  if (is("overhead")) return {What::kActivity, {}, ActivityKind::kOverhead};
  // The profiler's own window, and what only viewers need.
  if (is("trace") || is("ac2g") || is("fwdbwd")) return {What::kLeftOut, {}, {}};
  return {};
}

// The direction as copies' names tell it: "Memcpy HtoD (Pageable -> Device)".
uint8_t CopyKindOfName(std::string_view name) {
  constexpr std::array<std::string_view, 10> kDirections = {"HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                            "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  for (size_t i = 0; i < kDirections.size(); ++i) {
    if (name.find(kDirections[i]) != std::string_view::npos) return static_cast<uint8_t>(i + 1);
  }
  return 0;
}

class KinetoImport {
 public:
  explicit KinetoImport(FileBytes bytes) : bytes_(std::move(bytes)), elements_(&bytes_) {}

  absl::StatusOr<WholeRecording> Run(const std::string& path) {
    for (TraceElements::Kind kind; (kind = elements_.Next()) != TraceElements::Kind::kEnd;) {
      if (kind == TraceElements::Kind::kEvent) {
        AddElement();
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
          absl::StrCat(path, " is no trace: none of its ", unreadable_, " elements is an event"));
    }
    JoinCalls();
    for (const Span& span : recording_.spans) SeeStart(span.start_ns);
    for (const DeviceActivity& activity : recording_.activities) SeeStart(activity.start_ns);
    if (saw_start_) recording_.base_ns = base_ns_;
    AddNotes();
    return std::move(recording_);
  }

 private:
  void SeeStart(int64_t start_ns) {
    base_ns_ = saw_start_ ? std::min(base_ns_, start_ns) : start_ns;
    saw_start_ = true;
  }

  void AddElement() {
    TraceEvent event;
    if (!reader_.Read(elements_.text(), elements_.readable_bytes(), &event) || event.phase == 0) {
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
    const Meaning meaning = MeaningOf(event.category);
    if (meaning.what == Meaning::What::kUnknown) {
      CountLeftOut(event.category);
      return;
    }
    if (meaning.what == Meaning::What::kLeftOut) return;
    if (event.start == Presence::kAbsent || event.duration == Presence::kAbsent) {
      ++without_time_;
      return;
    }
    // The sum of two that fit need not.
    int64_t end_ns = 0;
    if (event.start != Presence::kRead || event.duration != Presence::kRead ||
        event.start_ns <= -kFarthestNs || event.start_ns >= kFarthestNs ||
        __builtin_add_overflow(event.start_ns, event.duration_ns, &end_ns) ||
        end_ns <= -kFarthestNs || end_ns >= kFarthestNs) {
      ++unreadable_times_;
      return;
    }
    if (meaning.what == Meaning::What::kSpan) {
      AddSpan(event, meaning.span, end_ns);
    } else {
      AddActivity(event, meaning.activity, end_ns);
    }
  }

  void AddSpan(const TraceEvent& event, SpanKind kind, int64_t end_ns) {
    Span span;
    span.id = recording_.spans.size();
    span.kind = event.backward ? SpanKind::kBackward : kind;
    span.asynchronous = event.asynchronous;
    span.name = strings().Intern(event.name);
    span.start_ns = event.start_ns;
    span.end_ns = event.duration_in_args_ns == 0 ? event.start_ns : end_ns;
    span.thread = ThreadOf(event.process, event.thread);
    if (!event.shapes.empty()) span.shapes = Shapes(event.shapes);
    if (!event.dtypes.empty()) span.dtypes = Dtypes(event.dtypes);
    if (!event.frames.empty()) {
      span.stack = Frames(event.frames);
    } else if (!event.call_stack.empty()) {
      span.stack = strings().Intern(JoinFrames(absl::StrSplit(Absl(event.call_stack), ';')));
    }
    span.call_site = strings().Intern(event.call_site);
    span.output_bytes = Small(event.output_bytes);
    span.flops = Small(event.flops);
    if (event.given_device_ns.has_value()) {
      span.given_device_ns = Small(event.given_device_ns);
      span.given_kernel_count = Small(event.kernels);
    }
    recording_.spans.push_back(span);
    span_ids_.push_back(event.external_id.value_or(kNoId));
  }

  void AddActivity(const TraceEvent& event, ActivityKind kind, int64_t end_ns) {
    DeviceActivity activity;
    activity.kind = kind;
    activity.name = strings().Intern(event.name);
    activity.start_ns = event.start_ns;
    activity.end_ns = end_ns;
    activity.correlation = event.correlation.value_or(0);
    if (kind == ActivityKind::kOverhead) {
      // Of no thread: its process is a made-up one.
      activity.device = -1;
    } else if (IsHostCall(kind)) {
      activity.device = -1;
      activity.thread = ThreadOf(event.process, event.thread);
      activity.cbid = static_cast<uint32_t>(event.cbid.value_or(0));
      activity.result = static_cast<uint32_t>(event.result.value_or(0));
      if (absl::StartsWithIgnoreCase(Absl(event.category), "xpu")) recording_.device_kind = "xpu";
    } else {
      activity.device = static_cast<int32_t>(Numbered(event.device, event.process));
      activity.stream = static_cast<uint32_t>(Numbered(event.stream, event.thread));
      activity.context = static_cast<uint32_t>(event.context.value_or(0));
      if (event.bytes.has_value() && *event.bytes > 0) {
        activity.bytes = static_cast<uint64_t>(*event.bytes);
      }
      if (kind == ActivityKind::kCopy) {
        activity.copy_kind = event.copy_kind.has_value() ? NarrowKind(*event.copy_kind)
                                                         : CopyKindOfName(event.name);
      }
      activity.source_memory = NarrowKind(event.source_memory.value_or(0));
      activity.destination_memory = NarrowKind(event.destination_memory.value_or(0));
      activity.value = event.value.value_or(0);
    }
    recording_.activities.push_back(activity);
    activity_ids_.push_back(event.external_id.value_or(kNoId));
  }

  void AddMemory(const TraceEvent& event) {
    if (event.start != Presence::kRead || !event.bytes.has_value()) return;
    MemoryEvent memory;
    memory.time_ns = event.start_ns;
    memory.address = event.address.value_or(0);
    memory.allocated = *event.bytes >= 0;
    memory.bytes = *event.bytes >= 0 ? *event.bytes : -(*event.bytes + 1) + 1;
    memory.on_device = event.device_type.value_or(0) != 0;
    memory.device = memory.on_device ? static_cast<int32_t>(event.device.value_or(0)) : -1;
    memory.thread = ThreadOf(event.process, event.thread);
    if (!event.allocation.empty()) {
      memory.allocated = event.allocation == "alloc";
      const size_t colon = event.memory_device.find(':');
      memory.on_device = colon != std::string_view::npos;
      memory.device = -1;
      if (memory.on_device) {
        memory.device =
            static_cast<int32_t>(WholeNumber(event.memory_device.substr(colon + 1)).value_or(0));
      }
    }
    recording_.memory_events.push_back(memory);
  }

  void AddSample(const TraceEvent& event) {
    if (event.start != Presence::kRead) return;
    Sample sample;
    sample.time_ns = event.start_ns;
    sample.thread = ThreadOf(event.process, event.thread);
    sample.frames = Frames(event.frames);
    recording_.samples.push_back(sample);
  }

  // A JSON list of texts.
  StringId Frames(std::string_view json) {
    const auto list = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
    std::vector<std::string> frames;
    for (const auto& frame : list) {
      if (frame.is_string()) frames.push_back(frame.get<std::string>());
    }
    return strings().Intern(JoinFrames(frames));
  }

  // Zero where there is none, or one that is too large.
  static int64_t Small(std::optional<uint64_t> number) {
    return number.value_or(0) <= INT64_MAX ? static_cast<int64_t>(number.value_or(0)) : 0;
  }

  // Names of processes and threads may come before or after their events.
  void AddMetadata(const TraceEvent& event) {
    if (event.label.empty()) return;
    if (event.name == "process_name") {
      process_names_[std::string(event.process)] = std::string(event.label);
    } else if (event.name == "thread_name") {
      thread_names_[ThreadKey(event.process, event.thread)] = std::string(event.label);
    }
  }

  void AddField() {
    // Of our own exports.
    if (elements_.key() == "externalIds") ids_are_operations_ = true;
    if (elements_.key() == "deviceKind" && elements_.text().size() > 2) {
      recording_.device_kind = elements_.text().substr(1, elements_.text().size() - 2);
    }
    if (elements_.key() != "distributedInfo") return;
    // {"backend": "nccl", "rank": 0, "world_size": 2}
    const std::string_view text = elements_.text();
    const size_t key = text.find("\"rank\"");
    if (key == std::string_view::npos) return;
    size_t at = text.find_first_of("-0123456789", key);
    if (at == std::string_view::npos) return;
    int32_t rank = -1;
    std::from_chars(text.data() + at, text.data() + text.size(), rank);
    recording_.rank = rank;
  }

  // A launch belongs to the innermost span around it. Ids serve only for those that none encloses,
  // and only where no id contradicts what encloses it.
  void JoinCalls() {
    std::vector<DeviceActivity>& activities = recording_.activities;
    if (ids_are_operations_) return TakeIds([](size_t) { return true; });
    // An id that only repeats the correlation names nothing.
    for (size_t i = 0; i < activities.size(); ++i) {
      if (activity_ids_[i] == activities[i].correlation) activity_ids_[i] = kNoId;
    }
    JoinCallsToSpans(recording_.spans, &activities);
    absl::flat_hash_set<uint64_t> calls;  // Correlations of launches that are there.
    bool need_ids = false;
    for (size_t i = 0; i < activities.size(); ++i) {
      const DeviceActivity& call = activities[i];
      if (!IsHostCall(call.kind)) continue;
      if (call.correlation != 0) calls.insert(call.correlation);
      const uint64_t id = activity_ids_[i];
      if (call.operation == kNoOperation) {
        need_ids |= id != kNoId;
        continue;
      }
      const Span& around = recording_.spans[call.operation];
      if (id != kNoId && around.kind == SpanKind::kOperation &&
          span_ids_[call.operation] != kNoId && span_ids_[call.operation] != id) {
        return;
      }
    }
    const auto launch_is_missing = [&](size_t i) {
      return !IsHostCall(activities[i].kind) && !calls.contains(activities[i].correlation);
    };
    for (size_t i = 0; i < activities.size() && !need_ids; ++i) {
      need_ids = activity_ids_[i] != kNoId && launch_is_missing(i);
    }
    if (!need_ids) return;
    TakeIds([&](size_t i) { return IsHostCall(activities[i].kind) || launch_is_missing(i); });
  }

  // Records that have no operation get that of their id, if `may_take` says so of their place.
  template <typename MayTake>
  void TakeIds(MayTake may_take) {
    absl::flat_hash_map<uint64_t, uint64_t> span_of;
    for (size_t i = 0; i < span_ids_.size(); ++i) {
      if (span_ids_[i] == kNoId) continue;
      const auto [found, is_new] = span_of.emplace(span_ids_[i], i);
      if (!is_new) found->second = kNoOperation;  // Two have it: it names none.
    }
    for (size_t i = 0; i < recording_.activities.size(); ++i) {
      DeviceActivity& activity = recording_.activities[i];
      if (activity_ids_[i] == kNoId || activity.operation != kNoOperation || !may_take(i)) continue;
      const auto found = span_of.find(activity_ids_[i]);
      if (found != span_of.end()) activity.operation = found->second;
    }
  }

  void CountLeftOut(std::string_view category) {
    std::string name = ValidUtf8(category.substr(0, 60));
    if (left_out_.size() >= 1000 && left_out_.count(name) == 0) name = "others";
    ++left_out_[name];
  }

  void AddNotes() {
    const auto note = [&](uint64_t count, std::string_view what) {
      if (count == 0) return;
      recording_.notes.push_back(absl::StrCat(count, " ", Absl(what)));
    };
    if (!elements_.damage().empty()) recording_.notes.push_back(elements_.damage());
    note(unreadable_, "elements could not be read: left out");
    note(elements_.too_long(), "elements are too long: left out");
    note(without_time_, "events have no start or no duration: left out");
    note(unreadable_times_, "events have times that are no numbers or do not fit: left out");
    note(begins_and_ends_, "events are begins or ends (ph B and E), not complete ones: left out");
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
    NameThreads();
  }

  static std::string ThreadKey(std::string_view process, std::string_view thread) {
    return absl::StrCat(Absl(process), absl::string_view("\0", 1), Absl(thread));
  }

  int64_t ThreadOf(std::string_view process, std::string_view thread) {
    if (!threads_.empty() && process == last_process_ && thread == last_thread_) return last_;
    last_process_ = process;
    last_thread_ = thread;
    const auto [found, is_new] =
        threads_.emplace(ThreadKey(process, thread), static_cast<int64_t>(threads_.size()));
    if (is_new) {
      ThreadIdentity identity;
      identity.process = IdNumber(process);
      identity.thread = IdNumber(thread);
      recording_.threads[found->second] = identity;
      thread_processes_.push_back(last_process_);
      thread_keys_.push_back(found->first);
    }
    return last_ = found->second;
  }

  // Numbers are themselves; words get numbers of their own, below zero.
  int64_t IdNumber(std::string_view text) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
    const auto [found, is_new] =
        words_.emplace(std::string(text), -1 - static_cast<int64_t>(words_.size()));
    return found->second;
  }

  static uint64_t Numbered(std::optional<uint64_t> argument, std::string_view id) {
    if (argument.has_value()) return *argument;
    return WholeNumber(id).value_or(0);
  }

  void NameThreads() {
    for (auto& [thread, identity] : recording_.threads) {
      const auto index = static_cast<size_t>(thread);
      const auto process = process_names_.find(thread_processes_[index]);
      if (process != process_names_.end()) identity.process_name = process->second;
      const auto name = thread_names_.find(thread_keys_[index]);
      if (name != thread_names_.end()) identity.thread_name = name->second;
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

  FileBytes bytes_;
  TraceElements elements_;
  TraceEventReader reader_;
  WholeRecording recording_;
  std::vector<uint64_t> span_ids_, activity_ids_;  // External ids, by position.
  absl::flat_hash_map<std::string, int64_t> threads_;
  std::vector<std::string> thread_processes_, thread_keys_;
  std::string last_process_, last_thread_;
  int64_t last_ = 0;
  absl::flat_hash_map<std::string, int64_t> words_;
  absl::flat_hash_map<std::string, std::string> process_names_, thread_names_;
  absl::flat_hash_map<std::string, StringId> shapes_, dtypes_;
  std::map<std::string, uint64_t> left_out_;
  bool ids_are_operations_ = false;
  int64_t base_ns_ = 0;
  bool saw_start_ = false;
  uint64_t read_ = 0;
  uint64_t unreadable_ = 0;
  uint64_t without_time_ = 0;
  uint64_t unreadable_times_ = 0;
  uint64_t begins_and_ends_ = 0;
};

}  // namespace

absl::StatusOr<WholeRecording> ImportKineto(const std::string& path) {
  absl::StatusOr<FileBytes> bytes = FileBytes::Open(path);
  if (!bytes.ok()) return bytes.status();
  return KinetoImport(*std::move(bytes)).Run(path);
}

}  // namespace tp

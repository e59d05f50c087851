#include "analyzer/export/merge.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analyzer/export/json_text.h"
#include "analyzer/export/renumbering.h"
#include "analyzer/export/trace_members.h"
#include "analyzer/import/decimal.h"
#include "analyzer/import/event_meaning.h"
#include "analyzer/import/file_bytes.h"
#include "analyzer/import/json_repair.h"
#include "analyzer/import/trace_elements.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

constexpr int kMicrosecondsToNs = 3;
constexpr size_t kEventsBetweenLooks = 4096;
constexpr size_t kLongestField = 1 << 20;
// Between the ranks in the order of processes.
constexpr int64_t kSortIndexesOfARank = 10'000'000;
// Times beyond are counted since 1970, and not since some moment of the machine or of the trace.
constexpr int64_t kYear2000Ns = 946'684'800'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What most values are: a text of plain characters, or a number without an exponent.
bool IsPlainJson(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    const std::string_view inside = value.substr(1, value.size() - 2);
    return std::all_of(inside.begin(), inside.end(),
                       [](char c) { return c >= ' ' && c < '\x7F' && c != '"' && c != '\\'; });
  }
  if (value.starts_with('-')) value.remove_prefix(1);
  const size_t point = std::min(value.find('.'), value.size());
  const std::string_view whole = value.substr(0, point);
  const std::string_view fraction = value.substr(std::min(point + 1, value.size()));
  return !whole.empty() && (whole.size() == 1 || whole.front() != '0') &&
         fraction.empty() == (point == value.size()) &&
         std::all_of(whole.begin(), whole.end(), IsDigit) &&
         std::all_of(fraction.begin(), fraction.end(), IsDigit);
}

bool IsJson(std::string_view value) { return IsPlainJson(value) || nlohmann::json::accept(value); }

std::string Quoted(std::string_view text) {
  std::string quoted;
  AppendJsonString(text, &quoted);
  return quoted;
}

// One of the traces, after it was read once.
struct Trace {
  std::string path;
  std::string name;  // For people.
  std::optional<int64_t> rank;
  std::string label;  // "rank 3".
  std::optional<int64_t> base_ns;
  int64_t shift_ns = 0;
  int64_t first_ns = INT64_MAX;
  int64_t last_ns = INT64_MIN;
  Renumbering numbers;
  // Processes with spans or calls, as they are written; no more than two.
  std::set<std::string> host_processes;
  bool ids_are_operations = false;
};

class Merge {
 public:
  Merge(const std::vector<std::string>& paths, const std::vector<std::string>& names,
        const std::function<void(double part)>& progress, OutputFile* out)
      : progress_(progress), out_(out) {
    traces_.resize(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) {
      traces_[i].path = paths[i];
      traces_[i].name = i < names.size() ? names[i] : paths[i];
    }
  }

  absl::StatusOr<std::vector<std::string>> Run() {
    for (size_t i = 0; i < traces_.size(); ++i) {
      done_ = i;
      if (absl::Status status = ReadFirst(&traces_[i]); !status.ok()) return status;
    }
    std::vector<Renumbering*> numbers;
    for (Trace& trace : traces_) numbers.push_back(&trace.numbers);
    Renumbering::Settle(numbers);
    ChooseRanks();
    ChooseTimes();
    out_->Append("{\"traceEvents\": [");
    for (size_t i = 0; i < traces_.size(); ++i) {
      done_ = traces_.size() + i;
      if (absl::Status status = WriteTrace(&traces_[i], static_cast<int64_t>(i)); !status.ok()) {
        return status;
      }
    }
    WriteFields();
    if (nulls_ > 0) {
      notes_.push_back(absl::StrCat(nulls_, " values that are no JSON are written as null"));
    }
    return std::move(notes_);
  }

 private:
  // Calls event(members, text) and field(key, text) for what is in the file.
  template <typename Event, typename Field>
  absl::Status ReadAll(Trace* trace, bool tell, Event event, Field field) {
    absl::StatusOr<FileBytes> bytes = FileBytes::Open(trace->path);
    if (!bytes.ok()) return bytes.status();
    TraceElements elements(&*bytes);
    TraceMembers members;
    uint64_t unreadable = 0, read = 0;
    while (out_->ok()) {
      const TraceElements::Kind kind = elements.Next();
      if (kind == TraceElements::Kind::kEnd) break;
      if (kind == TraceElements::Kind::kField) {
        field(elements.key(), elements.text());
        continue;
      }
      if (!reader_.Read(elements.text(), &members)) {
        ++unreadable;
        continue;
      }
      if (absl::Status status = event(members); !status.ok()) return status;
      if (++read % kEventsBetweenLooks == 0) Look(bytes->PartRead());
    }
    if (!elements.found_events()) {
      const std::string why =
          elements.damage().empty() ? "it has no \"traceEvents\"" : elements.damage();
      return absl::InvalidArgumentError(absl::StrCat(trace->name, " is no trace: ", why));
    }
    if (!tell) return absl::OkStatus();
    if (!elements.damage().empty()) {
      notes_.push_back(absl::StrCat(trace->name, ": ", elements.damage()));
    }
    if (const uint64_t left_out = unreadable + elements.too_long() + elements.without_end();
        left_out > 0) {
      notes_.push_back(absl::StrCat(trace->name, ": ", left_out,
                                    " elements could not be read, or are too long: left out"));
    }
    return absl::OkStatus();
  }

  void Look(double part_of_trace) {
    if (!progress_) return;
    progress_((static_cast<double>(done_) + part_of_trace) /
              static_cast<double>(2 * traces_.size()));
  }

  absl::Status ReadFirst(Trace* trace) {
    return ReadAll(
        trace, /*tell=*/true,
        [&](const TraceMembers& event) {
          if (!trace->numbers.See(event)) {
            return absl::InvalidArgumentError(
                absl::StrCat(trace->name, " has more processes than can be told apart"));
          }
          if (event.Value("ph") == "\"X\"") {
            SeeProcess(event, trace);
            if (const auto ns = DecimalTimes(event.Value("ts"), kMicrosecondsToNs)) {
              trace->first_ns = std::min(trace->first_ns, *ns);
              trace->last_ns = std::max(trace->last_ns, *ns);
            }
          }
          return absl::OkStatus();
        },
        [&](const std::string& key, std::string_view text) {
          if (key == "baseTimeNanoseconds") trace->base_ns = DecimalTimes(text, 0);
          if (key == "externalIds") trace->ids_are_operations = true;
          if (key != "distributedInfo" && key != "deviceProperties") return;
          const auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
          if (value.is_object() && value.contains("rank") && value["rank"].is_number_integer()) {
            trace->rank = value["rank"].get<int64_t>();
          }
          if (!value.is_array()) return;
          for (const auto& device : value) {
            if (device.is_object() && device.contains("id")) {
              trace->numbers.SeeDevice(device["id"].dump());
            }
          }
        });
  }

  static Meaning MeaningOfEvent(const TraceMembers& event) {
    return MeaningOf(TraceMember{{}, event.Value("cat")}.bare());
  }

  static void SeeProcess(const TraceMembers& event, Trace* trace) {
    if (trace->host_processes.size() > 1) return;
    const Meaning meaning = MeaningOfEvent(event);
    if (meaning.what == Meaning::What::kSpan ||
        (meaning.what == Meaning::What::kActivity && IsHostCall(meaning.activity))) {
      trace->host_processes.emplace(event.Value("pid"));
    }
  }

  // What all device work of a trace with one process is of. Alone, the trace need not say it.
  static std::string OwnerToTell(const Trace& trace, const TraceMembers& event) {
    if (trace.host_processes.size() != 1) return "";
    const Meaning meaning = MeaningOfEvent(event);
    if (meaning.what != Meaning::What::kActivity || IsOnHost(meaning.activity)) return "";
    const bool is_told =
        std::any_of(event.arguments.begin(), event.arguments.end(),
                    [](const TraceMember& argument) { return argument.key == "process"; });
    return is_told ? "" : trace.numbers.Process(*trace.host_processes.begin(), trace.label);
  }

  // What the traces say, if all say something else; the order in which they were given if not.
  void ChooseRanks() {
    std::set<int64_t> ranks;
    for (const Trace& trace : traces_) {
      if (trace.rank.has_value()) ranks.insert(*trace.rank);
    }
    const bool are_told = ranks.size() == traces_.size();
    if (!are_told && !ranks.empty()) {
      notes_.push_back(
          "not every trace tells a rank of its own: they are numbered in the order given");
    }
    for (size_t i = 0; i < traces_.size(); ++i) {
      if (!are_told) traces_[i].rank = static_cast<int64_t>(i);
      traces_[i].label = absl::StrCat("rank ", *traces_[i].rank);
    }
  }

  void ChooseTimes() {
    size_t with_base = 0;
    int64_t earliest_ns = INT64_MAX;
    for (const Trace& trace : traces_) {
      earliest_ns = std::min(earliest_ns, trace.base_ns.value_or(INT64_MAX));
    }
    for (Trace& trace : traces_) {
      // Older traces have no base: 1970 is it.
      const bool since_1970 = trace.first_ns >= kYear2000Ns && trace.first_ns <= trace.last_ns;
      if (earliest_ns != INT64_MAX && !trace.base_ns.has_value() && since_1970) trace.base_ns = 0;
      with_base += trace.base_ns.has_value();
    }
    if (with_base == traces_.size()) {
      base_ns_ = earliest_ns;
      for (Trace& trace : traces_) {
        // A base that is none (hostile, broken) leaves the times as they are.
        if (__builtin_sub_overflow(*trace.base_ns, earliest_ns, &trace.shift_ns)) {
          trace.shift_ns = 0;
        }
      }
    } else if (with_base > 0) {
      notes_.push_back(
          "only some traces say when they were taken (baseTimeNanoseconds): each keeps its own "
          "times, which cannot be compared");
      return;
    }
    for (const Trace& trace : traces_) {
      const bool meets_another =
          std::any_of(traces_.begin(), traces_.end(), [&](const Trace& other) {
            return &other != &trace &&
                   other.first_ns + other.shift_ns <= trace.last_ns + trace.shift_ns &&
                   trace.first_ns + trace.shift_ns <= other.last_ns + other.shift_ns;
          });
      if (traces_.size() < 2 || meets_another || trace.first_ns > trace.last_ns) continue;
      notes_.push_back(absl::StrCat(trace.name,
                                    " has no moment in common with the others: is it of another "
                                    "run, or are the clocks apart?"));
    }
  }

  absl::Status WriteTrace(Trace* trace, int64_t place) {
    absl::Status status = ReadAll(
        trace, /*tell=*/false,
        [&](const TraceMembers& event) {
          Append(NewEvent(*trace, place, event));
          return absl::OkStatus();
        },
        [&](const std::string& key, std::string_view text) { KeepField(*trace, key, text); });
    for (const std::string& process : trace->numbers.Unnamed()) {
      if (process.front() == '"') continue;  // A word says enough.
      const std::string number = trace->numbers.Process(process, trace->label);
      if (!IsJson(number)) continue;
      Append(absl::StrCat(R"({"ph": "M", "name": "process_name", "ts": 0, "tid": 0, "pid": )",
                          number, R"(, "args": {"name": )", Quoted(trace->label), "}}"));
    }
    std::string rank =
        absl::StrCat("{\"rank\": ", *trace->rank,
                     ", \"file\": ", Quoted(trace->name.substr(trace->name.rfind('/') + 1)));
    absl::StrAppend(&rank, fields_, "}");
    ranks_.push_back(std::move(rank));
    fields_.clear();
    return status;
  }

  void Append(std::string_view event) {
    out_->Append(is_first_ ? "\n" : ",\n");
    is_first_ = false;
    out_->Append(event);
  }

  std::string NewEvent(const Trace& trace, int64_t place, const TraceMembers& event) {
    // What was passed over unread may be anything.
    const auto as_json = [&](std::string value) {
      if (IsJson(value)) return value;
      std::string repaired = RepairedJson(value);
      if (IsJson(repaired)) return repaired;
      ++nulls_;
      return std::string("null");
    };
    const std::string_view name = event.Value("name");
    const std::string owner = OwnerToTell(trace, event);
    std::string text = "{";
    for (const TraceMember& member : event.members) {
      if (text.size() > 1) text += ", ";
      absl::StrAppend(&text, Quoted(member.key), ": ");
      if (event.arguments_at != TraceMembers::kNone &&
          &member == &event.members[event.arguments_at]) {
        text += '{';
        for (const TraceMember& argument : event.arguments) {
          if (&argument != &event.arguments.front()) text += ", ";
          absl::StrAppend(&text, Quoted(argument.key), ": ",
                          as_json(NewArgument(trace, place, name, argument)));
        }
        if (!owner.empty()) {
          absl::StrAppend(&text, event.arguments.empty() ? "" : ", ", "\"process\": ", owner);
        }
        text += '}';
      } else {
        text += as_json(NewMember(trace, member));
      }
    }
    if (!owner.empty() && event.arguments_at == TraceMembers::kNone) {
      absl::StrAppend(&text, ", \"args\": {\"process\": ", owner, "}");
    }
    if (event.Value("pid").empty()) {
      // It would be drawn with those of other ranks.
      if (text.size() > 1) text += ", ";
      absl::StrAppend(&text, "\"pid\": ", trace.numbers.Process("", trace.label));
    }
    return text += '}';
  }

  static std::string NewMember(const Trace& trace, const TraceMember& member) {
    if (member.key == "pid") return trace.numbers.Process(member.value, trace.label);
    if (member.key == "id") return trace.numbers.EventId(member, trace.label);
    if (member.key == "ts" && trace.shift_ns != 0) {
      const std::optional<int64_t> ns = DecimalTimes(member.bare(), kMicrosecondsToNs);
      int64_t shifted_ns;
      if (ns.has_value() && !__builtin_add_overflow(*ns, trace.shift_ns, &shifted_ns)) {
        std::string time;
        AppendMicroseconds(shifted_ns, &time);
        return time;
      }
    }
    return std::string(member.value);
  }

  static std::string NewArgument(const Trace& trace, int64_t place, std::string_view event,
                                 const TraceMember& argument) {
    if (Renumbering::IsId(argument.key)) return trace.numbers.Id(argument);
    if (Renumbering::IsNumber(argument.key)) return trace.numbers.Number(argument.value);
    if (event == "\"process_name\"" && argument.key == "name" && argument.is_text()) {
      return absl::StrCat("\"", trace.label, ": ", std::string(argument.bare()), "\"");
    }
    if (event == "\"process_sort_index\"" && argument.key == "sort_index") {
      const int64_t index = DecimalTimes(argument.bare(), 0).value_or(0);
      return absl::StrCat(place * kSortIndexesOfARank +
                          std::clamp<int64_t>(index, 0, kSortIndexesOfARank - 1));
    }
    return std::string(argument.value);
  }

  // What stands around the events belongs to the rank, but for what all have in common.
  void KeepField(const Trace& trace, const std::string& key, std::string_view text) {
    if (key == "deviceProperties") return KeepDevices(trace, text);
    if (text.size() > kLongestField || !IsJson(text)) {
      notes_.push_back(
          absl::StrCat(trace.name, ": its \"", key, "\" is no JSON, or too long: left out"));
      return;
    }
    if (key == "deviceKind") device_kinds_.insert(std::string(text));
    absl::StrAppend(&fields_, ", ", Quoted(key), ": ", std::string(text));
  }

  void KeepDevices(const Trace& trace, std::string_view text) {
    const auto devices = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!devices.is_array()) return;
    for (nlohmann::ordered_json device : devices) {
      if (!device.is_object() || !device.contains("id")) continue;
      device["id"] = nlohmann::ordered_json::parse(trace.numbers.Number(device["id"].dump()));
      devices_.push_back(device.dump());
    }
  }

  void WriteFields() {
    const auto list = [](const std::vector<std::string>& elements) {
      std::string text;
      for (const std::string& element : elements) {
        absl::StrAppend(&text, text.empty() ? "\n  " : ",\n  ", element);
      }
      return text;
    };
    out_->Append("\n],\n\"displayTimeUnit\": \"ms\",\n\"schemaVersion\": 1");
    if (base_ns_.has_value()) {
      out_->Append(absl::StrCat(",\n\"baseTimeNanoseconds\": ", *base_ns_));
    }
    if (std::all_of(traces_.begin(), traces_.end(),
                    [](const Trace& trace) { return trace.ids_are_operations; })) {
      out_->Append(",\n\"externalIds\": \"operations\"");
    }
    if (device_kinds_.size() == 1) {
      out_->Append(absl::StrCat(",\n\"deviceKind\": ", *device_kinds_.begin()));
    }
    out_->Append(absl::StrCat(",\n\"deviceProperties\": [", list(devices_), "]"));
    out_->Append(absl::StrCat(",\n\"ranks\": [", list(ranks_), "]}\n"));
    if (progress_) progress_(1);
  }

  const std::function<void(double part)>& progress_;
  OutputFile* out_;
  std::vector<Trace> traces_;
  size_t done_ = 0;
  TraceMemberReader reader_;
  std::optional<int64_t> base_ns_;
  bool is_first_ = true;
  uint64_t nulls_ = 0;
  std::string fields_;  // Of the trace that is being written.
  std::vector<std::string> ranks_, devices_;
  std::set<std::string> device_kinds_;
  std::vector<std::string> notes_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> MergeTraces(
    const std::vector<std::string>& paths, const std::function<void(double part)>& progress,
    OutputFile* out, const std::vector<std::string>& names) {
  return Merge(paths, names, progress, out).Run();
}

}  // namespace tp

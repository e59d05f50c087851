#include "analyzer/import/trace_event.h"

#include <simdjson.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "analyzer/import/decimal.h"
#include "analyzer/import/json_repair.h"

namespace tp {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr int kMicrosecondsToNs = 3;

bool IsSpelled(std::string_view text, std::string_view in_any_case) {
  return absl::EqualsIgnoreCase(absl::string_view(text.data(), text.size()),
                                absl::string_view(in_any_case.data(), in_any_case.size()));
}

std::string_view WithoutBlanks(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

int HexDigits(std::string_view text) {
  int value = 0;
  if (text.size() < 4) return -1;
  for (const char c : text.substr(0, 4)) {
    value *= 16;
    if (c >= '0' && c <= '9') {
      value += c - '0';
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      value += (c | 0x20) - 'a' + 10;
    } else {
      return -1;
    }
  }
  return value;
}

void AppendUtf8(uint32_t point, std::string* text) {
  const auto append = [&](uint32_t byte) { *text += static_cast<char>(byte); };
  if (point < 0x80) {
    append(point);
  } else if (point < 0x800) {
    append(0xC0 | point >> 6);
    append(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    append(0xE0 | point >> 12);
    append(0x80 | (point >> 6 & 0x3F));
    append(0x80 | (point & 0x3F));
  } else {
    append(0xF0 | point >> 18);
    append(0x80 | (point >> 12 & 0x3F));
    append(0x80 | (point >> 6 & 0x3F));
    append(0x80 | (point & 0x3F));
  }
}

// What simdjson refuses: half of a surrogate pair, or an escape that JSON does not know.
std::string UnescapedLeniently(std::string_view quoted) {
  std::string text;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      text += quoted[i];
      continue;
    }
    const char c = quoted[++i];
    constexpr std::string_view kLetters = "bfnrt", kMeanings = "\b\f\n\r\t";
    if (const size_t letter = kLetters.find(c); letter != std::string_view::npos) {
      text += kMeanings[letter];
    } else if (c != 'u') {
      text += c;
    } else {
      const int unit = HexDigits(quoted.substr(i + 1));
      i += unit < 0 ? 0 : 4;
      uint32_t point = 0xFFFD;
      if (unit >= 0 && (unit < 0xD800 || unit > 0xDFFF)) {
        point = static_cast<uint32_t>(unit);
      } else if (unit >= 0xD800 && unit < 0xDC00 && quoted.substr(i + 1, 2) == "\\u") {
        const int low = HexDigits(quoted.substr(i + 3));
        if (low >= 0xDC00 && low <= 0xDFFF) {
          point = 0x10000 + ((static_cast<uint32_t>(unit) - 0xD800) << 10) +
                  (static_cast<uint32_t>(low) - 0xDC00);
          i += 6;
        }
      }
      AppendUtf8(point, &text);
    }
  }
  return text;
}

}  // namespace

struct TraceEventReader::State {
  ondemand::parser parser;
  simdjson::padded_string repaired;
  std::deque<std::string> texts;  // Those that had to be made.

  bool Read(const char* json, size_t size, size_t readable, TraceEvent* event);
  bool ReadField(std::string_view key, ondemand::value value, TraceEvent* event);
  bool ReadArgument(std::string_view key, ondemand::value value, TraceEvent* event);
  bool ReadOwnArgument(std::string_view key, ondemand::value value, TraceEvent* event);
  // A list as it is written; false where it is broken. What is no list leaves `text` as it is.
  bool List(ondemand::value value, std::string_view* text);
  // The text of a string; of a number or a word as it is written; of a list or object nothing.
  std::string_view Text(ondemand::value value);
  std::string_view Scalar(ondemand::value value);
  std::optional<uint64_t> Number(ondemand::value value) { return WholeNumber(Scalar(value)); }
  Presence Time(ondemand::value value, int64_t* ns);
};

std::string_view TraceEventReader::State::Text(ondemand::value value) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return {};
  if (type != ondemand::json_type::string) return Scalar(value);
  // Taken first: a string that cannot be read leaves the value where it is.
  const std::string_view token = WithoutBlanks(value.raw_json_token());
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return text;
  if (token.size() < 2) return {};
  texts.push_back(UnescapedLeniently(token.substr(1, token.size() - 2)));
  return texts.back();
}

// A number also where it is written as a string.
std::string_view TraceEventReader::State::Scalar(ondemand::value value) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) {
    return WithoutBlanks(value.raw_json_token());  // NaN and the like.
  }
  if (type == ondemand::json_type::array || type == ondemand::json_type::object) return {};
  std::string_view token = WithoutBlanks(value.raw_json_token());
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
  }
  return token;
}

Presence TraceEventReader::State::Time(ondemand::value value, int64_t* ns) {
  const std::optional<int64_t> read = DecimalTimes(Scalar(value), kMicrosecondsToNs);
  if (!read.has_value()) return Presence::kUnreadable;
  *ns = *read;
  return Presence::kRead;
}

bool TraceEventReader::State::ReadArgument(std::string_view key, ondemand::value value,
                                           TraceEvent* event) {
  switch (key.size()) {
    case 4:
      if (IsSpelled(key, "cbid")) event->cbid = Number(value);
      if (IsSpelled(key, "addr")) event->address = Number(value);
      if (IsSpelled(key, "name")) event->label = Text(value);
      break;
    case 5:
      if (IsSpelled(key, "bytes")) event->bytes = DecimalTimes(Scalar(value), 0);
      break;
    case 6:
      if (IsSpelled(key, "stream")) event->stream = Number(value);
      if (IsSpelled(key, "device")) event->device = Number(value);
      break;
    case 7:
      if (IsSpelled(key, "context")) event->context = Number(value);
      break;
    case 9:
      if (IsSpelled(key, "device id")) event->device = Number(value);
      break;
    case 10:
      if (IsSpelled(key, "call stack")) {
        event->call_stack = Text(value);
      } else if (IsSpelled(key, "input dims") || IsSpelled(key, "input type")) {
        return List(value, IsSpelled(key, "input dims") ? &event->shapes : &event->dtypes);
      }
      break;
    case 11:
      if (IsSpelled(key, "correlation")) event->correlation = Number(value);
      if (IsSpelled(key, "external id")) event->external_id = Number(value);
      if (IsSpelled(key, "device type")) event->device_type = Number(value);
      break;
    default:
      break;
  }
  return ReadOwnArgument(key, value, event);
}

bool TraceEventReader::State::ReadOwnArgument(std::string_view key, ondemand::value value,
                                              TraceEvent* event) {
  const std::pair<std::string_view, std::optional<uint64_t>*> numbers[] = {
      {"Output alloc (bytes)", &event->output_bytes},
      {"Flops", &event->flops},
      {"Kernels", &event->kernels},
      {"Given device time (ns)", &event->given_device_ns},
      {"Duration (ns)", &event->duration_in_args_ns},
      {"copy kind", &event->copy_kind},
      {"source memory", &event->source_memory},
      {"destination memory", &event->destination_memory},
      {"value", &event->value},
      {"result", &event->result}};
  for (const auto& [name, number] : numbers) {
    if (key != name) continue;
    *number = Number(value);
    return true;
  }
  if (key == "stack") return List(value, &event->frames);
  if (key == "Call site") event->call_site = Text(value);
  if (key == "Device") event->memory_device = Text(value);
  if (key == "Allocation Type") event->allocation = Text(value);
  if (key == "Backward") event->backward = Scalar(value) == "true";
  if (key == "Asynchronous") event->asynchronous = Scalar(value) == "true";
  return true;
}

bool TraceEventReader::State::List(ondemand::value value, std::string_view* text) {
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::array) {
    return true;
  }
  ondemand::array list;
  return value.get_array().get(list) == simdjson::SUCCESS &&
         list.raw_json().get(*text) == simdjson::SUCCESS;
}

bool TraceEventReader::State::ReadField(std::string_view key, ondemand::value value,
                                        TraceEvent* event) {
  if (key == "ph") {
    const std::string_view phase = Scalar(value);
    event->phase = phase.size() == 1 ? phase[0] : '\0';
  } else if (key == "cat") {
    event->category = Text(value);
  } else if (key == "name") {
    event->name = Text(value);
  } else if (key == "pid") {
    event->process = Scalar(value);
  } else if (key == "tid") {
    event->thread = Scalar(value);
  } else if (key == "ts") {
    event->start = Time(value, &event->start_ns);
  } else if (key == "dur") {
    event->duration = Time(value, &event->duration_ns);
  } else if (key == "args") {
    ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS || type != ondemand::json_type::object) {
      return true;
    }
    ondemand::object arguments;
    if (value.get_object().get(arguments) != simdjson::SUCCESS) return false;
    for (auto argument : arguments) {
      std::string_view name;
      ondemand::value inner;
      if (argument.unescaped_key().get(name) != simdjson::SUCCESS ||
          argument.value().get(inner) != simdjson::SUCCESS || !ReadArgument(name, inner, event)) {
        return false;
      }
    }
  }
  return true;
}

bool TraceEventReader::State::Read(const char* json, size_t size, size_t readable,
                                   TraceEvent* event) {
  *event = {};
  texts.clear();
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(json, size, readable).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return false;
  }
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS || !ReadField(key, value, event)) {
      return false;
    }
  }
  return true;
}

TraceEventReader::TraceEventReader() : state_(std::make_unique<State>()) {}
TraceEventReader::~TraceEventReader() = default;

bool TraceEventReader::Read(std::string_view json, size_t readable_bytes, TraceEvent* event) {
  if (state_->Read(json.data(), json.size(), readable_bytes, event)) return true;
  if (json.empty() || json.front() != '{') return false;
  state_->repaired = simdjson::padded_string(RepairedJson(json));
  const simdjson::padded_string& text = state_->repaired;
  return state_->Read(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING, event);
}

}  // namespace tp

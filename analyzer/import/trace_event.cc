#include "analyzer/import/trace_event.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace tp {
namespace {

enum class Form : uint8_t { kScalar, kText, kList, kObject };

// What is kept of an argument, and where.
struct Argument {
  std::string_view name;  // In small letters.
  std::string_view TraceEvent::*member;
  Form form;
};

// By the length of their names.
constexpr Argument kArguments[] = {
    {"name", &TraceEvent::label, Form::kText},
    {"cbid", &TraceEvent::cbid, Form::kScalar},
    {"addr", &TraceEvent::address, Form::kScalar},
    {"bytes", &TraceEvent::bytes, Form::kScalar},
    {"stack", &TraceEvent::frames, Form::kList},
    {"value", &TraceEvent::value, Form::kScalar},
    {"flops", &TraceEvent::flops, Form::kScalar},
    {"device", &TraceEvent::device, Form::kScalar},
    {"stream", &TraceEvent::stream, Form::kScalar},
    {"result", &TraceEvent::result, Form::kScalar},
    {"values", &TraceEvent::values, Form::kObject},
    {"context", &TraceEvent::context, Form::kScalar},
    {"kernels", &TraceEvent::kernels, Form::kScalar},
    {"process", &TraceEvent::owner, Form::kScalar},
    {"backward", &TraceEvent::backward, Form::kScalar},
    {"device id", &TraceEvent::device, Form::kScalar},
    {"call site", &TraceEvent::call_site, Form::kText},
    {"copy kind", &TraceEvent::copy_kind, Form::kScalar},
    {"input dims", &TraceEvent::shapes, Form::kList},
    {"input type", &TraceEvent::dtypes, Form::kList},
    {"call stack", &TraceEvent::call_stack, Form::kText},
    {"external id", &TraceEvent::external_id, Form::kScalar},
    {"correlation", &TraceEvent::correlation, Form::kScalar},
    {"device type", &TraceEvent::device_type, Form::kScalar},
    {"wait stream", &TraceEvent::wait_stream, Form::kScalar},
    {"asynchronous", &TraceEvent::asynchronous, Form::kScalar},
    {"duration (ns)", &TraceEvent::duration_in_args_ns, Form::kScalar},
    {"source memory", &TraceEvent::source_memory, Form::kScalar},
    {"allocation type", &TraceEvent::allocation, Form::kText},
    {"destination memory", &TraceEvent::destination_memory, Form::kScalar},
    {"output alloc (bytes)", &TraceEvent::output_bytes, Form::kScalar},
    {"given device time (ns)", &TraceEvent::given_device_ns, Form::kScalar},
};
constexpr size_t kLongestName = 22;

// Where the names of each length begin in kArguments.
constexpr std::array<uint8_t, kLongestName + 2> kFirstOfLength = [] {
  std::array<uint8_t, kLongestName + 2> first{};
  uint8_t i = 0;
  for (size_t length = 0; length < first.size(); ++length) {
    first[length] = i;
    while (i < std::size(kArguments) && kArguments[i].name.size() == length) ++i;
  }
  return first;
}();
static_assert(kFirstOfLength[kLongestName + 1] == std::size(kArguments), "in order of length");

// Of the same length; versions differ in their capitals.
bool IsSpelled(std::string_view text, std::string_view in_small_letters) {
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != in_small_letters[i]) return false;
  }
  return true;
}

const Argument* Find(std::string_view name) {
  if (name.size() > kLongestName) return nullptr;
  for (size_t i = kFirstOfLength[name.size()]; i < kFirstOfLength[name.size() + 1]; ++i) {
    if (IsSpelled(name, kArguments[i].name)) return &kArguments[i];
  }
  return nullptr;
}

std::string_view Scalar(const JsonValue& value) {
  return value.is_scalar() ? value.text : std::string_view();
}

}  // namespace

std::string_view TraceEventReader::Text(const JsonValue& value) {
  if (!value.escaped) return Scalar(value);
  texts_.push_back(Unescaped(value.text));
  return texts_.back();
}

void TraceEventReader::ReadArguments(JsonCursor* cursor, TraceEvent* event) {
  JsonValue key;
  cursor->EnterObject();
  while (cursor->ReadKey(&key)) {
    const Argument* argument = Find(Text(key));
    const JsonValue value = cursor->ReadValue();
    if (argument == nullptr || !cursor->ok()) continue;
    switch (argument->form) {
      case Form::kScalar:
        event->*argument->member = Scalar(value);
        break;
      case Form::kText:
        event->*argument->member = Text(value);
        break;
      case Form::kList:
        if (value.kind == JsonKind::kList) event->*argument->member = value.text;
        break;
      case Form::kObject:
        if (value.kind == JsonKind::kObject) event->*argument->member = value.text;
        break;
    }
  }
}

bool TraceEventReader::Read(std::string_view json, TraceEvent* event) {
  *event = {};
  if (!texts_.empty()) texts_.clear();
  JsonCursor cursor(json.data(), json.data() + json.size());
  JsonValue field;
  cursor.EnterObject();
  while (cursor.ReadKey(&field)) {
    const std::string_view key = Text(field);
    if (key == "args" && cursor.Peek() == '{') {
      ReadArguments(&cursor, event);
      continue;
    }
    const JsonValue value = cursor.ReadValue();
    if (key == "ph") {
      event->phase = value.text.size() == 1 ? value.text[0] : '\0';
    } else if (key == "cat") {
      event->category = Text(value);
    } else if (key == "name") {
      event->name = Text(value);
    } else if (key == "pid") {
      event->process = Text(value);
    } else if (key == "tid") {
      event->thread = Text(value);
    } else if (key == "ts") {
      event->start = Scalar(value);
    } else if (key == "dur") {
      event->duration = Scalar(value);
    }
  }
  const char* const passed = cursor.ok() ? cursor.at() : cursor.last_string();
  passed_ = static_cast<size_t>(passed - json.data());
  ended_ = cursor.ended();
  return cursor.ok();
}

}  // namespace tp

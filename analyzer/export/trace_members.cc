#include "analyzer/export/trace_members.h"

#include <simdjson.h>

#include "analyzer/import/json_repair.h"

namespace tp {
namespace {

namespace ondemand = simdjson::ondemand;

std::string_view WithoutBlanks(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// The value as it is written, and past it.
bool RawValue(ondemand::value value, std::string_view* raw) {
  ondemand::json_type type;
  if (value.type().get(type) == simdjson::SUCCESS) {
    if (type == ondemand::json_type::array) {
      ondemand::array array;
      return value.get_array().get(array) == simdjson::SUCCESS &&
             array.raw_json().get(*raw) == simdjson::SUCCESS;
    }
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      return value.get_object().get(object) == simdjson::SUCCESS &&
             object.raw_json().get(*raw) == simdjson::SUCCESS;
    }
  }
  *raw = WithoutBlanks(value.raw_json_token());
  return true;
}

bool IsObject(ondemand::value value) {
  ondemand::json_type type;
  return value.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::object;
}

}  // namespace

struct TraceMemberReader::State {
  ondemand::parser parser;
  simdjson::padded_string repaired;

  bool Read(const char* json, size_t size, size_t readable, TraceMembers* members);
};

bool TraceMemberReader::State::Read(const char* json, size_t size, size_t readable,
                                    TraceMembers* members) {
  members->members.clear();
  members->arguments.clear();
  members->arguments_at = TraceMembers::kNone;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(json, size, readable).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return false;
  }
  for (auto field : object) {
    std::string_view key, raw;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS) {
      return false;
    }
    if (key == "args" && members->arguments_at == TraceMembers::kNone && IsObject(value)) {
      members->arguments_at = members->members.size();
      members->members.push_back({"args", {}});
      ondemand::object arguments;
      if (value.get_object().get(arguments) != simdjson::SUCCESS) return false;
      for (auto argument : arguments) {
        ondemand::value inner;
        if (argument.unescaped_key().get(key) != simdjson::SUCCESS ||
            argument.value().get(inner) != simdjson::SUCCESS) {
          return false;
        }
        std::string name(key);
        if (!RawValue(inner, &raw)) return false;
        members->arguments.push_back({std::move(name), raw});
      }
      continue;
    }
    std::string name(key);
    if (!RawValue(value, &raw)) return false;
    members->members.push_back({std::move(name), raw});
  }
  return true;
}

std::string_view TraceMembers::Value(std::string_view key) const {
  for (const TraceMember& member : members) {
    if (member.key == key) return member.value;
  }
  return {};
}

TraceMemberReader::TraceMemberReader() : state_(std::make_unique<State>()) {}
TraceMemberReader::~TraceMemberReader() = default;

bool TraceMemberReader::Read(std::string_view json, size_t readable_bytes, TraceMembers* members) {
  if (state_->Read(json.data(), json.size(), readable_bytes, members)) return true;
  if (json.empty() || json.front() != '{') return false;
  state_->repaired = simdjson::padded_string(RepairedJson(json));
  const simdjson::padded_string& text = state_->repaired;
  return state_->Read(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING, members);
}

}  // namespace tp

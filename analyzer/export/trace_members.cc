#include "analyzer/export/trace_members.h"

#include "analyzer/import/json_cursor.h"
#include "analyzer/import/json_repair.h"

namespace tp {
namespace {

std::string Key(const JsonValue& key) {
  return key.escaped ? Unescaped(key.text) : std::string(key.text);
}

// The next member as it is written. False at the object's end, and after a failure.
bool ReadMember(JsonCursor* cursor, TraceMember* member) {
  JsonValue value;
  if (!cursor->ReadKey(&value)) return false;
  member->key = Key(value);
  value = cursor->ReadValue();
  member->value = value.text;
  // With its quotes.
  if (value.kind == JsonKind::kString) {
    member->value = {value.text.data() - 1, value.text.size() + 2};
  }
  return cursor->ok();
}

bool ReadMembers(std::string_view json, TraceMembers* members) {
  members->members.clear();
  members->arguments.clear();
  members->arguments_at = TraceMembers::kNone;
  JsonCursor cursor(json.data(), json.data() + json.size());
  TraceMember member;
  cursor.EnterObject();
  while (ReadMember(&cursor, &member)) {
    const bool is_arguments = member.key == "args" && member.value.front() == '{' &&
                              members->arguments_at == TraceMembers::kNone;
    if (is_arguments) {
      members->arguments_at = members->members.size();
      JsonCursor inner(member.value.data(), member.value.data() + member.value.size());
      TraceMember argument;
      inner.EnterObject();
      while (ReadMember(&inner, &argument)) members->arguments.push_back(std::move(argument));
      if (!inner.ok()) return false;
    }
    members->members.push_back(std::move(member));
  }
  return cursor.ok();
}

}  // namespace

std::string_view TraceMembers::Value(std::string_view key) const {
  for (const TraceMember& member : members) {
    if (member.key == key) return member.value;
  }
  return {};
}

bool TraceMemberReader::Read(std::string_view json, TraceMembers* members) {
  if (ReadMembers(json, members)) return true;
  if (!json.starts_with('{')) return false;
  repaired_ = RepairedJson(json);
  const size_t size = repaired_.size();
  repaired_.append(kJsonPadding, ' ');
  return ReadMembers(std::string_view(repaired_).substr(0, size), members);
}

}  // namespace tp

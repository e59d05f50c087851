// The members of one event of a trace, each with its value as it is written.
#ifndef ANALYZER_EXPORT_TRACE_MEMBERS_H_
#define ANALYZER_EXPORT_TRACE_MEMBERS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

struct TraceMember {
  std::string key;
  std::string_view value;  // As it is written; without blanks around it.

  bool is_text() const { return value.size() >= 2 && value.front() == '"'; }
  // Of a text, what is between its quotes; else all of it.
  std::string_view bare() const { return is_text() ? value.substr(1, value.size() - 2) : value; }
};

struct TraceMembers {
  std::vector<TraceMember> members;
  // Those of the member "args", if it is an object: members[arguments_at].
  static constexpr size_t kNone = ~size_t{0};
  size_t arguments_at = kNone;
  std::vector<TraceMember> arguments;

  // As it is written; empty if there is none.
  std::string_view Value(std::string_view key) const;
};

class TraceMemberReader {
 public:
  // Reads the object `json`, behind which kJsonPadding bytes may be read (json_cursor.h). False if
  // it is none. Values stay good until the next call, and as long as `json`; whether those that are
  // no lists or objects are valid JSON nobody has looked. Bytes that may not stand between values
  // are taken for blanks.
  bool Read(std::string_view json, TraceMembers* members);

 private:
  std::string repaired_;
};

}  // namespace tp

#endif  // ANALYZER_EXPORT_TRACE_MEMBERS_H_

// Texts by number: each distinct text is stored once and has one id, from 1 on; id 0 is the empty
// text.
#ifndef ANALYZER_MODEL_STRING_TABLE_H_
#define ANALYZER_MODEL_STRING_TABLE_H_

#include <string_view>

#include "analyzer/model/recording.h"

namespace tp {

// Any bytes are kept as they are. Views stay valid for the life of the table. Not thread-safe.
class StringTable {
 public:
  StringTable();
  ~StringTable();
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;

  StringId Intern(std::string_view text);
  std::string_view Text(StringId id) const;  // Of an id that the table does not have: "".
  size_t size() const;
  size_t memory_bytes() const;

 private:
  struct State;
  State* state_;
};

}  // namespace tp

#endif  // ANALYZER_MODEL_STRING_TABLE_H_

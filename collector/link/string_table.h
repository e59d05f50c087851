// The process's texts by number, as the wire sends them: each distinct text once, ids from 1 on in
// order of first use.
#ifndef COLLECTOR_LINK_STRING_TABLE_H_
#define COLLECTOR_LINK_STRING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "collector/events.h"

namespace tp::collect {

// Bounded: when `limit_bytes` of text are held, further new texts all become "(other)". Not
// thread-safe: the collector thread's own.
class StringTable {
 public:
  explicit StringTable(size_t limit_bytes = 8 << 20);

  // Texts are any bytes. The empty text is 0.
  StringId Intern(std::string_view text);

  // Of an id that Intern returned.
  std::string_view Text(StringId id) const;

  // The highest id so far.
  StringId last_id() const { return static_cast<StringId>(entries_.size()); }
  // How often a text fell under "(other)".
  uint64_t overflowed() const { return overflowed_; }
  size_t memory_bytes() const;

 private:
  struct Entry {
    size_t offset;
    uint32_t length;
    uint32_t hash;
  };

  StringId Find(std::string_view text, uint32_t hash, size_t* slot) const;
  StringId Add(std::string_view text, uint32_t hash, size_t slot);
  void Grow();

  size_t limit_bytes_;
  std::vector<char> texts_;
  std::vector<Entry> entries_;   // Entry of id i is entries_[i - 1].
  std::vector<StringId> slots_;  // Open addressing; 0: free. The size is a power of two.
  StringId other_ = 0;
  uint64_t overflowed_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_STRING_TABLE_H_

// The process's texts by number, as the wire sends them: each distinct text once, ids from 1 on in
// order of first use.
#ifndef COLLECTOR_LINK_STRING_TABLE_H_
#define COLLECTOR_LINK_STRING_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "collector/events.h"

namespace tp::collect {

// Bounded: when the next text would make it hold more than `limit_bytes`, all new ones become
// "(other)". Texts stay where they are. Not thread-safe: the collector thread's own.
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
    const char* text;
    uint32_t length;
    uint32_t hash;
  };
  static constexpr size_t kBlockBytes = 64 << 10;

  StringId Find(std::string_view text, uint32_t hash, size_t* slot) const;
  bool HasRoom(size_t text_bytes) const;
  StringId Add(std::string_view text, uint32_t hash, size_t slot);
  void Grow();

  size_t limit_bytes_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_bytes_ = 0;  // Of all blocks.
  char* free_ = nullptr;    // In the last block.
  size_t free_bytes_ = 0;
  std::deque<Entry> entries_;    // Entry of id i is entries_[i - 1].
  std::vector<StringId> slots_;  // Open addressing; 0: free. The size is a power of two.
  StringId other_ = 0;
  uint64_t overflowed_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_STRING_TABLE_H_

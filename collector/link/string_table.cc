#include "collector/link/string_table.h"

#include <algorithm>
#include <cstring>

namespace tp::collect {
namespace {

// FNV-1a in words of eight bytes: names are short, and a weak hash costs a probe, no more.
uint32_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u ^ text.size();
  const char* p = text.data();
  size_t left = text.size();
  for (; left >= 8; p += 8, left -= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  uint64_t word = 0;
  memcpy(&word, p, left);
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

StringTable::StringTable(size_t limit_bytes) : limit_bytes_(limit_bytes), slots_(1024) {}

StringId StringTable::Intern(std::string_view text) {
  if (text.empty()) return 0;
  uint32_t hash = Hash(text);
  size_t slot;
  if (StringId id = Find(text, hash, &slot); id != 0) return id;
  if (!HasRoom(text.size())) {
    ++overflowed_;
    if (other_ == 0) {
      constexpr std::string_view kOther = "(other)";
      uint32_t other_hash = Hash(kOther);
      other_ = Find(kOther, other_hash, &slot);
      if (other_ == 0) other_ = Add(kOther, other_hash, slot);
    }
    return other_;
  }
  return Add(text, hash, slot);
}

std::string_view StringTable::Text(StringId id) const {
  if (id == 0 || id > entries_.size()) return {};
  const Entry& entry = entries_[id - 1];
  return {entry.text, entry.length};
}

size_t StringTable::memory_bytes() const {
  return block_bytes_ + entries_.size() * sizeof(Entry) + slots_.size() * sizeof(StringId);
}

// What adding one text may take at most, while the table of slots grows.
bool StringTable::HasRoom(size_t text_bytes) const {
  size_t block = text_bytes <= free_bytes_ ? 0 : std::max(text_bytes, kBlockBytes);
  size_t slots = (entries_.size() + 1) * 2 > slots_.size() ? slots_.size() * 2 : 0;
  return memory_bytes() + sizeof(Entry) + block + slots * sizeof(StringId) <= limit_bytes_;
}

StringId StringTable::Find(std::string_view text, uint32_t hash, size_t* slot) const {
  size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    StringId id = slots_[i];
    if (id == 0) {
      *slot = i;
      return 0;
    }
    const Entry& entry = entries_[id - 1];
    if (entry.hash == hash && entry.length == text.size() &&
        memcmp(entry.text, text.data(), text.size()) == 0) {
      return id;
    }
  }
}

StringId StringTable::Add(std::string_view text, uint32_t hash, size_t slot) {
  if (text.size() > free_bytes_) {
    free_bytes_ = std::max(text.size(), kBlockBytes);
    free_ = blocks_.emplace_back(new char[free_bytes_]).get();
    block_bytes_ += free_bytes_;
  }
  memcpy(free_, text.data(), text.size());
  entries_.push_back({free_, static_cast<uint32_t>(text.size()), hash});
  free_ += text.size();
  free_bytes_ -= text.size();
  slots_[slot] = last_id();
  if (entries_.size() * 2 > slots_.size()) Grow();
  return last_id();
}

void StringTable::Grow() {
  std::vector<StringId> slots(slots_.size() * 2);
  size_t mask = slots.size() - 1;
  for (StringId id = 1; id <= last_id(); ++id) {
    size_t i = entries_[id - 1].hash & mask;
    while (slots[i] != 0) i = (i + 1) & mask;
    slots[i] = id;
  }
  slots_.swap(slots);
}

}  // namespace tp::collect

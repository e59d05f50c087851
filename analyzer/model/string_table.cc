#include "analyzer/model/string_table.h"

#include <cstring>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tp {
namespace {

constexpr size_t kBlockBytes = 64 << 10;

}  // namespace

struct StringTable::State {
  std::vector<std::string_view> texts = {std::string_view()};
  absl::flat_hash_map<std::string_view, StringId> ids;
  std::vector<std::unique_ptr<char[]>> blocks;
  char* free = nullptr;
  size_t free_bytes = 0;
  size_t block_bytes = 0;

  std::string_view Store(std::string_view text) {
    if (text.size() > free_bytes) {
      size_t bytes = std::max(text.size(), kBlockBytes);
      blocks.push_back(std::make_unique<char[]>(bytes));
      free = blocks.back().get();
      free_bytes = bytes;
      block_bytes += bytes;
    }
    char* place = free;
    std::memcpy(place, text.data(), text.size());
    free += text.size();
    free_bytes -= text.size();
    return {place, text.size()};
  }
};

StringTable::StringTable() : state_(new State) {}
StringTable::~StringTable() { delete state_; }

StringId StringTable::Intern(std::string_view text) {
  if (text.empty()) return 0;
  if (auto known = state_->ids.find(text); known != state_->ids.end()) return known->second;
  StringId id = static_cast<StringId>(state_->texts.size());
  std::string_view stored = state_->Store(text);
  state_->texts.push_back(stored);
  state_->ids.emplace(stored, id);
  return id;
}

std::string_view StringTable::Text(StringId id) const {
  return id < state_->texts.size() ? state_->texts[id] : std::string_view();
}

size_t StringTable::size() const { return state_->texts.size() - 1; }

size_t StringTable::memory_bytes() const {
  return state_->block_bytes + state_->texts.capacity() * sizeof(std::string_view) +
         state_->ids.capacity() * (sizeof(std::pair<std::string_view, StringId>) + 1);
}

}  // namespace tp

// The names that stacks have on the wire (proto/wire.proto, OperationColumns.stack_id): each
// different stack and each module once, in the table of all names.
#ifndef COLLECTOR_OPERATION_STACK_NAMES_H_
#define COLLECTOR_OPERATION_STACK_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/link/string_table.h"
#include "collector/stack/stack_walker.h"

namespace tp::collect {

// Not thread-safe: the collector thread's own.
class StackNames {
 public:
  // `strings` outlives it. When the stacks take more than `limit_bytes`, here and in the table, new
  // ones have no name: other names shall have room.
  StackNames(StringTable* strings, size_t limit_bytes)
      : strings_(strings), limit_bytes_(limit_bytes) {}

  // `frames`: StackFrames, as bytes. 0: it has none.
  StringId NameOf(std::string_view frames);

  // How often a stack had no name for want of room.
  uint64_t left_out() const { return left_out_; }
  size_t memory_bytes() const { return bytes_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>()(bytes); }
  };

  StringId ModuleName(uint32_t number);

  StringTable* strings_;
  size_t limit_bytes_;
  size_t bytes_ = 0;
  uint64_t left_out_ = 0;
  std::unordered_map<std::string, StringId, Hash, std::equal_to<>> names_;
  std::vector<StringId> modules_;  // By their numbers; 0: not named yet.
};

}  // namespace tp::collect

#endif  // COLLECTOR_OPERATION_STACK_NAMES_H_

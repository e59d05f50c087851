#include "collector/operation/stack_names.h"

#include <charconv>
#include <cstring>

#include "collector/stack/loaded_modules.h"

namespace tp::collect {
namespace {

// Of an entry of the map beside its bytes.
constexpr size_t kEntryBytes = 96;

void Append(uint64_t number, int base, std::string* text) {
  char digits[20];
  text->append(digits, std::to_chars(digits, digits + sizeof(digits), number, base).ptr);
}

}  // namespace

StringId StackNames::NameOf(std::string_view frames) {
  if (const auto found = names_.find(frames); found != names_.end()) return found->second;
  std::string name;
  for (size_t at = 0; frames.size() - at >= sizeof(StackFrame); at += sizeof(StackFrame)) {
    StackFrame frame;
    memcpy(&frame, frames.data() + at, sizeof(frame));
    if (at > 0) name += '\n';
    Append(ModuleName(frame.module), 10, &name);
    name += '+';
    Append(frame.address, 16, &name);
  }
  const size_t bytes = kEntryBytes + frames.size() + name.size();
  if (bytes_ + bytes > limit_bytes_) {
    ++left_out_;
    return 0;
  }
  bytes_ += bytes;
  const StringId id = strings_->Intern(name);
  names_.emplace(frames, id);
  return id;
}

StringId StackNames::ModuleName(uint32_t number) {
  if (number >= kMostModules) return 0;
  if (modules_.empty()) modules_.resize(kMostModules);
  if (modules_[number] == 0) modules_[number] = strings_->Intern(DescribeModule(ModuleOf(number)));
  return modules_[number];
}

}  // namespace tp::collect

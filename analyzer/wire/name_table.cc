#include "analyzer/wire/name_table.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/model/copy_kind.h"
#include "analyzer/model/frames.h"

namespace tp {
namespace {

// Graphs that are made again and again have numbers without end.
constexpr size_t kMostGraphNames = 1 << 16;

// The functions by which a program says what it does are no place in it, and neither are those of
// our libraries that say it for the program. `module` as the collector names it.
bool IsOfAnnotation(std::string_view function, std::string_view module) {
  const std::string_view path = module.substr(0, module.rfind('\n'));
  return function.starts_with("nvtx") || function.starts_with("tpcollect_") ||
         path.substr(path.rfind('/') + 1).starts_with("libtpcollect");
}

}  // namespace

NameTable::NameTable(StringTable* strings, const NameLimits& limits)
    : strings_(strings), limits_(limits), names_{0}, other_(strings->Intern("(other)")) {}

absl::Status NameTable::Add(const wire::Strings& strings) {
  if (strings.text().empty()) return absl::OkStatus();
  const uint64_t first = strings.first_id();
  if (first == 0 || first > announced_) {
    return absl::InvalidArgumentError(
        absl::StrCat("names begin at id ", first, ", expected 1 to ", announced_));
  }
  if (first + strings.text_size() > uint64_t{1} << 32) {
    return absl::InvalidArgumentError("names have ids beyond 32 bits");
  }
  uint64_t id = first;
  for (const std::string& text : strings.text()) {
    if (id < announced_) {
      const StringId known = Name(static_cast<uint32_t>(id));
      if (known != other_ && strings_->Text(known) != text) {
        return absl::InvalidArgumentError(
            absl::StrCat("the name with id ", id, " is not what it was"));
      }
    } else {
      ++announced_;
      const bool fits = names_.size() < limits_.names && limits_.bytes - text_bytes_ >= text.size();
      if (fits) text_bytes_ += text.size();
      if (!fits) ++left_out_;
      if (names_.size() < limits_.names) {
        names_.push_back(fits ? strings_->Intern(text) : other_);
      }
    }
    ++id;
  }
  return absl::OkStatus();
}

StringId NameTable::StackOf(uint32_t id) {
  if (const auto found = stacks_.find(id); found != stacks_.end()) return found->second;
  std::vector<std::string> frames;
  for (const std::string& line : SplitFrames(strings_->Text(Name(id)))) {
    const size_t plus = line.find('+');
    uint32_t module = 0;
    uint64_t address = 0;
    if (plus == line.npos || !absl::SimpleAtoi(line.substr(0, plus), &module) ||
        !absl::SimpleHexAtoi(line.substr(plus + 1), &address) || module >= announced_) {
      break;
    }
    const std::string_view module_name = strings_->Text(Name(module));
    std::string frame = frame_namer_ != nullptr ? frame_namer_(module_name, address) : line;
    if (frames.empty() && IsOfAnnotation(frame, module_name)) continue;
    frames.push_back(std::move(frame));
  }
  SetStack(id, JoinFrames(frames));
  return stacks_[id];
}

void NameTable::SetStack(uint32_t id, std::string_view text) {
  const auto [place, is_new] = stacks_.try_emplace(id, other_);
  if (!is_new) return;
  known_stacks_.push_back(id);
  const bool fits = limits_.bytes - text_bytes_ >= text.size();
  if (fits) text_bytes_ += text.size();
  if (!fits) ++left_out_;
  if (fits) place->second = strings_->Intern(text);
}

StringId NameTable::CopyName(uint32_t copy_kind, uint32_t source_memory,
                             uint32_t destination_memory) {
  // Kinds that nobody knows share the word, and so one entry.
  if (copy_kind >= kCopyKinds) copy_kind = 0;
  if (source_memory >= kMemoryKinds) source_memory = 0;
  if (destination_memory >= kMemoryKinds) destination_memory = 0;
  const auto [place, inserted] =
      work_names_.try_emplace({copy_kind, source_memory, destination_memory}, 0);
  if (inserted) {
    place->second = strings_->Intern(tp::CopyName(copy_kind, source_memory, destination_memory));
  }
  return place->second;
}

StringId NameTable::FillName(uint32_t memory) {
  if (memory >= kMemoryKinds) memory = 0;
  constexpr uint32_t kFill = UINT32_MAX;
  const auto [place, inserted] = work_names_.try_emplace({kFill, memory, 0}, 0);
  if (inserted) {
    place->second = strings_->Intern(tp::FillName(memory));
  }
  return place->second;
}

StringId NameTable::GraphName(uint32_t graph_id) {
  if (graph_names_.size() >= kMostGraphNames) graph_names_.clear();
  const auto [place, inserted] = graph_names_.try_emplace(graph_id, 0);
  if (inserted) {
    const std::string name = absl::StrCat("CUDA graph ", graph_id);
    const bool fits = limits_.bytes - text_bytes_ >= name.size();
    if (fits) text_bytes_ += name.size();
    if (!fits) ++left_out_;
    place->second = fits ? strings_->Intern(name) : other_;
  }
  return place->second;
}

StringId NameTable::SynchronizationName(uint32_t type) {
  static constexpr std::array<const char*, 5> kNames = {
      "unknown synchronization", "event synchronize", "stream wait event", "stream synchronize",
      "context synchronize"};
  if (type >= kNames.size()) type = 0;
  constexpr uint32_t kSynchronization = UINT32_MAX - 1;
  const auto [place, inserted] = work_names_.try_emplace({kSynchronization, type, 0}, 0);
  if (inserted) place->second = strings_->Intern(kNames[type]);
  return place->second;
}

}  // namespace tp

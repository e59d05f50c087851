#include "analyzer/model/copy_kind.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr std::array<std::string_view, kCopyKinds> kDirections = {
    "unknown", "HtoD", "DtoH", "HtoA", "AtoH",         "AtoA",         "AtoD",
    "DtoA",    "DtoD", "HtoH", "PtoP", "unified HtoD", "unified DtoH", "unified DtoD"};
constexpr std::array<std::string_view, kMemoryKinds> kMemories = {
    "unknown", "pageable", "pinned",        "device",
    "array",   "managed",  "device static", "managed static"};

// "Device Static": as records' names have it.
std::string Title(std::string_view words) {
  std::string title(words);
  for (size_t i = 0; i < title.size(); ++i) {
    if (i == 0 || title[i - 1] == ' ') title[i] = absl::ascii_toupper(title[i]);
  }
  return title;
}

std::string MemoryTitle(uint32_t memory) {
  return Title(kMemories[memory < kMemoryKinds ? memory : 0]);
}

}  // namespace

std::string_view CopyDirection(uint32_t copy_kind) {
  return kDirections[copy_kind < kCopyKinds ? copy_kind : 0];
}

std::string_view MemoryKind(uint32_t memory_kind) {
  return memory_kind == 0 || memory_kind >= kMemoryKinds ? "" : kMemories[memory_kind];
}

std::string CopyName(uint32_t copy_kind, uint32_t source_memory, uint32_t destination_memory) {
  return absl::StrCat("Memcpy ", Title(CopyDirection(copy_kind)), " (", MemoryTitle(source_memory),
                      " -> ", MemoryTitle(destination_memory), ")");
}

std::string FillName(uint32_t memory) { return absl::StrCat("Memset (", MemoryTitle(memory), ")"); }

}  // namespace tp

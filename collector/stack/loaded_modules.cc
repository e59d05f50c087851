#include "collector/stack/loaded_modules.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tp::collect {
namespace {

enum SlotState : uint32_t { kFree, kBeingFilled, kReady };

struct Slot {
  std::atomic<uint32_t> state{kFree};
  LoadedModule module;
};

// Memory that is not touched is none.
Slot g_slots[kMostModules];

// The build id, by the program headers that are in memory with the file's first page.
void FindBuildId(const dl_find_object& object, LoadedModule* module) {
  const auto begin = reinterpret_cast<uintptr_t>(object.dlfo_map_start);
  const auto end = reinterpret_cast<uintptr_t>(object.dlfo_map_end);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(begin);
  constexpr uintptr_t kPageBytes = 4096;
  if (end - begin < kPageBytes || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const uintptr_t headers_end = header->e_phoff + size_t{header->e_phnum} * sizeof(ElfW(Phdr));
  if (header->e_phentsize != sizeof(ElfW(Phdr)) || headers_end > kPageBytes) return;
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(begin + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    uintptr_t at = module->load_bias + segments[i].p_vaddr;
    if (at < begin || at > end || segments[i].p_memsz > end - at) continue;
    const uintptr_t notes_end = at + segments[i].p_memsz;
    while (notes_end - at >= sizeof(ElfW(Nhdr))) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const uint64_t name_bytes = (uint64_t{note->n_namesz} + 3) & ~uint64_t{3};
      const uint64_t id_bytes = (uint64_t{note->n_descsz} + 3) & ~uint64_t{3};
      if (sizeof(*note) + name_bytes + id_bytes > notes_end - at) break;
      const auto* name = reinterpret_cast<const char*>(note + 1);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
        module->id_in_memory = reinterpret_cast<const uint8_t*>(name + name_bytes);
        module->id_bytes = std::min<uint32_t>(note->n_descsz, LoadedModule::kMostIdBytes);
        memcpy(module->id, module->id_in_memory, module->id_bytes);
        return;
      }
      at += sizeof(*note) + name_bytes + id_bytes;
    }
  }
}

void Fill(const dl_find_object& object, LoadedModule* module) {
  const auto* map = static_cast<const link_map*>(object.dlfo_link_map);
  module->link_map = map;
  module->begin = reinterpret_cast<uintptr_t>(object.dlfo_map_start);
  module->frame_header = reinterpret_cast<uintptr_t>(object.dlfo_eh_frame);
  module->load_bias = map->l_addr;
  module->id_in_memory = nullptr;
  module->id_bytes = 0;
  FindBuildId(object, module);
  // A longer path is not told: its begin would be another file's.
  const size_t length = strlen(map->l_name);
  if (length < LoadedModule::kLongestPath) {
    memcpy(module->path, map->l_name, length + 1);
  } else {
    strcpy(module->path, "?");
  }
}

bool Is(const LoadedModule& module, const dl_find_object& object) {
  return module.link_map == object.dlfo_link_map &&
         module.begin == reinterpret_cast<uintptr_t>(object.dlfo_map_start) &&
         module.frame_header == reinterpret_cast<uintptr_t>(object.dlfo_eh_frame) &&
         (module.id_in_memory == nullptr ||
          memcmp(module.id_in_memory, module.id, module.id_bytes) == 0);
}

std::string Hexadecimal(const uint8_t* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

uint32_t NumberOfModule(const dl_find_object& object) {
  const auto place = reinterpret_cast<uintptr_t>(object.dlfo_map_start) >> 12;
  const auto first = static_cast<uint32_t>(place * 0x9e3779b97f4a7c15 >> 32) % kMostModules;
  for (uint32_t i = 0; i < kMostModules; ++i) {
    const uint32_t number = (first + i) % kMostModules;
    Slot& slot = g_slots[number];
    uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == kReady && Is(slot.module, object)) return number;
    if (state != kFree)
      continue;  // Another's, or one that another thread fills: it may be there twice.
    if (!slot.state.compare_exchange_strong(state, kBeingFilled, std::memory_order_acq_rel)) {
      continue;
    }
    Fill(object, &slot.module);
    slot.state.store(kReady, std::memory_order_release);
    return number;
  }
  return kMostModules;
}

const LoadedModule& ModuleOf(uint32_t number) { return g_slots[number].module; }

std::string DescribeModule(const LoadedModule& module) {
  std::string path = module.path;
  if (path.empty()) {
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own));
    path = length > 0 ? std::string(own, static_cast<size_t>(length)) : "?";
  } else if (path[0] != '/') {
    char absolute[PATH_MAX];
    if (realpath(path.c_str(), absolute) != nullptr) path = absolute;
  }
  std::string described = path + "\n";
  struct stat file;
  if (module.id_bytes > 0) {
    described += "b" + Hexadecimal(module.id, module.id_bytes);
  } else if (stat(path.c_str(), &file) == 0) {
    described +=
        "t" + std::to_string(file.st_mtim.tv_sec * int64_t{1'000'000'000} + file.st_mtim.tv_nsec) +
        "." + std::to_string(file.st_size);
  }
  return described;
}

}  // namespace tp::collect

#include "tools/inject/remote_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace tp {
namespace {

constexpr size_t kMostSegments = 256, kMostEntries = 1024;
constexpr uint32_t kMostBuckets = 1 << 20, kMostSymbols = 1 << 20;
constexpr size_t kMostNames = size_t{64} << 20;

struct Tables {
  uint64_t symbols = 0, names = 0, name_bytes = 0, hash = 0, old_hash = 0;
};

// How many symbols there are: only the tables of hashes know it.
uint32_t CountSymbols(const RemoteMemory& memory, const Tables& tables) {
  if (tables.old_hash != 0) {
    uint32_t head[2];
    return memory.Read(tables.old_hash, &head) ? std::min(head[1], kMostSymbols) : 0;
  }
  uint32_t head[4];  // Buckets, first symbol, words of the filter, its shift.
  if (tables.hash == 0 || !memory.Read(tables.hash, &head) || head[0] > kMostBuckets) return 0;
  std::vector<uint32_t> buckets(head[0]);
  const uint64_t place = tables.hash + sizeof(head) + uint64_t{head[2]} * 8;
  if (!memory.Read(place, buckets.data(), buckets.size() * 4) || buckets.empty()) return 0;
  uint32_t last = *std::max_element(buckets.begin(), buckets.end());
  if (last < head[1]) return 0;
  for (; last < kMostSymbols; ++last) {
    uint32_t hash;
    if (!memory.Read(place + buckets.size() * 4 + uint64_t{last - head[1]} * 4, &hash)) return 0;
    if ((hash & 1) != 0) break;  // The end of the last chain.
  }
  return last + 1;
}

}  // namespace

std::map<std::string, uint64_t> FunctionsAt(const RemoteMemory& memory, uint64_t base) {
  Elf64_Ehdr elf;
  if (!memory.Read(base, &elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
      elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > kMostSegments) {
    return {};
  }
  std::vector<Elf64_Phdr> segments(elf.e_phnum);
  if (!memory.Read(base + elf.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) {
    return {};
  }
  Tables tables;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    std::vector<Elf64_Dyn> entries(
        std::min<size_t>(segment.p_memsz / sizeof(Elf64_Dyn), kMostEntries));
    if (!memory.Read(base + segment.p_vaddr, entries.data(), entries.size() * sizeof(Elf64_Dyn))) {
      return {};
    }
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      // The loader makes addresses of them, where it may write.
      const uint64_t place = entry.d_un.d_ptr < base ? base + entry.d_un.d_ptr : entry.d_un.d_ptr;
      if (entry.d_tag == DT_SYMTAB) tables.symbols = place;
      if (entry.d_tag == DT_STRTAB) tables.names = place;
      if (entry.d_tag == DT_STRSZ) tables.name_bytes = entry.d_un.d_val;
      if (entry.d_tag == DT_GNU_HASH) tables.hash = place;
      if (entry.d_tag == DT_HASH) tables.old_hash = place;
    }
  }
  if (tables.symbols == 0 || tables.names == 0 || tables.name_bytes > kMostNames) return {};
  std::vector<Elf64_Sym> symbols(CountSymbols(memory, tables));
  std::string names(tables.name_bytes, '\0');
  if (!memory.Read(tables.symbols, symbols.data(), symbols.size() * sizeof(Elf64_Sym)) ||
      !memory.Read(tables.names, names.data(), names.size())) {
    return {};
  }
  std::map<std::string, uint64_t> functions;
  for (const Elf64_Sym& symbol : symbols) {
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
        symbol.st_name >= names.size()) {
      continue;
    }
    functions.emplace(names.c_str() + symbol.st_name, base + symbol.st_value);
  }
  return functions;
}

}  // namespace tp

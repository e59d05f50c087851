#include "tests/simcuda/core/image.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace simcuda {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kFatbinMagic = 0xba55ed50;
constexpr uint16_t kFatbinCubin = 2, kFatbinPtx = 1;
constexpr unsigned char kEntryFunction = 0x10;  // In st_other: a kernel, not a device function.

struct Wrapper {
  uint32_t magic, version;
  const void* data;
  const void* const* prelinked;  // Version 2: more fat binaries, ended by a null.
};

struct FatbinHeader {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // Behind the header.
};

struct FatbinEntry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t payload_bytes;
};

template <typename T>
T Load(const unsigned char* from) {
  T value;
  memcpy(&value, from, sizeof(value));
  return value;
}

bool IsElf(const unsigned char* data) { return memcmp(data, ELFMAG, SELFMAG) == 0; }

size_t ElfBytes(const unsigned char* data) {
  auto header = Load<Elf64_Ehdr>(data);
  size_t bytes = std::max<size_t>(header.e_shoff + size_t{header.e_shnum} * header.e_shentsize,
                                  header.e_phoff + size_t{header.e_phnum} * header.e_phentsize);
  for (int i = 0; i < header.e_shnum; ++i) {
    auto section = Load<Elf64_Shdr>(data + header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) {
      bytes = std::max<size_t>(bytes, section.sh_offset + section.sh_size);
    }
  }
  return bytes;
}

// Walks the attributes of an .nv.info section: visit(attribute, value, bytes).
template <typename Visit>
void ForEachAttribute(const unsigned char* data, size_t bytes, Visit visit) {
  constexpr unsigned char kHasSize = 4;  // The format whose second word is a byte count.
  for (size_t at = 0; at + 4 <= bytes;) {
    unsigned char format = data[at], attribute = data[at + 1];
    uint16_t value = Load<uint16_t>(data + at + 2);
    if (format == kHasSize) {
      if (at + 4 + value > bytes) return;
      visit(attribute, data + at + 4, size_t{value});
      at += 4 + size_t{value};
    } else {
      at += 4;
    }
  }
}

class CubinReader {
 public:
  explicit CubinReader(const unsigned char* data) : data_(data) {
    header_ = Load<Elf64_Ehdr>(data);
    for (int i = 0; i < header_.e_shnum; ++i) {
      sections_.push_back(Load<Elf64_Shdr>(data + header_.e_shoff + i * sizeof(Elf64_Shdr)));
    }
  }

  void Read(Image* image) {
    if (header_.e_shstrndx >= sections_.size()) return;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_SYMTAB) ReadSymbols(section, image);
    }
    for (const Elf64_Shdr& section : sections_) ReadAttributes(section, image);
  }

 private:
  std::string_view SectionName(const Elf64_Shdr& section) const {
    const Elf64_Shdr& names = sections_[header_.e_shstrndx];
    return reinterpret_cast<const char*>(data_ + names.sh_offset + section.sh_name);
  }

  void ReadSymbols(const Elf64_Shdr& table, Image* image) {
    const char* names = reinterpret_cast<const char*>(data_ + sections_[table.sh_link].sh_offset);
    for (size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      auto symbol = Load<Elf64_Sym>(data_ + table.sh_offset + i * sizeof(Elf64_Sym));
      symbols_.emplace_back(names + symbol.st_name);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size()) continue;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & kEntryFunction) != 0) {
        KernelInfo kernel;
        kernel.name = symbols_.back();
        image->kernels.push_back(std::move(kernel));
      } else if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) {
        ReadVariable(symbol, symbols_.back(), image);
      }
    }
  }

  void ReadVariable(const Elf64_Sym& symbol, const std::string& name, Image* image) {
    const Elf64_Shdr& section = sections_[symbol.st_shndx];
    std::string_view where = SectionName(section);
    if (where.substr(0, 10) != ".nv.global" && where.substr(0, 13) != ".nv.constant3") return;
    VariableInfo variable;
    variable.name = name;
    variable.bytes = symbol.st_size;
    if (section.sh_type != SHT_NOBITS && symbol.st_value + symbol.st_size <= section.sh_size) {
      const unsigned char* from = data_ + section.sh_offset + symbol.st_value;
      variable.initial.assign(from, from + symbol.st_size);
    }
    image->variables.push_back(std::move(variable));
  }

  KernelInfo* Find(std::string_view name, Image* image) {
    for (KernelInfo& kernel : image->kernels) {
      if (kernel.name == name) return &kernel;
    }
    return nullptr;
  }

  void ReadAttributes(const Elf64_Shdr& section, Image* image) {
    constexpr unsigned char kFrameBytes = 0x11, kRegisters = 0x2f, kMaxThreads = 0x05,
                            kParameter = 0x17, kParameterBank = 0x0a;
    constexpr uint32_t kReservedSharedBytes = 1024;  // The system's own, on sm_80 and later.
    std::string_view name = SectionName(section);
    constexpr std::string_view kInfo = ".nv.info", kShared = ".nv.shared.";
    if (name == kInfo) {
      ForEachAttribute(data_ + section.sh_offset, section.sh_size,
                       [&](unsigned char attribute, const unsigned char* value, size_t bytes) {
                         if (bytes < 8) return;
                         uint32_t symbol = Load<uint32_t>(value);
                         if (symbol >= symbols_.size()) return;
                         KernelInfo* kernel = Find(symbols_[symbol], image);
                         if (kernel == nullptr) return;
                         if (attribute == kRegisters) {
                           kernel->registers_per_thread = Load<uint32_t>(value + 4);
                         } else if (attribute == kFrameBytes) {
                           kernel->local_bytes_per_thread = Load<uint32_t>(value + 4);
                         }
                       });
    } else if (name.substr(0, kInfo.size() + 1) == ".nv.info.") {
      KernelInfo* kernel = Find(name.substr(kInfo.size() + 1), image);
      if (kernel == nullptr) return;
      ForEachAttribute(data_ + section.sh_offset, section.sh_size,
                       [&](unsigned char attribute, const unsigned char* value, size_t bytes) {
                         if (attribute == kMaxThreads && bytes >= 12) {
                           kernel->max_threads_per_block = Load<uint32_t>(value) *
                                                           Load<uint32_t>(value + 4) *
                                                           Load<uint32_t>(value + 8);
                         } else if (attribute == kParameterBank && bytes >= 8) {
                           kernel->parameter_bytes = Load<uint16_t>(value + 6);
                         } else if (attribute == kParameter && bytes >= 12) {
                           uint16_t ordinal = Load<uint16_t>(value + 4);
                           if (kernel->parameters.size() <= ordinal) {
                             kernel->parameters.resize(ordinal + 1u);
                           }
                           kernel->parameters[ordinal] = {Load<uint16_t>(value + 6),
                                                          Load<uint32_t>(value + 8) >> 18};
                         }
                       });
    } else if (name.substr(0, kShared.size()) == kShared) {
      KernelInfo* kernel = Find(name.substr(kShared.size()), image);
      if (kernel == nullptr) return;
      uint32_t bytes = static_cast<uint32_t>(section.sh_size);
      kernel->static_shared_bytes =
          bytes >= kReservedSharedBytes ? bytes - kReservedSharedBytes : bytes;
    }
  }

  const unsigned char* data_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::string> symbols_;
};

void ReadCubin(const unsigned char* data, Image* image) {
  Image own;
  CubinReader(data).Read(&own);
  if (own.kernels.empty() && own.variables.empty() && !image->cubin.empty()) return;
  for (KernelInfo& kernel : own.kernels) image->kernels.push_back(std::move(kernel));
  for (VariableInfo& variable : own.variables) image->variables.push_back(std::move(variable));
  image->cubin.assign(data, data + ElfBytes(data));
}

// Finds `.entry NAME` in PTX text. Registers and shared memory are only known after assembly: the
// defaults stand.
bool ReadPtx(std::string_view text, Image* image) {
  if (text.find(".version") == std::string_view::npos) return false;
  constexpr std::string_view kEntry = ".entry";
  for (size_t at = text.find(kEntry); at != std::string_view::npos; at = text.find(kEntry, at)) {
    at += kEntry.size();
    size_t begin = text.find_first_not_of(" \t\r\n", at);
    if (begin == std::string_view::npos || begin == at) continue;
    size_t end = begin;
    while (end < text.size() && (isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                 text[end] == '_' || text[end] == '$')) {
      ++end;
    }
    if (end == begin) continue;
    KernelInfo kernel;
    kernel.name = text.substr(begin, end - begin);
    image->kernels.push_back(std::move(kernel));
    at = end;
  }
  return true;
}

bool ReadFatbin(const unsigned char* data, Image* image) {
  auto header = Load<FatbinHeader>(data);
  if (header.magic != kFatbinMagic) return false;
  const unsigned char* at = data + header.header_bytes;
  const unsigned char* end = at + header.bytes;
  std::string_view ptx;
  while (at + sizeof(FatbinEntry) <= end) {
    auto entry = Load<FatbinEntry>(at);
    const unsigned char* payload = at + entry.header_bytes;
    if (entry.header_bytes == 0 || payload + entry.payload_bytes > end) break;
    if (entry.kind == kFatbinCubin && entry.payload_bytes >= sizeof(Elf64_Ehdr) && IsElf(payload)) {
      ReadCubin(payload, image);
    } else if (entry.kind == kFatbinPtx) {
      ptx = {reinterpret_cast<const char*>(payload), entry.payload_bytes};
    }
    at = payload + entry.payload_bytes;
  }
  if (image->kernels.empty()) ReadPtx(ptx, image);
  return true;
}

}  // namespace

bool ReadImage(const void* data, Image* image) {
  auto* bytes = static_cast<const unsigned char*>(data);
  if (bytes == nullptr) return false;
  // PTX can be shorter than any header: it is recognized by its first byte, before more is read.
  if (bytes[0] == 0xb1 && Load<uint32_t>(bytes) == kWrapperMagic) {
    auto wrapper = Load<Wrapper>(bytes);
    bool known = ReadFatbin(static_cast<const unsigned char*>(wrapper.data), image);
    if (wrapper.version == 2 && wrapper.prelinked != nullptr) {
      for (const void* const* other = wrapper.prelinked; *other != nullptr; ++other) {
        known |= ReadFatbin(static_cast<const unsigned char*>(*other), image);
      }
    }
    return known;
  }
  if (bytes[0] == 0x50 && Load<uint32_t>(bytes) == kFatbinMagic) return ReadFatbin(bytes, image);
  if (bytes[0] == 0x7f && IsElf(bytes)) {
    ReadCubin(bytes, image);
    return true;
  }
  return ReadPtx(reinterpret_cast<const char*>(bytes), image);
}

}  // namespace simcuda

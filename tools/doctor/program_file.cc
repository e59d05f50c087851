#include "tools/doctor/program_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace tp {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kOurs = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kOurs = EM_AARCH64;
#endif

constexpr size_t kMostInterpreterBytes = 4096;

template <typename Header>
bool ReadAt(std::ifstream& file, uint64_t offset, Header* header) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(header), sizeof *header));
}

}  // namespace

std::string WhyNotPreloaded(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr elf;
  if (!ReadAt(file, 0, &elf)) return {};
  if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return "is no ELF program";
  if (elf.e_ident[EI_CLASS] != ELFCLASS64) return "is a 32-bit program";
  if (elf.e_machine != kOurs) return "is a program for another processor";
  std::string interpreter;
  for (unsigned i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!ReadAt(file, elf.e_phoff + uint64_t{i} * elf.e_phentsize, &segment)) return {};
    if (segment.p_type != PT_INTERP) continue;
    interpreter.resize(std::min<size_t>(segment.p_filesz, kMostInterpreterBytes));
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(interpreter.data(), static_cast<std::streamsize>(interpreter.size()))) return {};
  }
  if (interpreter.empty()) return "is linked statically";
  if (interpreter.find("ld-musl") != interpreter.npos) return "uses musl, not glibc";
  return {};
}

}  // namespace tp

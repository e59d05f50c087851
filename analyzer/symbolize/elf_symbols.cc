#include "analyzer/symbolize/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr size_t kMostFunctions = size_t{8} << 20;
constexpr size_t kMostNoteBytes = 4096;
constexpr size_t kLongestName = 16384;
// Functions may lie within each other: so far back is looked.
constexpr size_t kMostBack = 8;

}  // namespace

// Open for reading; closed at its end.
class ElfSymbols::File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }
  // How many bytes there were. Fewer than asked for at the file's end, or by an error.
  size_t Read(uint64_t offset, void* to, size_t bytes) const {
    size_t got = 0;
    while (got < bytes && offset <= INT64_MAX - got) {
      const ssize_t count = pread(descriptor_, static_cast<char*>(to) + got, bytes - got,
                                  static_cast<off_t>(offset + got));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      got += static_cast<size_t>(count);
    }
    return got;
  }

 private:
  int descriptor_;
};

absl::StatusOr<ElfSymbols> ElfSymbols::Open(const std::string& path) {
  // A pipe or a device must neither hold us up nor do anything.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return absl::NotFoundError(absl::StrCat(path, ": ", strerror(errno)));
  ElfSymbols symbols;
  symbols.file_ = std::make_shared<const File>(descriptor);
  struct stat about;
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no file"));
  }
  symbols.changed_ns_ = about.st_mtim.tv_sec * int64_t{1'000'000'000} + about.st_mtim.tv_nsec;
  symbols.bytes_ = about.st_size;
  if (absl::Status status = symbols.ReadSections(); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, " ", status.message()));
  }
  return symbols;
}

absl::Status ElfSymbols::ReadSections() {
  Elf64_Ehdr header;
  if (file_->Read(0, &header, sizeof(header)) != sizeof(header) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return absl::InvalidArgumentError("is no program or library of 64 bits");
  }
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  const size_t bytes = sections.size() * sizeof(Elf64_Shdr);
  if (file_->Read(header.e_shoff, sections.data(), bytes) != bytes) {
    return absl::InvalidArgumentError("is cut off before its section headers");
  }
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_NOTE) ReadBuildId(section.sh_offset, section.sh_size);
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= sections.size()) continue;
    const absl::Status status =
        ReadSymbols(section.sh_offset, section.sh_size, sections[section.sh_link].sh_offset);
    if (!status.ok()) return status;
  }
  // Of two with the same code the first one of the file stays.
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const Function& a, const Function& b) { return a.begin < b.begin; });
  const auto last =
      std::unique(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
        return a.begin == b.begin && a.bytes == b.bytes;
      });
  functions_.erase(last, functions_.end());
  functions_.shrink_to_fit();
  return absl::OkStatus();
}

absl::Status ElfSymbols::ReadSymbols(uint64_t offset, uint64_t bytes, uint64_t names_offset) {
  const auto table = static_cast<uint16_t>(table_offsets_.size());
  if (table_offsets_.size() == UINT16_MAX) return absl::OkStatus();
  table_offsets_.push_back(names_offset);
  std::vector<Elf64_Sym> symbols(4096);
  for (uint64_t at = 0; at < bytes;) {
    const size_t wanted = std::min<uint64_t>(bytes - at, symbols.size() * sizeof(Elf64_Sym));
    const size_t got = file_->Read(offset + at, symbols.data(), wanted);
    for (size_t i = 0; i < got / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym& symbol = symbols[i];
      const int type = ELF64_ST_TYPE(symbol.st_info);
      const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
      if (!is_function || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      if (symbol.st_value >> 48 != 0 || symbol.st_size > UINT32_MAX) continue;
      if (functions_.size() == kMostFunctions) {
        return absl::InvalidArgumentError("has too many functions");
      }
      functions_.push_back({.begin = symbol.st_value,
                            .table = table,
                            .bytes = static_cast<uint32_t>(symbol.st_size),
                            .name = symbol.st_name});
    }
    if (got < wanted) break;
    at += got;
  }
  return absl::OkStatus();
}

void ElfSymbols::ReadBuildId(uint64_t offset, uint64_t bytes) {
  std::string notes(std::min<uint64_t>(bytes, kMostNoteBytes), '\0');
  notes.resize(file_->Read(offset, notes.data(), notes.size()));
  size_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof(note));
    at += sizeof(note);
    const uint64_t name_bytes = (uint64_t{note.n_namesz} + 3) & ~uint64_t{3};
    const uint64_t id_bytes = (uint64_t{note.n_descsz} + 3) & ~uint64_t{3};
    if (name_bytes + id_bytes > notes.size() - at) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(notes.data() + at, "GNU", 4) == 0) {
      build_id_ = absl::BytesToHexString(notes.substr(at + name_bytes, note.n_descsz));
      return;
    }
    at += name_bytes + id_bytes;
  }
}

std::optional<std::string> ElfSymbols::FunctionAt(uint64_t address) const {
  auto after = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](uint64_t wanted, const Function& function) { return wanted < function.begin; });
  for (size_t i = 0; i < kMostBack && after != functions_.begin(); ++i) {
    const Function& function = *--after;
    if (address - function.begin >= function.bytes) continue;
    std::string name(256, '\0');
    while (true) {
      const size_t got =
          file_->Read(table_offsets_[function.table] + function.name, name.data(), name.size());
      const size_t end = name.find('\0');
      if (end < got) {
        name.resize(end);
        if (name.empty()) return std::nullopt;
        return name;
      }
      if (got < name.size() || name.size() >= kLongestName) return std::nullopt;
      name.resize(name.size() * 4);
    }
  }
  return std::nullopt;
}

}  // namespace tp

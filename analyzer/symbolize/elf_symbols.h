// The functions of a program or shared library (ELF, 64 bits), by address.
//
//   absl::StatusOr<ElfSymbols> symbols = ElfSymbols::Open("/usr/lib/libfoo.so");
//   std::optional<std::string> name = symbols->FunctionAt(0x1234);    // As it is in the file:
//   mangled.
//
// Takes what .symtab and .dynsym have, no debug information. The file may hold anything, and may
// change while it is open: what makes no sense is an error, or no name. Of the file only addresses
// are kept in memory (16 bytes a function), and it stays open.
#ifndef ANALYZER_SYMBOLIZE_ELF_SYMBOLS_H_
#define ANALYZER_SYMBOLIZE_ELF_SYMBOLS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tp {

// Not thread-safe.
class ElfSymbols {
 public:
  // NotFound: there is no such file. InvalidArgument: it is none of these.
  static absl::StatusOr<ElfSymbols> Open(const std::string& path);

  // The function that has code at this address, which is one of the file's own.
  std::optional<std::string> FunctionAt(uint64_t address) const;

  // Its build id in hexadecimal; empty: it has none.
  const std::string& build_id() const { return build_id_; }
  // Of the file: when it was last changed, and its size.
  int64_t changed_ns() const { return changed_ns_; }
  int64_t bytes() const { return bytes_; }
  size_t memory_bytes() const { return functions_.capacity() * sizeof(Function); }

 private:
  struct Function {
    uint64_t begin : 48;
    uint64_t table : 16;  // Of table_offsets_.
    uint32_t bytes;
    uint32_t name;  // In that table.
  };
  static_assert(sizeof(Function) == 16);

  class File;

  ElfSymbols() = default;
  absl::Status ReadSections();
  absl::Status ReadSymbols(uint64_t offset, uint64_t bytes, uint64_t names_offset);
  void ReadBuildId(uint64_t offset, uint64_t bytes);

  std::shared_ptr<const File> file_;
  std::vector<uint64_t> table_offsets_;
  std::vector<Function> functions_;  // By their begins.
  std::string build_id_;
  int64_t changed_ns_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SYMBOLIZE_ELF_SYMBOLS_H_

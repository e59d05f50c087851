// The names of frames that traced processes tell by module and address: from the modules' files,
// outside of the processes.
//
// A file is read as the process sees it (/proc/PID/root: it may be in a container), or after its
// end by the same path here; and only if it is the very file that the process has loaded, by its
// build id, or where there is none by its size and time. Otherwise, and for code without a name,
// the frame is "libfoo.so+0x1234".
#ifndef ANALYZER_SYMBOLIZE_SYMBOLIZER_H_
#define ANALYZER_SYMBOLIZE_SYMBOLIZER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "analyzer/symbolize/elf_symbols.h"

namespace tp {

struct SymbolizerLimits {
  size_t files = 128;  // Open at one time.
  size_t bytes = size_t{256} << 20;
};

// Bounded: the files that were not asked for longest are forgotten, and read again when they are
// needed. Not thread-safe.
class Symbolizer {
 public:
  explicit Symbolizer(const SymbolizerLimits& limits = {}) : limits_(limits) {}

  // `module` as a collector names it (proto/wire.proto, OperationColumns.stack_id). Of a function
  // in C++ the name is demangled.
  std::string FrameName(pid_t pid, std::string_view module, uint64_t return_address);

  size_t memory_bytes() const { return bytes_; }

 private:
  struct File {
    std::string module;
    std::optional<ElfSymbols> symbols;  // None: there is no such file.
  };

  const std::optional<ElfSymbols>& SymbolsOf(pid_t pid, std::string_view module);

  SymbolizerLimits limits_;
  std::list<File> files_;  // The latest one first.
  absl::flat_hash_map<std::string, std::list<File>::iterator> by_module_;
  size_t bytes_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SYMBOLIZE_SYMBOLIZER_H_

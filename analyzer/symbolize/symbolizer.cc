#include "analyzer/symbolize/symbolizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/present/demangle.h"

namespace tp {
namespace {

struct ModuleText {
  std::string path, identity;
};

ModuleText Split(std::string_view module) {
  // What follows the last line end: paths may have some.
  const size_t end = module.rfind('\n');
  if (end == std::string_view::npos) return {std::string(module), ""};
  return {std::string(module.substr(0, end)), std::string(module.substr(end + 1))};
}

bool IsTheFile(const ElfSymbols& symbols, const std::string& identity) {
  if (identity.starts_with('b')) return identity.substr(1) == symbols.build_id();
  return identity == absl::StrCat("t", symbols.changed_ns(), ".", symbols.bytes());
}

std::optional<ElfSymbols> Open(pid_t pid, const ModuleText& module) {
  if (module.path.empty() || module.path[0] != '/' || module.identity.empty()) return std::nullopt;
  for (const std::string& path : {absl::StrCat("/proc/", pid, "/root", module.path), module.path}) {
    absl::StatusOr<ElfSymbols> symbols = ElfSymbols::Open(path);
    if (symbols.ok() && IsTheFile(*symbols, module.identity)) return *std::move(symbols);
  }
  return std::nullopt;
}

}  // namespace

std::string Symbolizer::FrameName(pid_t pid, std::string_view module, uint64_t return_address) {
  const std::optional<ElfSymbols>& symbols = SymbolsOf(pid, module);
  if (symbols.has_value() && return_address > 0) {
    // The call is before the place that it returns to.
    if (const auto name = symbols->FunctionAt(return_address - 1)) return Demangle(*name);
  }
  const std::string path = Split(module).path;
  return absl::StrCat(path.substr(path.rfind('/') + 1), "+0x", absl::Hex(return_address));
}

const std::optional<ElfSymbols>& Symbolizer::SymbolsOf(pid_t pid, std::string_view module) {
  if (const auto found = by_module_.find(absl::string_view(module.data(), module.size()));
      found != by_module_.end()) {
    files_.splice(files_.begin(), files_, found->second);
    return files_.front().symbols;
  }
  files_.push_front({std::string(module), Open(pid, Split(module))});
  by_module_[files_.front().module] = files_.begin();
  const auto bytes_of = [](const File& file) {
    return file.symbols.has_value() ? file.symbols->memory_bytes() : 0;
  };
  bytes_ += bytes_of(files_.front());
  while (files_.size() > 1 && (files_.size() > limits_.files || bytes_ > limits_.bytes)) {
    bytes_ -= bytes_of(files_.back());
    by_module_.erase(files_.back().module);
    files_.pop_back();
  }
  return files_.front().symbols;
}

}  // namespace tp

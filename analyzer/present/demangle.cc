#include "analyzer/present/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace tp {

std::string Demangle(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  std::string mangled(name);
  // A zero byte would end the name for the demangler alone.
  if (mangled.find('\0') != std::string::npos) return mangled;
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && readable != nullptr ? std::string(readable.get()) : mangled;
}

}  // namespace tp

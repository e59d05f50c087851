// The functions that a library in another process exports, by what of its ELF file is in memory: no
// matter in which mount namespace that file is, or whether it is still there.
#ifndef TOOLS_INJECT_REMOTE_SYMBOLS_H_
#define TOOLS_INJECT_REMOTE_SYMBOLS_H_

#include <cstdint>
#include <map>
#include <string>

#include "tools/inject/memory_map.h"

namespace tp {

// Names and addresses of all functions that the library at `base` defines. Empty if there is none,
// or one that makes no sense.
std::map<std::string, uint64_t> FunctionsAt(const RemoteMemory& memory, uint64_t base);

}  // namespace tp

#endif  // TOOLS_INJECT_REMOTE_SYMBOLS_H_

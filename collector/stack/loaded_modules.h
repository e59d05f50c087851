// The modules (program, shared libraries) that stacks go through, by small numbers that stay theirs
// when they are unloaded: a stack is told by the module and the place in its file, whatever came to
// lie at its addresses later.
#ifndef COLLECTOR_STACK_LOADED_MODULES_H_
#define COLLECTOR_STACK_LOADED_MODULES_H_

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tp::collect {

struct LoadedModule {
  static constexpr size_t kMostIdBytes = 32;
  static constexpr size_t kLongestPath = 1024;

  const void* link_map;
  uintptr_t begin, frame_header;
  // Of the file's addresses to those in memory.
  uintptr_t load_bias;
  // Its build id, and where that lies in memory; nullptr: it has none.
  const uint8_t* id_in_memory;
  uint8_t id[kMostIdBytes];
  uint32_t id_bytes;
  char path[kLongestPath];  // As the loader has it; empty: the program's.
};

// Of modules beyond it, stacks end there.
inline constexpr uint32_t kMostModules = 1024;

// `object`: as _dl_find_object gave it, of a module that stays loaded meanwhile (its code is on the
// caller's stack). Returns its number; kMostModules if there is no room. Any thread; no lock, no
// allocation, no system call.
uint32_t NumberOfModule(const dl_find_object& object);

// Of a number that was returned. Any thread.
const LoadedModule& ModuleOf(uint32_t number);

// What is told of it: its path, a line end, and what its file is known by: "b" and the build id, or
// "t" with the time of its last change in ns and its size; nothing if there is no such file. Looks
// at the file, once: the collector thread's own.
std::string DescribeModule(const LoadedModule& module);

}  // namespace tp::collect

#endif  // COLLECTOR_STACK_LOADED_MODULES_H_

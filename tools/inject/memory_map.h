// What is mapped in another process, and its memory: /proc/PID/maps and /proc/PID/mem.
#ifndef TOOLS_INJECT_MEMORY_MAP_H_
#define TOOLS_INJECT_MEMORY_MAP_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tp {

struct Mapping {
  uint64_t begin = 0, end = 0;
  bool is_readable = false, is_writable = false, is_executable = false;
  uint64_t offset = 0;  // In the file.
  std::string path;     // As the process sees it, "[stack]", or empty.

  bool Holds(uint64_t address) const { return begin <= address && address < end; }
};

// Empty if it cannot be read, or the process has no memory of its own.
std::vector<Mapping> MappingsOf(pid_t pid);

// The one that holds the address; nullptr: none.
const Mapping* MappingAt(const std::vector<Mapping>& mappings, uint64_t address);

// The last part of a path, without " (deleted)".
std::string FileOf(const Mapping& mapping);

// Of a process that we may trace.
class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid);
  ~RemoteMemory();
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;

  // All of it, or false.
  bool Read(uint64_t address, void* bytes, size_t size) const;
  bool Write(uint64_t address, const void* bytes, size_t size) const;
  template <typename Value>
  bool Read(uint64_t address, Value* value) const {
    return Read(address, value, sizeof(*value));
  }
  // Up to a zero byte; cut at `most`.
  std::string ReadText(uint64_t address, size_t most) const;

 private:
  int fd_;
};

}  // namespace tp

#endif  // TOOLS_INJECT_MEMORY_MAP_H_

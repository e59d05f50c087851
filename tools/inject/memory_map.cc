#include "tools/inject/memory_map.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tp {

std::vector<Mapping> MappingsOf(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/maps"));
  std::vector<Mapping> mappings;
  for (std::string line; std::getline(file, line);) {
    Mapping mapping;
    char rights[5] = "";
    int path = 0;
    if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &mapping.begin,
               &mapping.end, rights, &mapping.offset, &path) < 4) {
      continue;
    }
    mapping.is_readable = rights[0] == 'r';
    mapping.is_writable = rights[1] == 'w';
    mapping.is_executable = rights[2] == 'x';
    if (path > 0) mapping.path = line.substr(static_cast<size_t>(path));
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

const Mapping* MappingAt(const std::vector<Mapping>& mappings, uint64_t address) {
  for (const Mapping& mapping : mappings) {
    if (mapping.Holds(address)) return &mapping;
  }
  return nullptr;
}

std::string FileOf(const Mapping& mapping) {
  absl::string_view path = mapping.path;
  path = absl::StripSuffix(path, " (deleted)");
  return std::string(path.substr(path.rfind('/') + 1));
}

RemoteMemory::RemoteMemory(pid_t pid)
    : fd_(open(absl::StrCat("/proc/", pid, "/mem").c_str(), O_RDWR | O_CLOEXEC)) {}

RemoteMemory::~RemoteMemory() {
  if (fd_ >= 0) close(fd_);
}

bool RemoteMemory::Read(uint64_t address, void* bytes, size_t size) const {
  auto* next = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = pread(fd_, next, size, static_cast<off_t>(address));
    if (got <= 0) return false;
    next += got;
    address += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool RemoteMemory::Write(uint64_t address, const void* bytes, size_t size) const {
  return pwrite(fd_, bytes, size, static_cast<off_t>(address)) == static_cast<ssize_t>(size);
}

std::string RemoteMemory::ReadText(uint64_t address, size_t most) const {
  std::string text;
  while (text.size() < most) {
    char chunk[64];
    // Not beyond a page, where there may be nothing.
    const size_t wanted = std::min<size_t>(sizeof(chunk), 4096 - address % 4096);
    if (!Read(address, chunk, wanted)) break;
    const size_t length = strnlen(chunk, wanted);
    text.append(chunk, length);
    if (length < wanted) break;
    address += wanted;
  }
  return text.substr(0, most);
}

}  // namespace tp

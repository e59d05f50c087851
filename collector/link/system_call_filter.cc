#include "collector/link/system_call_filter.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

namespace tp::collect {
namespace {

// The number after `name`; -1 if it is not there.
int Field(const char* status, const char* name) {
  const char* line = strstr(status, name);
  return line == nullptr ? -1 : static_cast<int>(strtol(line + strlen(name), nullptr, 10));
}

}  // namespace

int SystemCallFilters() {
  int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char status[4096];
  ssize_t length = read(fd, status, sizeof(status) - 1);
  close(fd);
  if (length <= 0) return -1;
  status[length] = '\0';
  int filters = Field(status, "\nSeccomp_filters:");
  if (filters >= 0) return filters;
  int mode = Field(status, "\nSeccomp:");
  return mode > 0 ? 1 : mode;
}

}  // namespace tp::collect

#include "collector/last_thread.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

namespace tp::collect {

bool IsLastThread() {
  int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[1024];
  ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return false;
  text[length] = '\0';
  // Field 2, the program's name, may hold anything.
  const char* field = strrchr(text, ')');
  if (field == nullptr || strlen(field) < 3) return false;
  bool main_ended = field[2] == 'Z';
  for (int i = 2; i < 20 && field != nullptr; ++i) field = strchr(field + 1, ' ');
  // The main thread counts as long as others run.
  return main_ended && field != nullptr && strtol(field, nullptr, 10) == 2;
}

}  // namespace tp::collect

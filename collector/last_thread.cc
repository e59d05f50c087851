#include "collector/last_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace tp::collect {
namespace {

// The process whose main thread is watched; another one's (a fork's) is not.
std::atomic<pid_t> g_watched{0};
std::atomic<bool> g_main_thread_ended{false};

}  // namespace

void WatchMainThread() {
  if (gettid() != getpid()) return;
  static pthread_key_t key;
  // Its value is destroyed by pthread_exit, and not by exit.
  if (pthread_key_create(&key, [](void*) { g_main_thread_ended = true; }) != 0) return;
  if (pthread_setspecific(key, &key) == 0) g_watched = getpid();
}

bool IsLastThread() {
  if (!g_main_thread_ended && g_watched == getpid()) return false;
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

// Loads the library that its argument names and calls InitializeInjection, as the CUDA driver does.
// Prints what that gave and how many threads the process has then.

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  auto initialize = library == nullptr
                        ? nullptr
                        : reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize == nullptr) return 1;
  int result = initialize();
  int threads = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) threads += entry->d_name[0] != '.';
  closedir(tasks);
  printf("%d, threads %d\n", result, threads);
  return 0;
}

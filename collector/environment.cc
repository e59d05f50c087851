#include "collector/environment.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <initializer_list>

namespace tp::collect {
namespace {

// The value of `name` in environ; nullptr if it is not set. (getenv may be the program's own.)
const char* Find(const char* name) {
  size_t length = strlen(name);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  }
  return nullptr;
}

char* Append(char* end, const char* text) {
  size_t length = strlen(text);
  memcpy(end, text, length);
  return end + length;
}

}  // namespace

void SetInjectionVariables(const char* path) {
  const char* missing[2];
  size_t missing_count = 0;
  for (const char* name : {kCudaInjection, kNvtxInjection}) {
    if (Find(name) == nullptr) missing[missing_count++] = name;
  }
  if (missing_count == 0) return;
  size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  size_t bytes = (count + missing_count + 1) * sizeof(char*);
  for (size_t i = 0; i < missing_count; ++i) bytes += strlen(missing[i]) + strlen(path) + 2;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  char** entries = static_cast<char**>(memory);
  if (count > 0) memcpy(entries, environ, count * sizeof(char*));
  char* texts = reinterpret_cast<char*>(entries + count + missing_count + 1);
  for (size_t i = 0; i < missing_count; ++i) {
    entries[count + i] = texts;
    texts = Append(texts, missing[i]);
    texts = Append(texts, "=");
    texts = Append(texts, path);
    *texts++ = '\0';
  }
  entries[count + missing_count] = nullptr;
  environ = entries;
}

const char* OtherInjection(const char* variable, const char* path) {
  const char* value = Find(variable);
  return value == nullptr || strcmp(value, path) == 0 ? nullptr : value;
}

}  // namespace tp::collect

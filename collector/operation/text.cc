#include "collector/operation/text.h"

#include <pthread.h>

#include <atomic>
#include <cstring>
#include <new>
#include <unordered_map>

namespace tp::collect {
namespace {

// Of an entry beside its text: the object, its node in the table and the table's share.
constexpr size_t kEntryBytes = 192;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<size_t> g_limit_bytes{2 << 20};
std::atomic<size_t> g_bytes{0};
std::atomic<uint64_t> g_left_out{0};

// Never destroyed: handles are used until the process ends.
template <typename Object>
const Object* Register(std::string_view text) {
  static auto* objects = new std::unordered_map<std::string_view, const Object*>;
  static const auto* other = new Object("(other)");
  pthread_mutex_lock(&g_lock);
  const Object* object = nullptr;
  try {
    auto found = objects->find(text);
    if (found != objects->end()) {
      object = found->second;
    } else if (g_bytes + text.size() + kEntryBytes <= g_limit_bytes) {
      object = new Object(text);
      if constexpr (requires { object->text(); }) {
        objects->emplace(object->text(), object);
      } else {
        objects->emplace(object->name(), object);
      }
      g_bytes += text.size() + kEntryBytes;
    }
  } catch (const std::bad_alloc&) {
    object = nullptr;
  }
  if (object == nullptr) {
    ++g_left_out;
    object = other;
  }
  pthread_mutex_unlock(&g_lock);
  return object;
}

// Bytes of `text` up to `length` without a UTF-8 sequence that is cut in two.
size_t WholeSequences(const char* text, size_t length) {
  size_t begin = length;
  while (begin > 0 && length - begin < 3 && (text[begin - 1] & 0xc0) == 0x80) --begin;
  if (begin == 0) return length;
  unsigned char lead = text[begin - 1];
  size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return length - (begin - 1) < wanted ? begin - 1 : length;
}

size_t Encode(uint32_t code_point, char* out) {
  if (code_point < 0x80) {
    out[0] = static_cast<char>(code_point);
    return 1;
  }
  if (code_point < 0x800) {
    out[0] = static_cast<char>(0xc0 | code_point >> 6);
    out[1] = static_cast<char>(0x80 | (code_point & 0x3f));
    return 2;
  }
  if (code_point < 0x10000) {
    out[0] = static_cast<char>(0xe0 | code_point >> 12);
    out[1] = static_cast<char>(0x80 | (code_point >> 6 & 0x3f));
    out[2] = static_cast<char>(0x80 | (code_point & 0x3f));
    return 3;
  }
  out[0] = static_cast<char>(0xf0 | code_point >> 18);
  out[1] = static_cast<char>(0x80 | (code_point >> 12 & 0x3f));
  out[2] = static_cast<char>(0x80 | (code_point >> 6 & 0x3f));
  out[3] = static_cast<char>(0x80 | (code_point & 0x3f));
  return 4;
}

}  // namespace

std::string_view CutText(const char* text) {
  size_t length = strnlen(text, kLongestText + 1);
  if (length > kLongestText) length = WholeSequences(text, kLongestText);
  return {text, length};
}

size_t WideToUtf8(const wchar_t* text, char* out, size_t capacity) {
  size_t length = 0;
  for (; *text != L'\0' && capacity - length >= 4; ++text) {
    auto code_point = static_cast<uint32_t>(*text);
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) {
      code_point = 0xfffd;
    }
    length += Encode(code_point, out + length);
  }
  return length;
}

const RegisteredText* RegisterText(std::string_view text) { return Register<RegisteredText>(text); }

const Domain* RegisterDomain(std::string_view name) { return Register<Domain>(name); }

void LimitRegisteredTexts(size_t bytes) { g_limit_bytes = bytes; }

size_t RegisteredTextBytes() { return g_bytes; }

uint64_t RegisteredTextsLeftOut() { return g_left_out; }

void ResetTextLockAfterFork() { g_lock = PTHREAD_MUTEX_INITIALIZER; }

}  // namespace tp::collect

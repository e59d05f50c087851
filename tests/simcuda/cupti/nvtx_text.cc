#include "tests/simcuda/cupti/nvtx_text.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

namespace simcupti {
namespace {

struct Texts {
  std::mutex mutex;
  std::unordered_set<std::string> all;  // Guarded by mutex; nothing is ever taken out.
};

Texts& GlobalTexts() {
  static Texts* const texts = new Texts;
  return *texts;
}

const char* Keep(std::string text) {
  Texts& texts = GlobalTexts();
  std::lock_guard lock(texts.mutex);
  return texts.all.insert(std::move(text)).first->c_str();
}

void AppendUtf8(uint32_t code_point, std::string* text) {
  constexpr uint32_t kReplacement = 0xFFFD;
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (surrogate || code_point > 0x10FFFF) code_point = kReplacement;
  if (code_point < 0x80) {
    text->push_back(static_cast<char>(code_point));
    return;
  }
  const int tail_bytes = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
  // As many leading ones as there are bytes, then a zero.
  const uint32_t length_mark = (0xF0u << (3 - tail_bytes)) & 0xFF;
  text->push_back(static_cast<char>(length_mark | (code_point >> (6 * tail_bytes))));
  for (int byte = tail_bytes - 1; byte >= 0; --byte) {
    text->push_back(static_cast<char>(0x80 | ((code_point >> (6 * byte)) & 0x3F)));
  }
}

}  // namespace

const char* KeepText(const char* text) { return Keep(text != nullptr ? text : ""); }

const char* KeepText(const wchar_t* text) {
  std::string utf8;
  for (; text != nullptr && *text != L'\0'; ++text) {
    AppendUtf8(static_cast<uint32_t>(*text), &utf8);
  }
  return Keep(std::move(utf8));
}

}  // namespace simcupti

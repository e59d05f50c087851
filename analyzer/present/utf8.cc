#include "analyzer/present/utf8.h"

#include <algorithm>
#include <cstdint>

namespace tp {
namespace {

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The length of the character that the text begins with; 0 if it begins with none.
size_t CharacterLength(std::string_view text) {
  auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  uint32_t point = first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
    point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  bool is_overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
  return is_overlong || is_surrogate || point > 0x10FFFF ? 0 : length;
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    size_t length = CharacterLength(text);
    if (length == 0) {
      valid += "\xEF\xBF\xBD";
      length = 1;
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return valid;
}

size_t CodePoints(std::string_view text) {
  return text.size() - std::count_if(text.begin(), text.end(), IsContinuation);
}

std::string_view FirstCodePoints(std::string_view text, size_t count) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (!IsContinuation(text[end]) && count-- == 0) break;
  }
  return text.substr(0, end);
}

std::string_view LastCodePoints(std::string_view text, size_t count) {
  size_t begin = text.size();
  while (begin > 0 && count > 0) {
    if (!IsContinuation(text[--begin])) --count;
  }
  return text.substr(begin);
}

}  // namespace tp

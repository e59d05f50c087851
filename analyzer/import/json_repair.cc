#include "analyzer/import/json_repair.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "analyzer/present/utf8.h"

namespace tp {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr size_t kUnicodeEscape = 6;  // "\u00e4".

// The number in the escape that `text` begins with, if it is one of that kind.
std::optional<uint32_t> UnicodeEscape(std::string_view text) {
  if (text.size() < kUnicodeEscape || text.substr(0, 2) != "\\u") return std::nullopt;
  uint32_t unit = 0;
  const char* const end = text.data() + kUnicodeEscape;
  const auto [read, error] = std::from_chars(text.data() + 2, end, unit, 16);
  if (error != std::errc() || read != end) return std::nullopt;
  return unit;
}

// Appends what becomes of the backslash that `text` begins with. Returns how much of it that is.
size_t AppendEscape(std::string_view text, std::string* out) {
  constexpr uint32_t kHighHalf = 0xD800, kLowHalf = 0xDC00, kNoHalf = 0xE000;
  if (text.size() >= 2 && std::string_view("\"\\/bfnrt").find(text[1]) != std::string_view::npos) {
    *out += text.substr(0, 2);
    return 2;
  }
  const std::optional<uint32_t> unit = UnicodeEscape(text);
  if (!unit.has_value()) {
    // It escapes nothing: it is one that was meant as such.
    *out += "\\\\";
    return 1;
  }
  if (*unit < kHighHalf || *unit >= kNoHalf) {
    *out += text.substr(0, kUnicodeEscape);
    return kUnicodeEscape;
  }
  const std::optional<uint32_t> low = UnicodeEscape(text.substr(kUnicodeEscape));
  if (*unit < kLowHalf && low.has_value() && *low >= kLowHalf && *low < kNoHalf) {
    *out += text.substr(0, 2 * kUnicodeEscape);
    return 2 * kUnicodeEscape;
  }
  *out += kReplacement;
  return kUnicodeEscape;
}

}  // namespace

std::string RepairedJson(std::string_view json) {
  const std::string valid = ValidUtf8(json);
  std::string text;
  bool in_string = false;
  for (size_t i = 0; i < valid.size(); ++i) {
    const char c = valid[i];
    const bool is_control = static_cast<unsigned char>(c) < ' ';
    if (in_string && c == '\\') {
      i += AppendEscape(std::string_view(valid).substr(i), &text) - 1;
    } else if (in_string && is_control) {
      text += kReplacement;
    } else if (is_control || c == '\x7F') {
      text += ' ';
    } else {
      text += c;
    }
    if (c == '"') in_string = !in_string;
  }
  return text;
}

}  // namespace tp

#include "analyzer/import/json_cursor.h"

#include <algorithm>

namespace tp {
namespace {

// The first '"' or bracket of either form. Those differ in one bit: [ and {, ] and }.
const char* FindQuoteOrBracket(const char* at, const char* end) {
  using json_internal::Characters, json_internal::Matches;
  return json_internal::Find(at, end, [](Characters characters) -> Matches {
    const Characters folded = characters | static_cast<unsigned char>('{' ^ '[');
    return (characters == '"') | (folded == '{') | (folded == '}');
  });
}

int HexDigits(std::string_view text) {
  int value = 0;
  if (text.size() < 4) return -1;
  for (const char c : text.substr(0, 4)) {
    const char lower = static_cast<char>(c | 0x20);
    value *= 16;
    if (c >= '0' && c <= '9') {
      value += c - '0';
    } else if (lower >= 'a' && lower <= 'f') {
      value += lower - 'a' + 10;
    } else {
      return -1;
    }
  }
  return value;
}

void AppendUtf8(uint32_t point, std::string* text) {
  const auto append = [&](uint32_t byte) { *text += static_cast<char>(byte); };
  const auto continuation = [&](int shift) { append(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    append(point);
  } else if (point < 0x800) {
    append(0xC0 | point >> 6);
    continuation(0);
  } else if (point < 0x10000) {
    append(0xE0 | point >> 12);
    continuation(6);
    continuation(0);
  } else {
    append(0xF0 | point >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

// The code point of "uXXXX", or of two of them that are one ("uD83D\uDE00"), which are taken off
// `text`; -1 if there is none.
int64_t TakeCodePoint(std::string_view* text) {
  const int unit = HexDigits(text->substr(1));
  if (unit < 0) return -1;
  text->remove_prefix(5);
  if (unit < 0xD800 || unit > 0xDFFF) return unit;
  constexpr int64_t kReplacement = 0xFFFD;
  if (unit > 0xDBFF || text->substr(0, 2) != "\\u") return kReplacement;
  const int low = HexDigits(text->substr(2));
  if (low < 0xDC00 || low > 0xDFFF) return kReplacement;
  text->remove_prefix(6);
  return 0x10000 + ((int64_t{unit} - 0xD800) << 10) + (low - 0xDC00);
}

}  // namespace

std::string Unescaped(std::string_view text) {
  std::string meaning;
  meaning.reserve(text.size());
  while (!text.empty()) {
    const size_t plain = std::min(text.find('\\'), text.size());
    meaning += text.substr(0, plain);
    if (plain == text.size()) break;
    text.remove_prefix(plain + 1);
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const size_t letter = text.empty() ? std::string_view::npos : kLetters.find(text[0]);
    if (letter != std::string_view::npos) {
      meaning += kMeanings[letter];
      text.remove_prefix(1);
      continue;
    }
    const int64_t point = text.starts_with('u') ? TakeCodePoint(&text) : -1;
    if (point >= 0) {
      AppendUtf8(static_cast<uint32_t>(point), &meaning);
    } else {
      meaning += '\\';
    }
  }
  return meaning;
}

const char* SkipJson(const char* at, const char* end, JsonSkip* skip) {
  while (true) {
    if (skip->in_string) {
      if (skip->escaped && at < end) {
        skip->escaped = false;
        ++at;
      }
      at = json_internal::FindQuoteOrEscape(at, end);
      if (at >= end) return nullptr;
      if (*at++ == '\\') {
        skip->escaped = true;
        continue;
      }
      skip->in_string = false;
      if (skip->depth == 0) return at;
    }
    at = FindQuoteOrBracket(at, end);
    if (at >= end) return nullptr;
    switch (*at++) {
      case '"':
        skip->in_string = true;
        break;
      case '[':
      case '{':
        ++skip->depth;
        break;
      default:
        if (skip->depth <= 1) return at;
        --skip->depth;
        break;
    }
  }
}

JsonValue JsonCursor::ReadNested() {
  const char* const begin = at_;
  JsonSkip skip;
  const char* after = SkipJson(at_, end_, &skip);
  if (after == nullptr) {
    at_ = end_;
    Fail(Failure::kEnded);
    return {};
  }
  at_ = after;
  return {*begin == '[' ? JsonKind::kList : JsonKind::kObject,
          false,
          {begin, static_cast<size_t>(at_ - begin)}};
}

}  // namespace tp

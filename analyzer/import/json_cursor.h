// Reads JSON where it lies, value by value, without building anything: what the import of large
// traces stands on.
//
//   JsonCursor cursor(begin, end);             // at least kJsonPadding bytes follow `end`
//   JsonValue value = cursor.ReadValue();      // a scalar's text, or the whole of a list or object
//   if (!cursor.ok()) ... cursor.ended() ...   // the text ends in the value, or is no JSON there
//
// Why not a parser of others: traces are larger than memory should be, and often broken in places
// (cut off, names in no encoding, NaN, backslashes that escape nothing). This one works on a window
// of the file, takes numbers as they are written, lets bytes and escapes in strings pass, and tells
// an end of the window from what is no JSON. Nesting costs no stack.
#ifndef ANALYZER_IMPORT_JSON_CURSOR_H_
#define ANALYZER_IMPORT_JSON_CURSOR_H_

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tp {

// Bytes behind a text that may be read (whatever they are, they are not taken for its own).
inline constexpr size_t kJsonPadding = 64;

enum class JsonKind : uint8_t {
  kNone,    // Not there.
  kString,  // The text between the quotes.
  kWord,    // A number, true, false, null; and what others write in their place, such as NaN.
  kList,    // From bracket to bracket.
  kObject,
};

// A value as it is written.
struct JsonValue {
  JsonKind kind = JsonKind::kNone;
  bool escaped = false;  // A string with a backslash in it.
  std::string_view text;

  bool is_scalar() const { return kind == JsonKind::kString || kind == JsonKind::kWord; }
};

// What a string with escapes means, as UTF-8. Half of a surrogate pair becomes U+FFFD; a backslash
// that escapes nothing that JSON knows stays one.
std::string Unescaped(std::string_view text);

// Where a value is that may go on beyond the window. Begins at its first character.
struct JsonSkip {
  uint64_t depth = 0;
  bool in_string = false;
  bool escaped = false;
};
// Past the end of the list, object or string that is skipped; nullptr: it goes on behind `end`.
const char* SkipJson(const char* at, const char* end, JsonSkip* skip);

inline bool IsJsonBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

class JsonCursor {
 public:
  JsonCursor(const char* begin, const char* end) : at_(begin), end_(end) {}

  // After a failure nothing more is read.
  bool ok() const { return failure_ == Failure::kNone; }
  // It failed because the text ends.
  bool ended() const { return failure_ == Failure::kEnded; }
  const char* at() const { return at_; }
  // Where the last string began: after a failure, what may have lost its closing quote.
  const char* last_string() const { return last_string_; }

  // Enters an object: ReadKey gives its keys one after the other; each is followed by a value,
  // which is to be read, or entered and read to its end.
  bool EnterObject() {
    needs_comma_ = false;
    return Take('{');
  }
  // False at the object's end, which is passed, and after a failure.
  bool ReadKey(JsonValue* key);
  JsonValue ReadValue();

  // The next character that is no blank, which stays; 0 at the end or after a failure.
  char Peek() {
    // As most are written: behind one blank, or none.
    if (end_ - at_ > 1) {
      if (*at_ == ' ' && at_[1] > ' ') ++at_;
      if (*at_ > ' ') return *at_;
    }
    while (at_ < end_ && IsJsonBlank(*at_)) ++at_;
    if (at_ < end_) return *at_;
    Fail(Failure::kEnded);
    return 0;
  }

 private:
  enum class Failure : uint8_t { kNone, kEnded, kBroken };

  void Fail(Failure failure) {
    if (failure_ == Failure::kNone) failure_ = failure;
  }
  bool Take(char c) {
    if (Peek() != c) {
      Fail(Failure::kBroken);
      return false;
    }
    ++at_;
    return true;
  }
  JsonValue ReadString();
  JsonValue ReadNested();

  const char* at_;
  const char* end_;
  const char* last_string_ = at_;
  Failure failure_ = Failure::kNone;
  bool needs_comma_ = false;  // A value was read: another key needs a comma before it.
};

// What is called several times for each event is here to be inlined.
namespace json_internal {

// Characters are looked for 16 at a time, by the vectors of gcc and clang.
constexpr size_t kStep = 16;
static_assert(kJsonPadding >= kStep);
using Characters = unsigned char __attribute__((vector_size(kStep)));
using Matches = signed char __attribute__((vector_size(kStep)));  // -1 or 0.

// The place of the first match; kStep: there is none.
inline size_t First(Matches matches) {
#if defined(__SSE2__)
  const auto found = static_cast<unsigned>(_mm_movemask_epi8(reinterpret_cast<__m128i>(matches)));
  return found == 0 ? kStep : static_cast<size_t>(std::countr_zero(found));
#else
  const auto halves = std::bit_cast<std::array<uint64_t, 2> >(matches);
  for (size_t half = 0; half < halves.size(); ++half) {
    if (halves[half] == 0) continue;
    const int bits = std::endian::native == std::endian::little ? std::countr_zero(halves[half])
                                                                : std::countl_zero(halves[half]);
    return half * sizeof(uint64_t) + static_cast<size_t>(bits) / 8;
  }
  return kStep;
#endif
}

// The first character in [at, end) that wanted(characters) matches, else `end`.
template <typename Wanted>
const char* Find(const char* at, const char* end, Wanted wanted) {
  for (; at < end; at += kStep) {
    Characters characters;
    std::memcpy(&characters, at, kStep);
    const size_t found = First(wanted(characters));
    if (found < kStep) return std::min(at + found, end);
  }
  return end;
}

inline const char* FindQuoteOrEscape(const char* at, const char* end) {
  return Find(at, end, [](Characters characters) -> Matches {
    return (characters == '"') | (characters == '\\');
  });
}

// What a number or word goes on with.
inline constexpr std::array<bool, 256> kInWord = [] {
  std::array<bool, 256> in_word{};
  for (int c = '0'; c <= '9'; ++c) in_word[c] = true;
  for (int c = 'a'; c <= 'z'; ++c) in_word[c] = in_word[c - 'a' + 'A'] = true;
  in_word['+'] = in_word['-'] = in_word['.'] = in_word['_'] = true;
  return in_word;
}();

}  // namespace json_internal

inline JsonValue JsonCursor::ReadString() {
  last_string_ = at_;
  const char* const begin = ++at_;
  bool escaped = false;
  while (true) {
    at_ = json_internal::FindQuoteOrEscape(at_, end_);
    if (at_ >= end_) {
      at_ = end_;
      Fail(Failure::kEnded);
      return {};
    }
    if (*at_ == '"') break;
    escaped = true;
    at_ += 2;
  }
  const auto size = static_cast<size_t>(at_ - begin);
  ++at_;
  return {JsonKind::kString, escaped, {begin, size}};
}

inline bool JsonCursor::ReadKey(JsonValue* key) {
  char next = Peek();
  // More commas than there should be do no harm.
  while (next == ',') {
    needs_comma_ = false;
    ++at_;
    next = Peek();
  }
  if (!ok()) return false;
  if (next == '}') {
    needs_comma_ = true;  // In the object around this one.
    ++at_;
    return false;
  }
  if (next != '"' || needs_comma_) {
    Fail(Failure::kBroken);
    return false;
  }
  needs_comma_ = true;
  *key = ReadString();
  return ok() && Take(':');
}

inline JsonValue JsonCursor::ReadValue() {
  const char first = Peek();
  if (!ok()) return {};
  if (first == '"') return ReadString();
  if (first == '[' || first == '{') return ReadNested();
  const char* const begin = at_;
  while (at_ < end_ && json_internal::kInWord[static_cast<unsigned char>(*at_)]) ++at_;
  if (at_ == end_ || at_ == begin) {
    Fail(at_ == end_ ? Failure::kEnded : Failure::kBroken);
    return {};
  }
  return {JsonKind::kWord, false, {begin, static_cast<size_t>(at_ - begin)}};
}

}  // namespace tp

#endif  // ANALYZER_IMPORT_JSON_CURSOR_H_

// UTF-8 texts: names may hold any bytes, what is shown may not.
#ifndef ANALYZER_PRESENT_UTF8_H_
#define ANALYZER_PRESENT_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tp {

// The text with U+FFFD in place of each byte that is not part of a character.
std::string ValidUtf8(std::string_view text);

// Of valid UTF-8: how many code points there are, and the text of the first or last `count` of
// them.
size_t CodePoints(std::string_view text);
std::string_view FirstCodePoints(std::string_view text, size_t count);
std::string_view LastCodePoints(std::string_view text, size_t count);

}  // namespace tp

#endif  // ANALYZER_PRESENT_UTF8_H_

// Pieces of JSON text, appended to a string.
#ifndef ANALYZER_EXPORT_JSON_TEXT_H_
#define ANALYZER_EXPORT_JSON_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tp {

// `text` as a JSON string, whatever its bytes: what is no UTF-8 becomes U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

// Nanoseconds as microseconds, exact: "-0.001", "12.345".
void AppendMicroseconds(int64_t ns, std::string* out);

// An id: a number where every reader keeps it (up to 2^53), else a text.
void AppendJsonId(uint64_t id, std::string* out);

}  // namespace tp

#endif  // ANALYZER_EXPORT_JSON_TEXT_H_

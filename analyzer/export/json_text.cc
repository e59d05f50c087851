#include "analyzer/export/json_text.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "analyzer/present/utf8.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

constexpr uint64_t kLargestExactNumber = uint64_t{1} << 53;

bool IsPlain(char c) { return c >= ' ' && c < '\x7F' && c != '"' && c != '\\'; }

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  if (std::all_of(text.begin(), text.end(), IsPlain)) {
    *out += '"';
    *out += text;
    *out += '"';
    return;
  }
  *out += nlohmann::json(ValidUtf8(text)).dump();
}

void AppendMicroseconds(int64_t ns, std::string* out) {
  // The magnitude of the smallest number fits only without a sign.
  uint64_t magnitude = ns < 0 ? ~static_cast<uint64_t>(ns) + 1 : static_cast<uint64_t>(ns);
  if (ns < 0) *out += '-';
  absl::StrAppend(out, magnitude / 1000);
  const auto fraction = static_cast<int>(magnitude % 1000);
  const std::array<char, 4> digits = {'.', static_cast<char>('0' + fraction / 100),
                                      static_cast<char>('0' + fraction / 10 % 10),
                                      static_cast<char>('0' + fraction % 10)};
  out->append(digits.data(), digits.size());
}

void AppendJsonId(uint64_t id, std::string* out) {
  if (id <= kLargestExactNumber) {
    absl::StrAppend(out, id);
  } else {
    absl::StrAppend(out, "\"", id, "\"");
  }
}

}  // namespace tp

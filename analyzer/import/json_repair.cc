#include "analyzer/import/json_repair.h"

#include "analyzer/present/utf8.h"

namespace tp {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string RepairedJson(std::string_view json) {
  std::string text;
  bool in_string = false, escaped = false;
  for (const char c : ValidUtf8(json)) {
    const bool is_control = static_cast<unsigned char>(c) < ' ';
    if (in_string && is_control) {
      text += kReplacement;
    } else if (is_control || c == '\x7F') {
      text += ' ';
    } else {
      text += c;
    }
    if (in_string) {
      if (!escaped && c == '"') in_string = false;
      escaped = !escaped && c == '\\';
    } else if (c == '"') {
      in_string = true;
    }
  }
  return text;
}

}  // namespace tp

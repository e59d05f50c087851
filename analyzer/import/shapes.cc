#include "analyzer/import/shapes.h"

#include <cstddef>

#include "analyzer/import/json_cursor.h"

namespace tp {
namespace {

// Past the string that begins at `at`.
size_t EndOfString(std::string_view json, size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      return at + 1;
    }
  }
  return json.size();
}

}  // namespace

std::string ShapesFromJson(std::string_view json) {
  std::string shapes = "[";
  std::string dimensions;  // Of the list that is being read.
  bool holds_lists = false;
  bool in_scalar = false;
  size_t depth = 0;
  const auto add_input = [&] {
    if (shapes.size() > 1) shapes += ", ";
    shapes += '[';
    shapes += dimensions;
    shapes += ']';
    dimensions.clear();
  };
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      at = EndOfString(json, at);
      if (depth == 1 && !in_scalar) add_input();
      in_scalar = true;
      continue;
    }
    ++at;
    if (c == '[' || c == '{') {
      ++depth;
      if (depth == 3) {
        holds_lists = true;
        dimensions.clear();
      }
      in_scalar = false;
    } else if (c == ']' || c == '}') {
      if (depth == 3 || (depth == 2 && !holds_lists)) add_input();
      if (depth == 2) holds_lists = false;
      if (depth > 0) --depth;
      dimensions.clear();
      in_scalar = false;
    } else if (c == ',') {
      in_scalar = false;
    } else if (!IsJsonBlank(c)) {
      if (depth == 1) {
        if (!in_scalar) add_input();
      } else if (depth == 2 || depth == 3) {
        if (!in_scalar && !dimensions.empty()) dimensions += ", ";
        dimensions += c;
      }
      in_scalar = true;
    }
  }
  return shapes + "]";
}

std::string ListFromJson(std::string_view json) {
  std::string list;
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      const size_t end = EndOfString(json, at);
      list += json.substr(at, end - at);
      at = end;
      continue;
    }
    if (!IsJsonBlank(c)) list += c;
    if (c == ',') list += ' ';
    ++at;
  }
  return list;
}

std::vector<std::string> TextsFromJson(std::string_view json) {
  std::vector<std::string> texts;
  size_t depth = 0;
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      const size_t end = EndOfString(json, at);
      const bool is_whole = end - at >= 2 && json[end - 1] == '"';
      if (depth == 1 && is_whole) texts.push_back(Unescaped(json.substr(at + 1, end - at - 2)));
      at = end;
      continue;
    }
    ++at;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return texts;
}

}  // namespace tp

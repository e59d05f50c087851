#include "analyzer/summarize/texts.h"

#include <charconv>

#include "analyzer/present/utf8.h"
#include "nlohmann/json.hpp"

namespace tp {

void ParseShapes(std::string_view text, google::protobuf::RepeatedPtrField<query::Shape>* shapes) {
  int depth = 0;
  query::Shape* shape = nullptr;
  while (!text.empty()) {
    char c = text.front();
    int64_t dimension = 0;
    if (auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dimension);
        error == std::errc()) {
      if (shape == nullptr) return;
      shape->add_dimensions(dimension);
      text.remove_prefix(end - text.data());
      continue;
    }
    if (c == '[') {
      if (++depth > 2) return;
      if (depth == 2) shape = shapes->Add();
    } else if (c == ']') {
      if (--depth <= 0) return;
      shape = nullptr;
    } else if (c != ',' && c != ' ') {
      return;
    }
    text.remove_prefix(1);
  }
}

void ParseTypes(std::string_view text, google::protobuf::RepeatedPtrField<std::string>* types) {
  const auto list = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return;
  for (const auto& type : list) {
    types->Add(type.is_string() ? ValidUtf8(type.get_ref<const std::string&>()) : std::string());
  }
}

std::string ShapesText(const google::protobuf::RepeatedPtrField<query::Shape>& shapes) {
  std::string text = "[";
  for (const query::Shape& shape : shapes) {
    if (text.size() > 1) text += ", ";
    text += '[';
    for (int i = 0; i < shape.dimensions_size(); ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(shape.dimensions(i));
    }
    text += ']';
  }
  return text += ']';
}

}  // namespace tp

#include "analyzer/summarize/texts.h"

#include <array>
#include <charconv>

namespace tp {

std::string_view CopyDirection(uint32_t copy_kind) {
  static constexpr std::array<std::string_view, 11> kDirections = {
      "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return kDirections[copy_kind < kDirections.size() ? copy_kind : 0];
}

std::string_view MemoryKind(uint32_t memory_kind) {
  static constexpr std::array<std::string_view, 8> kKinds = {
      "", "pageable", "pinned", "device", "array", "managed", "device static", "managed static"};
  return kKinds[memory_kind < kKinds.size() ? memory_kind : 0];
}

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

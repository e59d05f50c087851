// Lists in JSON, as traces write shapes and types of inputs and frames of stacks, to the one form
// in which they are compared and shown. Nothing is read behind `json`.
#ifndef ANALYZER_IMPORT_SHAPES_H_
#define ANALYZER_IMPORT_SHAPES_H_

#include <string>
#include <string_view>
#include <vector>

namespace tp {

// A list with a list of dimensions for each input: "[[2, 3], []]". An input that is a list of
// tensors counts as that many inputs; one that has no dimensions (a number, a word) as "[]".
std::string ShapesFromJson(std::string_view json);

// The list with one blank after each comma and no others outside of its texts.
std::string ListFromJson(std::string_view json);

// The texts in a list of texts; of what is no text nothing.
std::vector<std::string> TextsFromJson(std::string_view json);

}  // namespace tp

#endif  // ANALYZER_IMPORT_SHAPES_H_

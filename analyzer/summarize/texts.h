// Texts of records as rows show them.
#ifndef ANALYZER_SUMMARIZE_TEXTS_H_
#define ANALYZER_SUMMARIZE_TEXTS_H_

#include <string>
#include <string_view>

#include "google/protobuf/repeated_field.h"
#include "proto/query.pb.h"

namespace tp {

// Reads "[[2, 3], []]" as far as it is one. Blanks do not matter.
void ParseShapes(std::string_view text, google::protobuf::RepeatedPtrField<query::Shape>* shapes);

// Reads JSON's list of strings, "["float", ""]"; what is none gives none.
void ParseTypes(std::string_view text, google::protobuf::RepeatedPtrField<std::string>* types);

// The reverse, canonical.
std::string ShapesText(const google::protobuf::RepeatedPtrField<query::Shape>& shapes);

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_TEXTS_H_

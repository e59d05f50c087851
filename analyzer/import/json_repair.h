// Text that is nearly JSON.
#ifndef ANALYZER_IMPORT_JSON_REPAIR_H_
#define ANALYZER_IMPORT_JSON_REPAIR_H_

#include <string>
#include <string_view>

namespace tp {

// The text with the bytes that JSON does not allow replaced (U+FFFD in strings, blanks elsewhere):
// so that an event is not lost for its name.
std::string RepairedJson(std::string_view json);

}  // namespace tp

#endif  // ANALYZER_IMPORT_JSON_REPAIR_H_

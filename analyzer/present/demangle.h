// C++ names as they were written: "_Z3addPfS_" is "add(float*, float*)".
#ifndef ANALYZER_PRESENT_DEMANGLE_H_
#define ANALYZER_PRESENT_DEMANGLE_H_

#include <string>
#include <string_view>

namespace tp {

// A name that is not one of the compiler's stays as it is.
std::string Demangle(std::string_view name);

}  // namespace tp

#endif  // ANALYZER_PRESENT_DEMANGLE_H_

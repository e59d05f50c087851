// What somebody may have meant who typed a word that is none of those that there are.
#ifndef TOOLS_CONTROL_SUGGESTION_H_
#define TOOLS_CONTROL_SUGGESTION_H_

#include <string>
#include <string_view>
#include <vector>

namespace tp {

// The known word that is nearest to `word`, or begins with it; empty where none is near.
std::string NearestWord(std::string_view word, const std::vector<std::string>& known);

// "; did you mean WORD?", or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tp

#endif  // TOOLS_CONTROL_SUGGESTION_H_

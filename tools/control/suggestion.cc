#include "tools/control/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tp {
namespace {

// No command or option is as long, and the work is quadratic.
constexpr size_t kLongest = 64;

// How many characters have to be put in, left out, replaced or exchanged with their neighbour.
size_t Distance(std::string_view one, std::string_view other) {
  std::vector<size_t> before_last, last(other.size() + 1), now(other.size() + 1);
  for (size_t j = 0; j <= other.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= one.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= other.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (one[i - 1] != other[j - 1])});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        now[j] = std::min(now[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, now);
  }
  return last[other.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, const std::vector<std::string>& known) {
  std::string nearest;
  if (word.size() < 2 || word.size() > kLongest) return nearest;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = candidate.starts_with(word) ? 1 : Distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = NearestWord(word, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace tp

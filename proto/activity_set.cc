#include "proto/activity_set.h"

#include <algorithm>

namespace tp {
namespace {

constexpr std::string_view kWords[] = {
    "kernels", "copies", "fills",    "runtime",      "driver",   "chatty", "synchronization",
    "memory",  "graphs", "captures", "compilations", "overhead", "latency"};
static_assert(std::size(kWords) == kActivities);

constexpr std::string_view kSeparators = ", \t\n";
constexpr size_t kMostUnknown = 16;

ActivitySet AllActivities() {
  ActivitySet all;
  for (size_t i = 0; i < kActivities; ++i) all.Add(static_cast<Activity>(i));
  return all;
}

// False if the word is none.
bool SetOfWord(std::string_view word, ActivitySet* set) {
  if (word == "all") {
    *set = AllActivities();
  } else if (word == "default") {
    *set = DefaultActivities();
  } else if (word == "none") {
    *set = {};
  } else {
    size_t i = 0;
    while (i < kActivities && kWords[i] != word) ++i;
    if (i == kActivities) return false;
    *set = {static_cast<Activity>(i)};
  }
  return true;
}

}  // namespace

ActivitySet DefaultActivities() {
  return {Activity::kKernels, Activity::kCopies,       Activity::kFills,   Activity::kRuntime,
          Activity::kDriver,  Activity::kCompilations, Activity::kOverhead};
}

std::string_view ActivityWord(Activity activity) { return kWords[static_cast<size_t>(activity)]; }

std::vector<std::string> ActivityWords(ActivitySet set) {
  std::vector<std::string> words;
  for (size_t i = 0; i < kActivities; ++i) {
    if (set.Has(static_cast<Activity>(i))) words.emplace_back(kWords[i]);
  }
  return words;
}

ActivitySet ParseActivities(std::string_view text, std::vector<std::string>* unknown) {
  ActivitySet set;
  bool is_first = true;
  for (;;) {
    size_t begin = text.find_first_not_of(kSeparators);
    if (begin == text.npos) break;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find_first_of(kSeparators));
    text.remove_prefix(word.size());

    const bool is_signed = word[0] == '+' || word[0] == '-';
    const bool removes = word[0] == '-';
    if (is_first && is_signed) set = DefaultActivities();
    is_first = false;
    ActivitySet meant;
    if (!SetOfWord(is_signed ? word.substr(1) : word, &meant)) {
      const bool is_told = std::find(unknown->begin(), unknown->end(), word) != unknown->end();
      if (!is_told && unknown->size() < kMostUnknown) unknown->emplace_back(word);
      continue;
    }
    for (size_t i = 0; i < kActivities; ++i) {
      const auto activity = static_cast<Activity>(i);
      if (!meant.Has(activity)) continue;
      removes ? set.Remove(activity) : set.Add(activity);
    }
  }
  // Nothing, or nothing that is known, says nothing.
  const bool says_nothing = is_first || (set == ActivitySet() && !unknown->empty());
  return says_nothing ? DefaultActivities() : set;
}

}  // namespace tp

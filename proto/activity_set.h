// Which activities are collected, by the words that users give them in TP_ACTIVITIES.
//
//   ActivitySet set = ParseActivities("+memory,-driver", &unknown);   // The default, changed.
//   ActivitySet set = ParseActivities("kernels,copies", &unknown);    // These, and no others.
#ifndef PROTO_ACTIVITY_SET_H_
#define PROTO_ACTIVITY_SET_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

enum class Activity : uint8_t {
  kKernels,
  kCopies,
  kFills,
  kRuntime,          // Calls of the runtime API, without the chatty ones.
  kDriver,           // Calls of the driver API, likewise.
  kChatty,           // Of both: calls that only ask for a state, made all the time.
  kSynchronization,  // What the host waited for.
  kMemory,           // Allocations, frees and pools.
  kGraphs,           // Whole graphs, in place of their nodes' kernels, copies and fills.
  kCaptures,         // The operations in which nodes of graphs were made.
  kCompilations,     // Compilations at run time.
  kOverhead,         // What CUPTI itself costs.
  kLatency,          // When kernels were queued and submitted.
};
inline constexpr size_t kActivities = 13;

class ActivitySet {
 public:
  constexpr ActivitySet() = default;
  constexpr ActivitySet(std::initializer_list<Activity> activities) {
    for (Activity activity : activities) Add(activity);
  }
  constexpr bool Has(Activity activity) const { return (bits_ & Bit(activity)) != 0; }
  constexpr void Add(Activity activity) { bits_ |= Bit(activity); }
  constexpr void Remove(Activity activity) { bits_ &= ~Bit(activity); }
  constexpr bool operator==(const ActivitySet&) const = default;

 private:
  static constexpr uint32_t Bit(Activity activity) {
    return uint32_t{1} << static_cast<unsigned>(activity);
  }
  uint32_t bits_ = 0;
};

// What costs next to nothing: see docs/commands.md for the reasons.
ActivitySet DefaultActivities();

// "kernels", ...
std::string_view ActivityWord(Activity activity);
// The words of a set, in the order of the enumeration.
std::vector<std::string> ActivityWords(ActivitySet set);

// Words between commas or blanks, each read in its turn: one with `+` or `-` before it adds to or
// takes from what is there, one without adds. A list that begins with a signed word begins with the
// default, another with nothing; `default`, `all` and `none` are words as well. Empty: the default.
// Words that are none are left out and appended to `unknown`, each once, the first 16.
ActivitySet ParseActivities(std::string_view text, std::vector<std::string>* unknown);

}  // namespace tp

#endif  // PROTO_ACTIVITY_SET_H_

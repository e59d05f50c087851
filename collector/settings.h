// What the user has set by environment variables (docs/getting_started.md lists them).
#ifndef COLLECTOR_SETTINGS_H_
#define COLLECTOR_SETTINGS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "collector/cupti/priority.h"
#include "proto/activity_set.h"

namespace tp::collect {

enum class Mode { kOff, kDormant, kOn };

// TP_COLLECT; off in a process with more rights than its user has. Allocates nothing: it is asked
// in every process that the library is loaded into.
Mode ReadMode();

// TP_BUFFER_MB, in bytes.
size_t ReadMemoryBytes();

// TP_STACKS: how many frames of ranges' stacks are wanted. 0: none.
size_t ReadStackFrames();

struct Settings {
  Mode mode = Mode::kOn;
  size_t memory_bytes = 0;
  ActivitySet activities;
  Priority priority = Priority::kOthers;
  std::vector<std::string> notes;  // A line for each value that is unknown: its default holds.
};
Settings ReadSettings();

}  // namespace tp::collect

#endif  // COLLECTOR_SETTINGS_H_

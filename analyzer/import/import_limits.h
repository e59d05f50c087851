// What bounds an import, and what it tells on its way.
#ifndef ANALYZER_IMPORT_IMPORT_LIMITS_H_
#define ANALYZER_IMPORT_IMPORT_LIMITS_H_

#include <cstddef>
#include <functional>

namespace tp {

// What a recording takes in memory: a small file can be unpacked to more than any machine has. What
// comes behind is left out, and told.
struct ImportLimits {
  size_t records = size_t{1} << 26;
  size_t text_bytes = size_t{2} << 30;
};

// What to do on the way; may be empty.
struct ImportProgress {
  // Told now and then which part of the file is read, up to 1.
  std::function<void(double part)> told = {};
  // Asked now and then; true: the import ends as Cancelled.
  std::function<bool()> cancelled = {};
};

}  // namespace tp

#endif  // ANALYZER_IMPORT_IMPORT_LIMITS_H_

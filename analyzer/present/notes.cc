#include "analyzer/present/notes.h"

#include "absl/strings/str_cat.h"
#include "analyzer/present/units.h"

namespace tp {

std::string UnattributedNote(uint64_t count, int64_t total_ns, bool more_may_come) {
  return absl::StrCat(
      more_may_come ? "device work without an operation, or whose launch is still to come: "
                    : "device work without an operation: ",
      count, " records, ",
      DurationText(static_cast<double>(total_ns) / 1000.0, TimeUnit::kChosenBySize));
}

}  // namespace tp

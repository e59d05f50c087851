#include "analyzer/present/notes.h"

#include "absl/strings/str_cat.h"
#include "analyzer/present/units.h"

namespace tp {
namespace {

const char* RecordsOf(query::View view) {
  switch (view) {
    case query::KERNELS:
      return "records of device work";
    case query::COPIES:
      return "copies";
    case query::API:
      return "calls";
    default:
      return "spans";
  }
}

}  // namespace

std::string UnattributedNote(uint64_t count, int64_t total_ns, bool more_may_come) {
  return absl::StrCat(
      more_may_come ? "device work without an operation, or whose launch is still to come: "
                    : "device work without an operation: ",
      Counted(count, "record"), ", ",
      DurationText(static_cast<double>(total_ns) / 1000.0, TimeUnit::kChosenBySize));
}

void AddNotesOfRows(bool top_level, query::Table* table) {
  if (table->other_records() > 0) {
    table->add_notes(absl::StrCat(
        table->other_records(), " ", RecordsOf(table->view()),
        " are in the row (other): there are more different ones than the daemon keeps rows for "
        "(start it with a higher --memory)"));
  }
  if (top_level && table->view() == query::OPERATIONS) {
    table->add_notes(
        "groups are of spans of every level: --top-level leaves nested ones out with --view spans "
        "only");
  } else if (top_level && table->view() != query::SPANS) {
    table->add_notes("--top-level has a meaning with --view spans only");
  }
}

}  // namespace tp

#include "tests/golden/same_summary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/present/table.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {

std::string AllTables(const WholeRecording& recording, bool with_processes) {
  const Summary summary = Summarize(recording);
  std::string text;
  const auto add = [&](const TableOptions& options) {
    query::Table table = TabulateWhole(recording, summary, options);
    table.clear_notes();
    table.clear_processes();
    if (!with_processes) {
      for (query::StreamRow& row : *table.mutable_streams()) row.clear_pid();
    }
    TextOptions with_flops;
    with_flops.with_flops = true;
    absl::StrAppend(&text, *FormatTable(table, with_flops), "\n", *FormatJson(table, {}));
  };
  for (query::View view :
       {query::OPERATIONS, query::KERNELS, query::COPIES, query::API, query::STREAMS,
        query::COUNTERS}) {
    add({.view = view});
  }
  add({.view = query::OPERATIONS, .group_by_shape = true});
  add({.view = query::OPERATIONS, .group_by_stack = 3});
  return text;
}

std::string FirstDifference(const std::string& actual, const std::string& expected) {
  if (actual == expected) return "";
  const auto [a, b] = std::mismatch(actual.begin(), actual.end(), expected.begin(), expected.end());
  const auto around = [](const std::string& text, std::string::const_iterator place) {
    const size_t at = static_cast<size_t>(place - text.begin());
    return text.substr(at < 200 ? 0 : at - 200, 400);
  };
  return absl::StrCat("is: ", around(actual, a), "\nshould: ", around(expected, b));
}

}  // namespace tp

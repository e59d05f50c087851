// Tables as text: the one formatter for live sessions, files, `tpctl table` and `tpctl top --once`.
#ifndef ANALYZER_PRESENT_TABLE_H_
#define ANALYZER_PRESENT_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/query.pb.h"

namespace tp {

enum class TimeUnit { kChosenBySize, kSeconds, kMilliseconds, kMicroseconds };

struct TextOptions {
  std::string sort_by;     // Empty: the rows' default order. See SortRows.
  int64_t row_limit = -1;  // Negative: all.
  std::string header;
  bool with_flops = false;
  TimeUnit time_unit = TimeUnit::kChosenBySize;
  // Says so above OPERATIONS and SPANS; leaving rows out is Tabulate's work.
  bool top_level_events_only = false;
  // Column widths in Unicode code points; nullopt: no limit.
  std::optional<int> max_name_width = 55;
  std::optional<int> max_shapes_width = 80;
  std::optional<int> max_source_width = 75;
};

// "operations", "kernels", ...: as --view names them.
const char* ViewName(query::View view);

// "s", "ms", "us"; anything else is InvalidArgument: "unsupported time_unit: ...".
absl::StatusOr<TimeUnit> ParseTimeUnit(std::string_view text);

// Sorts the rows of the table's view, stable on top of their order; InvalidArgument ("unsupported
// sort_by: ...") lists the keys that the view has. In a key "xpu" and "privateuse1" mean what
// "cuda" does: the device.
absl::Status SortRows(std::string_view key, query::Table* table);

// The table of any view as text: of OPERATIONS, SPANS and KERNELS exactly as specified (section 5
// and 6), of the others in the same layout. Sorts a copy where asked. Ends with a line end, but for
// KERNELS; no rows of operations or spans are an empty text.
absl::StatusOr<std::string> FormatTable(const query::Table& table, const TextOptions& options);

// One JSON object: {"view", "rows", "totals", "losses", "notes"}; whole ns; losses as {kind:
// {cause: count}}. Valid JSON whatever the names hold; ends with a line end.
absl::StatusOr<std::string> FormatJson(const query::Table& table, const TextOptions& options);

// A title line and a line per row, as RFC 4180 has it: line ends are CR LF, and what has a comma, a
// quote or a control character in it is quoted, but never changed. Whole ns.
absl::StatusOr<std::string> FormatCsv(const query::Table& table, const TextOptions& options);

// Such a line, its end included.
std::string CsvLine(const std::vector<std::string>& cells);

}  // namespace tp

#endif  // ANALYZER_PRESENT_TABLE_H_

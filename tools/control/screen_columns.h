// What the screen shows of one view: its columns, and the text of each cell. Cells are made only
// when they are asked for, since a screen shows few of the many rows that a table may have.
#ifndef TOOLS_CONTROL_SCREEN_COLUMNS_H_
#define TOOLS_CONTROL_SCREEN_COLUMNS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/present/table.h"
#include "proto/query.pb.h"

namespace tp {

// How fast each row grows: what its main number (device time in ns, bytes, calls, events) gained
// per second between two tables, by the row's key.
using Rates = std::map<std::string, double>;

// Rates of the rows of `now` against those of `before`, an earlier table of the same request. Rows
// without an earlier one, or that began anew, count from 0.
Rates RatesBetween(const query::Table& before, const query::Table& now);

struct ColumnOptions {
  bool with_rates = false;  // The column that RatesBetween fills.
  bool with_shapes = false;
  bool with_stack = false;
  bool with_flops = false;
  TimeUnit time_unit = TimeUnit::kChosenBySize;
};

struct Column {
  std::string title;
  std::string sort_key;  // Of SortRows, or kRateKey; empty: cannot be sorted by.
  int importance = 0;    // Where there is no room for all: those with the lowest stay.
  bool flush_left = false;
  std::function<std::string(int row)> cell;  // Escaped text.
};

inline constexpr char kRateKey[] = "rate";

struct ViewColumns {
  std::vector<Column> columns;  // The first is the name; it stays and takes the room that is left.
  int rows = 0;
  std::function<std::string(int row)> searched;  // The text that a filter looks into.
};

// Refers to `table` and `rates`: both outlive the result.
ViewColumns ColumnsOf(const query::Table& table, const Rates& rates, const ColumnOptions& options);

// SortRows, and by kRateKey too: fastest first.
absl::Status SortScreenRows(const std::string& key, const Rates& rates, query::Table* table);

// Rows of the table's view.
int RowCount(const query::Table& table);

// All that is recorded of a process, of every kind.
uint64_t EventCount(const query::Process& process);

// "cuda" as titles have it: "CUDA"; "Device" where there is none.
std::string DeviceTitle(const query::Table& table);

}  // namespace tp

#endif  // TOOLS_CONTROL_SCREEN_COLUMNS_H_

#include "tools/control/screen_columns.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzer/present/command.h"
#include "analyzer/present/process_list.h"
#include "analyzer/present/units.h"
#include "tools/control/quantity.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

// A byte that is in no UTF-8 text parts the parts of a key.
constexpr char kBetween[] = "\xff";

std::string ShapesText(const query::OperationRow& row) {
  if (!row.has_input_shapes()) return "";
  return absl::StrCat("[",
                      absl::StrJoin(row.input_shapes(), ", ",
                                    [](std::string* out, const query::Shape& shape) {
                                      absl::StrAppend(out, "[",
                                                      absl::StrJoin(shape.dimensions(), ", "), "]");
                                    }),
                      "]");
}

std::string RowKey(const query::OperationRow& row) {
  return absl::StrCat(row.name(), kBetween, row.kind(), kBetween, ShapesText(row), kBetween,
                      absl::StrJoin(row.stack(), kBetween));
}
std::string RowKey(const query::WorkRow& row) {
  return absl::StrCat(row.name(), kBetween, row.raw_name(), kBetween, row.kind());
}
std::string RowKey(const query::CopyRow& row) {
  return absl::StrCat(row.direction(), kBetween, row.source_memory(), kBetween,
                      row.destination_memory());
}
std::string RowKey(const query::CallRow& row) {
  return absl::StrCat(row.name(), kBetween, row.domain());
}
std::string RowKey(const query::StreamRow& row) {
  return absl::StrJoin(
      {row.pid(), int64_t{row.device()}, int64_t{row.context()}, int64_t{row.stream()}}, kBetween);
}
std::string RowKey(const query::MemoryRow& row) {
  return absl::StrCat(row.pid(), kBetween, row.kind(), kBetween, row.from_pool(), kBetween,
                      row.device());
}
std::string RowKey(const query::CounterRow& row) {
  return absl::StrCat(row.pid(), kBetween, row.name());
}
std::string RowKey(const query::Process& process) {
  return absl::StrCat(process.pid(), kBetween, process.connected_ns());
}

double Grown(const query::OperationRow& row) {
  return static_cast<double>(row.self_device_time_total_ns());
}
double Grown(const query::WorkRow& row) { return static_cast<double>(row.total_ns()); }
double Grown(const query::CopyRow& row) { return static_cast<double>(row.bytes()); }
double Grown(const query::CallRow& row) { return static_cast<double>(row.count()); }
double Grown(const query::StreamRow& row) { return static_cast<double>(row.busy_ns()); }
double Grown(const query::MemoryRow& row) { return static_cast<double>(row.allocated_bytes()); }
double Grown(const query::CounterRow& row) { return static_cast<double>(row.count()); }
double Grown(const query::Process& process) { return static_cast<double>(EventCount(process)); }

// Calls `visit` with the rows of the table's view, whatever their type.
template <typename Table, typename Visitor>
void VisitRows(Table& table, Visitor visit) {
  constexpr bool kMutable = !std::is_const_v<Table>;
  const auto choose = [&](auto& rows) { visit(rows); };
  if constexpr (kMutable) {
    switch (table.view()) {
      case query::KERNELS:
        return choose(*table.mutable_kernels());
      case query::COPIES:
        return choose(*table.mutable_copies());
      case query::API:
        return choose(*table.mutable_calls());
      case query::STREAMS:
        return choose(*table.mutable_streams());
      case query::MEMORY:
        return choose(*table.mutable_memory());
      case query::COUNTERS:
        return choose(*table.mutable_counters());
      case query::PROCESSES:
        return choose(*table.mutable_processes());
      default:
        return choose(*table.mutable_operations());
    }
  } else {
    switch (table.view()) {
      case query::KERNELS:
        return choose(table.kernels());
      case query::COPIES:
        return choose(table.copies());
      case query::API:
        return choose(table.calls());
      case query::STREAMS:
        return choose(table.streams());
      case query::MEMORY:
        return choose(table.memory());
      case query::COUNTERS:
        return choose(table.counters());
      case query::PROCESSES:
        return choose(table.processes());
      default:
        return choose(table.operations());
    }
  }
}

double RateOf(const Rates& rates, const std::string& key) {
  const auto found = rates.find(key);
  return found == rates.end() ? 0 : found->second;
}

// Device time gained per second of real time: above 1000 where streams or devices run at the same
// time.
std::string MillisecondsPerSecond(double ns_per_second) {
  return absl::StrFormat("%.1f", ns_per_second / 1e6);
}

double Average(int64_t total, int64_t count) {
  return count > 0 ? static_cast<double>(total) / static_cast<double>(count) : 0;
}

std::string CallCount(int64_t count) { return absl::StrCat(count); }

void AddOperations(const query::Table& table, const Rates& rates, const ColumnOptions& options,
                   ViewColumns* view) {
  const auto& rows = table.operations();
  const auto time = [unit = options.time_unit](double ns) { return DurationText(ns / 1000, unit); };
  const std::string device = DeviceTitle(table);
  const bool has_device = std::any_of(rows.begin(), rows.end(), [](const auto& row) {
    return row.self_device_time_total_ns() > 0 || row.device_time_total_ns() > 0;
  });
  std::vector<Column>& columns = view->columns;
  columns.push_back(
      {"Name", "name", 0, true, [&rows](int i) { return EscapeForTerminal(rows[i].name()); }});
  if (has_device) {
    if (options.with_rates) {
      columns.push_back({device + " ms/s", kRateKey, 2, false, [&rows, &rates](int i) {
                           return MillisecondsPerSecond(RateOf(rates, RowKey(rows[i])));
                         }});
    }
    columns.push_back({"Self " + device, "self_device_time_total", 1, false,
                       [&rows, time](int i) { return time(rows[i].self_device_time_total_ns()); }});
    columns.push_back({"Self " + device + " %", "", 5, false, [&rows, &table](int i) {
                         return ShareText(rows[i].self_device_time_total_ns(),
                                          table.self_device_time_total_ns());
                       }});
    columns.push_back({device + " total", "device_time_total", 6, false,
                       [&rows, time](int i) { return time(rows[i].device_time_total_ns()); }});
    columns.push_back({device + " time avg", "device_time", 8, false, [&rows, time](int i) {
                         return time(Average(rows[i].device_time_total_ns(), rows[i].count()));
                       }});
  }
  columns.push_back({"Self CPU", "self_cpu_time_total", 3, false,
                     [&rows, time](int i) { return time(rows[i].self_cpu_time_total_ns()); }});
  columns.push_back({"Self CPU %", "", 9, false, [&rows, &table](int i) {
                       return ShareText(rows[i].self_cpu_time_total_ns(),
                                        table.self_cpu_time_total_ns());
                     }});
  columns.push_back({"CPU total", "cpu_time_total", 7, false,
                     [&rows, time](int i) { return time(rows[i].cpu_time_total_ns()); }});
  columns.push_back({"CPU time avg", "cpu_time", 10, false, [&rows, time](int i) {
                       return time(Average(rows[i].cpu_time_total_ns(), rows[i].count()));
                     }});
  columns.push_back(
      {"# of Calls", "count", 4, false, [&rows](int i) { return CallCount(rows[i].count()); }});
  if (options.with_flops) {
    columns.push_back({"FLOPs", "flops", 2, false, [&rows](int i) {
                         return rows[i].flops() > 0 ? CountText(rows[i].flops()) : "--";
                       }});
  }
  if (options.with_shapes) {
    columns.push_back(
        {"Input Shapes", "", 3, true, [&rows](int i) { return ShapesText(rows[i]); }});
  }
  if (options.with_stack) {
    columns.push_back({"Source Location", "", 3, true, [&rows](int i) {
                         return rows[i].stack().empty() ? "" : EscapeForTerminal(rows[i].stack(0));
                       }});
  }
}

// Total, calls, average, shortest and longest: what kernels, copies and calls have in common.
template <typename Rows>
void AddTimes(const Rows& rows, TimeUnit unit, std::vector<Column>* columns) {
  const auto time = [unit](double ns) { return DurationText(ns / 1000, unit); };
  columns->push_back(
      {"Total", "total_us", 1, false, [&rows, time](int i) { return time(rows[i].total_ns()); }});
  columns->push_back(
      {"# of Calls", "count", 3, false, [&rows](int i) { return CallCount(rows[i].count()); }});
  columns->push_back({"Average", "avg_us", 4, false, [&rows, time](int i) {
                        return time(Average(rows[i].total_ns(), rows[i].count()));
                      }});
  columns->push_back(
      {"Shortest", "min_us", 7, false, [&rows, time](int i) { return time(rows[i].min_ns()); }});
  columns->push_back(
      {"Longest", "max_us", 6, false, [&rows, time](int i) { return time(rows[i].max_ns()); }});
}

void AddKernels(const query::Table& table, const Rates& rates, const ColumnOptions& options,
                ViewColumns* view) {
  const auto& rows = table.kernels();
  std::vector<Column>& columns = view->columns;
  columns.push_back(
      {"Name", "name", 0, true, [&rows](int i) { return EscapeForTerminal(rows[i].name()); }});
  columns.push_back({"Kind", "", 8, true, [&rows](int i) {
                       const std::string& kind = rows[i].kind();
                       return kind == "k"   ? std::string("kernel")
                              : kind == "m" ? std::string("copy")
                              : kind == "s" ? std::string("fill")
                                            : EscapeForTerminal(kind);
                     }});
  if (options.with_rates) {
    columns.push_back({"ms/s", kRateKey, 2, false, [&rows, &rates](int i) {
                         return MillisecondsPerSecond(RateOf(rates, RowKey(rows[i])));
                       }});
  }
  AddTimes(rows, options.time_unit, &columns);
  columns.push_back({"Total %", "", 5, false, [&rows, &table](int i) {
                       return ShareText(rows[i].total_ns(), table.device_time_total_ns());
                     }});
}

void AddCopies(const query::Table& table, const Rates& rates, const ColumnOptions& options,
               ViewColumns* view) {
  const auto& rows = table.copies();
  std::vector<Column>& columns = view->columns;
  columns.push_back({"Direction", "name", 0, true, [&rows](int i) {
                       std::string text = rows[i].direction();
                       if (text == "fill") {  // Comes from nowhere.
                         absl::StrAppend(&text, "  ", rows[i].destination_memory());
                       } else if (!rows[i].source_memory().empty() ||
                                  !rows[i].destination_memory().empty()) {
                         absl::StrAppend(&text, "  ", rows[i].source_memory(), " to ",
                                         rows[i].destination_memory());
                       }
                       return EscapeForTerminal(text);
                     }});
  if (options.with_rates) {
    columns.push_back({"Bytes/s", kRateKey, 2, false, [&rows, &rates](int i) {
                         return BytesText(static_cast<int64_t>(RateOf(rates, RowKey(rows[i]))));
                       }});
  }
  columns.push_back(
      {"Bytes", "bytes", 2, false, [&rows](int i) { return BytesText(rows[i].bytes()); }});
  columns.push_back({"GB/s in copy", "", 5, false, [&rows](int i) {
                       if (rows[i].total_ns() <= 0) return std::string("-");
                       return absl::StrFormat("%.2f", static_cast<double>(rows[i].bytes()) /
                                                          static_cast<double>(rows[i].total_ns()));
                     }});
  AddTimes(rows, options.time_unit, &columns);
}

void AddCalls(const query::Table& table, const Rates& rates, const ColumnOptions& options,
              ViewColumns* view) {
  const auto& rows = table.calls();
  std::vector<Column>& columns = view->columns;
  columns.push_back(
      {"Name", "name", 0, true, [&rows](int i) { return EscapeForTerminal(rows[i].name()); }});
  columns.push_back(
      {"Domain", "", 7, true, [&rows](int i) { return EscapeForTerminal(rows[i].domain()); }});
  if (options.with_rates) {
    columns.push_back({"Calls/s", kRateKey, 2, false, [&rows, &rates](int i) {
                         return CountText(RateOf(rates, RowKey(rows[i])));
                       }});
  }
  AddTimes(rows, options.time_unit, &columns);
  columns.push_back(
      {"Errors", "errors", 3, false, [&rows](int i) { return CallCount(rows[i].errors()); }});
}

void AddStreams(const query::Table& table, const Rates& rates, const ColumnOptions& options,
                ViewColumns* view) {
  const auto& rows = table.streams();
  const auto time = [unit = options.time_unit](double ns) { return DurationText(ns / 1000, unit); };
  std::vector<Column>& columns = view->columns;
  columns.push_back({"Stream", "stream", 0, true, [&rows](int i) {
                       std::string text =
                           absl::StrFormat("device %d, context %d, stream %d", rows[i].device(),
                                           rows[i].context(), rows[i].stream());
                       if (!rows[i].name().empty()) {
                         absl::StrAppend(&text, " (", EscapeForTerminal(rows[i].name()), ")");
                       }
                       return text;
                     }});
  columns.push_back(
      {"PID", "pid", 3, false, [&rows](int i) { return absl::StrCat(rows[i].pid()); }});
  if (options.with_rates) {
    columns.push_back({"Busy ms/s", kRateKey, 2, false, [&rows, &rates](int i) {
                         return MillisecondsPerSecond(RateOf(rates, RowKey(rows[i])));
                       }});
  }
  columns.push_back(
      {"Busy", "busy_us", 1, false, [&rows, time](int i) { return time(rows[i].busy_ns()); }});
  columns.push_back(
      {"Sum", "total_us", 5, false, [&rows, time](int i) { return time(rows[i].total_ns()); }});
  columns.push_back(
      {"# of Records", "count", 4, false, [&rows](int i) { return CallCount(rows[i].count()); }});
}

void AddProcesses(const query::Table& table, const Rates& rates, const ColumnOptions& options,
                  ViewColumns* view) {
  const auto& rows = table.processes();
  std::vector<Column>& columns = view->columns;
  columns.push_back({"Command", "command", 0, true, [&rows](int i) {
                       return EscapeForTerminal(ShortCommand(rows[i].command()));
                     }});
  columns.push_back(
      {"PID", "pid", 1, false, [&rows](int i) { return absl::StrCat(rows[i].pid()); }});
  columns.push_back({"State", "", 1, true, [&rows](int i) { return StateText(rows[i]); }});
  if (options.with_rates) {
    columns.push_back({"Events/s", kRateKey, 2, false, [&rows, &rates](int i) {
                         return CountText(RateOf(rates, RowKey(rows[i])));
                       }});
  }
  columns.push_back({"Events", "", 3, false, [&rows](int i) {
                       return CountText(static_cast<double>(EventCount(rows[i])));
                     }});
  columns.push_back(
      {"Device time", "device_time", 4, false, [&rows, unit = options.time_unit](int i) {
         return DurationText(static_cast<double>(rows[i].device_time_ns()) / 1000, unit);
       }});
  columns.push_back({"Lost", "", 5, false, [&rows](int i) {
                       uint64_t lost = 0;
                       for (const query::Loss& loss : rows[i].losses()) lost += loss.count();
                       return CountText(static_cast<double>(lost)) +
                              (rows[i].more_may_be_lost() ? "+?" : "");
                     }});
  columns.push_back({"Memory", "", 8, false, [&rows](int i) {
                       return BytesText(static_cast<int64_t>(rows[i].collector_memory_bytes()));
                     }});
  columns.push_back({"CUPTI", "", 7, false,
                     [&rows](int i) { return CuptiVersionText(rows[i].cupti_version()); }});
  columns.push_back(
      {"Why not", "", 6, true, [&rows](int i) { return EscapeForTerminal(rows[i].reason()); }});
}

}  // namespace

Rates RatesBetween(const query::Table& before, const query::Table& now) {
  Rates rates;
  const double seconds = static_cast<double>(now.now_ns() - before.now_ns()) / 1e9;
  if (seconds <= 0 || before.view() != now.view()) return rates;
  VisitRows(before, [&](const auto& rows) {
    for (const auto& row : rows) rates[RowKey(row)] = Grown(row);
  });
  Rates earlier = std::move(rates);
  rates.clear();
  VisitRows(now, [&](const auto& rows) {
    for (const auto& row : rows) {
      const std::string key = RowKey(row);
      const double then = RateOf(earlier, key);
      rates[key] = (Grown(row) >= then ? Grown(row) - then : Grown(row)) / seconds;
    }
  });
  return rates;
}

ViewColumns ColumnsOf(const query::Table& table, const Rates& rates, const ColumnOptions& options) {
  ViewColumns view;
  switch (table.view()) {
    case query::KERNELS:
      AddKernels(table, rates, options, &view);
      break;
    case query::COPIES:
      AddCopies(table, rates, options, &view);
      break;
    case query::API:
      AddCalls(table, rates, options, &view);
      break;
    case query::STREAMS:
      AddStreams(table, rates, options, &view);
      break;
    case query::PROCESSES:
      AddProcesses(table, rates, options, &view);
      break;
    default:
      AddOperations(table, rates, options, &view);
  }
  view.rows = RowCount(table);
  view.searched = view.columns.front().cell;
  return view;
}

absl::Status SortScreenRows(const std::string& key, const Rates& rates, query::Table* table) {
  if (key.empty()) return absl::OkStatus();
  if (key != kRateKey) return SortRows(key, table);
  VisitRows(*table, [&](auto& rows) {
    std::stable_sort(rows.pointer_begin(), rows.pointer_end(), [&](const auto* a, const auto* b) {
      return RateOf(rates, RowKey(*a)) > RateOf(rates, RowKey(*b));
    });
  });
  return absl::OkStatus();
}

int RowCount(const query::Table& table) {
  int count = 0;
  VisitRows(table, [&](const auto& rows) { count = rows.size(); });
  return count;
}

uint64_t EventCount(const query::Process& process) {
  uint64_t count = 0;
  for (const query::KindCount& events : process.events()) count += events.count();
  return count;
}

std::string DeviceTitle(const query::Table& table) {
  if (table.device_kind().empty()) return "Device";
  std::string title = EscapeForTerminal(table.device_kind());
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return title;
}

}  // namespace tp

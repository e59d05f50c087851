// Every golden case's tables and numbers, compared with what comes out of the analyzer.
//
// Compared: the calls of EventList.table, key_averages(...).table, key_averages, total_average,
// function_events, device_kernels and its tables, and the errors of these. exports_test compares
// the others. The real ones twice: as recordings, and imported from the traces they were made of.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "analyzer/import/import.h"
#include "analyzer/present/table.h"
#include "analyzer/summarize/summary.h"
#include "analyzer/summarize/whole_summary.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_case.h"

namespace tp {
namespace {

using nlohmann::json;

std::optional<int> Width(const json& options, const char* name, int standard) {
  if (!options.contains(name)) return standard;
  if (options[name].is_null()) return std::nullopt;
  return options[name].get<int>();
}

// The formatter's options from those of the call; a wrong unit is an error.
absl::StatusOr<TextOptions> TextOptionsFrom(const json& options, int64_t row_limit) {
  TextOptions text;
  text.row_limit = row_limit;
  if (options.contains("row_limit")) {
    text.row_limit = options["row_limit"].is_null() ? -1 : options["row_limit"].get<int64_t>();
  }
  text.header = options.value("header", "");
  text.top_level_events_only = options.value("top_level_events_only", false);
  text.max_name_width = Width(options, "max_name_column_width", 55);
  text.max_shapes_width = Width(options, "max_shapes_column_width", 80);
  text.max_source_width = Width(options, "max_src_column_width", 75);
  if (options.contains("time_unit")) {
    absl::StatusOr<TimeUnit> unit = ParseTimeUnit(options["time_unit"].get<std::string>());
    if (!unit.ok()) return unit.status();
    text.time_unit = *unit;
  }
  return text;
}

// The first line that differs, as it is and as it should be: whole tables would be too much to
// read.
std::string FirstDifference(const std::string& actual, const std::string& expected) {
  if (actual == expected) return "";
  size_t place = 0;
  while (place < actual.size() && place < expected.size() && actual[place] == expected[place]) {
    ++place;
  }
  size_t begin = place == 0 ? 0 : actual.rfind('\n', place - 1) + 1;
  auto line = [&](const std::string& text) {
    return text.substr(begin, text.find('\n', place) - begin);
  };
  return "byte " + std::to_string(place) + "\n     is: " + line(actual) +
         "\n should: " + line(expected);
}

class Comparison {
 public:
  explicit Comparison(const std::filesystem::path& folder)
      : golden_(folder), recording_(golden_.recording()), summary_(Summarize(recording_)) {}
  // With a recording that should be the same.
  Comparison(const std::filesystem::path& folder, const WholeRecording& recording)
      : golden_(folder), recording_(recording), summary_(Summarize(recording_)) {}

  void CompareAll() {
    std::vector<std::string> files;
    for (const GoldenCase::Output& output : golden_.outputs()) files.push_back(output.file);
    std::sort(files.begin(), files.end());
    EXPECT_EQ(files, golden_.ExpectedFiles());
    for (const GoldenCase::Output& output : golden_.outputs()) {
      SCOPED_TRACE(output.file);
      Compare(output);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  query::Table Rows(query::View view, const json& grouping = json::object(),
                    bool top_level = false) {
    TableOptions options;
    options.view = view;
    options.group_by_shape = grouping.value("group_by_input_shape", false);
    options.group_by_stack = grouping.value("group_by_stack_n", 0);
    options.top_level = top_level;
    const Summary* summary = &summary_;
    query::Table table = Tabulate({&summary, 1}, options, 0);
    if (!recording_.device_kind.empty()) table.set_device_kind(recording_.device_kind);
    return table;
  }

  // The table that a call asks for as text.
  absl::StatusOr<std::string> Text(const std::string& call, const json& options, bool with_flops) {
    json text_options = options, grouping;
    int64_t row_limit = -1;
    query::Table table;
    if (call == "EventList.table") {
      row_limit = 100;
      table = Rows(query::SPANS, json::object(), options.value("top_level_events_only", false));
    } else if (call == "EventList.key_averages(...).table") {
      text_options = options["table"];
      with_flops = options["key_averages"].value("with_flops", with_flops);
      table = Rows(query::OPERATIONS, options["key_averages"]);
      // Averages that do not count flops have none, also when they are sorted by them.
      if (!with_flops) {
        for (auto& row : *table.mutable_operations()) row.clear_flops();
      }
    } else {
      text_options = options["table"];
      if (options["device_kernels"].contains("sort_by")) {
        text_options["sort_by"] = options["device_kernels"]["sort_by"];
      }
      table = Rows(query::KERNELS);
    }
    absl::StatusOr<TextOptions> text = TextOptionsFrom(text_options, row_limit);
    if (!text.ok()) return text.status();
    text->with_flops = with_flops;
    if (text_options.contains("sort_by") && !text_options["sort_by"].is_null()) {
      absl::Status sorted = SortRows(text_options["sort_by"].get<std::string>(), &table);
      if (!sorted.ok()) return sorted;
    }
    return FormatTable(table, *text);
  }

  void Compare(const GoldenCase::Output& output) {
    const std::string& call = output.call;
    if (output.kind == "errors") {
      CompareErrors(json::parse(golden_.Expected(output)));
    } else if (WhoCompares(call) != ComparedBy::kTables) {
      return;
    } else if (call.ends_with("table")) {
      absl::StatusOr<std::string> text = Text(call, output.options, output.list_with_flops);
      ASSERT_TRUE(text.ok()) << text.status();
      EXPECT_EQ(FirstDifference(*text, golden_.Expected(output)), "");
    } else if (call == "EventList.key_averages") {
      bool with_flops = output.options.value("with_flops", false);
      CompareAverages(json::parse(golden_.Expected(output)),
                      Rows(query::OPERATIONS, output.options), with_flops);
    } else if (call == "EventList.total_average") {
      query::Table table = Rows(query::OPERATIONS);
      query::OperationRow total = TotalRow(table);
      *table.mutable_operations()->Add() = total;
      table.mutable_operations()->DeleteSubrange(0, table.operations_size() - 1);
      table.clear_device_kind();
      CompareGroups(RowsOf(json::parse(golden_.Expected(output))), table,
                    total.self_cpu_time_total_ns(), output.list_with_flops);
    } else if (call == "EventList.function_events") {
      CompareSpans(RowsOf(json::parse(golden_.Expected(output))));
    } else {
      CompareKernels(json::parse(golden_.Expected(output)), output.options);
    }
  }

  static void CompareAverages(const json& expected, const query::Table& table, bool with_flops) {
    const query::OperationRow total = TotalRow(table);
    const int64_t flops = with_flops ? total.flops() : 0;
    CompareRow({{"has_gpu", total.device_time_total_ns() != 0},
                {"with_flops", with_flops},
                {"has_flops", flops != 0},
                {"total_ns", total.cpu_time_total_ns()},
                {"total_cuda_us", Us(total.device_time_total_ns())},
                {"total_flops", flops},
                {"self_cpu_time_total", Us(table.self_cpu_time_total_ns())},
                {"cpu_time_total", Us(total.cpu_time_total_ns())}},
               FactsOf(expected));
    CompareGroups(RowsOf(expected), table, total.cpu_time_total_ns(), with_flops);
  }

  static void CompareGroups(const std::vector<NamedColumns>& expected, const query::Table& table,
                            int64_t whole_ns, bool with_flops) {
    ASSERT_EQ(expected.size(), static_cast<size_t>(table.operations_size()));
    for (int i = 0; i < table.operations_size(); ++i) {
      SCOPED_TRACE(i);
      const query::OperationRow& row = table.operations(i);
      NamedColumns columns =
          GroupColumns(row.name(), row.kind(), row.count(), row.cpu_time_total_ns(),
                       row.cpu_time_min_ns(), row.cpu_time_max_ns(), row.self_cpu_time_total_ns(),
                       row.device_time_total_ns(), row.self_device_time_total_ns());
      columns["self_pct"] =
          whole_ns == 0 ? 0.0 : Us(row.self_cpu_time_total_ns()) * 100.0 / Us(whole_ns);
      columns["kernel_count"] = row.kernel_count();
      columns["output_bytes"] = row.output_bytes();
      columns["nested_output_bytes"] = row.nested_output_bytes();
      columns["flops"] = with_flops ? row.flops() : 0;
      columns["is_async"] = row.asynchronous();
      columns["input_shapes"] = Shapes(row);
      columns["stack"] = Stack(row);
      columns["use_device"] = DeviceKind(table);
      CompareRow(columns, expected[i]);
    }
  }

  // What groups of operations and of device work have in common.
  static NamedColumns GroupColumns(const std::string& name, const std::string& kind, int64_t count,
                                   int64_t total_ns, int64_t min_ns, int64_t max_ns,
                                   int64_t self_ns, int64_t device_ns, int64_t self_device_ns) {
    const double average_ns =
        count == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(count);
    const double device_average = count == 0 ? 0 : Us(device_ns) / static_cast<double>(count);
    return {{"name", name},
            {"key", name},
            {"kind", kind},
            {"count", count},
            {"total_ns", total_ns},
            {"avg_ns", average_ns},
            {"min_ns", min_ns},
            {"max_ns", max_ns},
            {"self_ns", self_ns},
            {"cuda_ns", device_ns},
            {"cuda_us", Us(device_ns)},
            {"self_cuda_ns", self_device_ns},
            {"self_cuda_us", Us(self_device_ns)},
            {"cpu_parent", nullptr},
            {"device_type", "CPU"},
            {"avg_us", average_ns / 1000.0},
            {"min_us", Us(min_ns)},
            {"max_us", Us(max_ns)},
            {"self_us", Us(self_ns)},
            {"total_us", Us(total_ns)},
            {"cpu_time", average_ns / 1000.0},
            {"cpu_time_total", Us(total_ns)},
            {"self_cpu_time_total", Us(self_ns)},
            {"self_cuda_time_total", Us(self_device_ns)},
            {"cuda_time_total", Us(device_ns)},
            {"device_time_total", Us(device_ns)},
            {"self_device_time_total", Us(self_device_ns)},
            {"device_time", device_average},
            {"repr", absl::StrFormat("<FunctionEventAvg key=%s self_cpu_time=%.2fus "
                                     "cpu_time=%.2fus count=%d>",
                                     name, Us(self_ns), Us(total_ns), count)}};
  }

  static double Us(int64_t ns) { return static_cast<double>(ns) / 1000.0; }

  // The facts of a whole table.
  static NamedColumns FactsOf(const json& file) {
    NamedColumns facts;
    for (const auto& [key, value] : file.items()) {
      if (key != "columns" && key != "rows") facts[key] = value;
    }
    return facts;
  }

  static json DeviceKind(const query::Table& table) {
    return table.device_kind().empty() ? json() : json(table.device_kind());
  }

  static json Shapes(const query::OperationRow& row) {
    json shapes;
    if (row.has_input_shapes()) shapes = json::array();
    for (const query::Shape& shape : row.input_shapes()) {
      shapes.push_back(std::vector<int64_t>(shape.dimensions().begin(), shape.dimensions().end()));
    }
    return shapes;
  }

  static json Stack(const query::OperationRow& row) {
    json stack;
    for (const std::string& frame : row.stack()) stack.push_back(frame);
    return stack;
  }

  void CompareSpans(const std::vector<NamedColumns>& expected) {
    query::Table table = Rows(query::SPANS);
    std::vector<SpanSummary> spans;
    summary_.VisitSpans(0, [&](const SpanSummary& span) { spans.push_back(span); });
    ASSERT_EQ(expected.size(), static_cast<size_t>(table.operations_size()));
    ASSERT_EQ(expected.size(), spans.size());
    const std::vector<json> children = ChildrenInOrder(spans);
    for (int i = 0; i < table.operations_size(); ++i) {
      SCOPED_TRACE(i);
      const query::OperationRow& row = table.operations(i);
      const uint64_t parent = spans[i].parent;
      const std::optional<uint64_t> slot = golden_.slot(i);
      CompareRow({{"index", row.first_seen()},
                  {"name", row.name()},
                  {"kind", row.kind()},
                  {"tid", row.thread_id()},
                  {"slot_id", slot ? json(*slot) : json()},
                  {"start_ns", row.start_ns()},
                  {"end_ns", row.start_ns() + row.cpu_time_total_ns()},
                  {"parent", parent == kNoOperation ? json() : json(parent)},
                  {"children", children[i]},
                  {"count", row.count()},
                  {"scope", row.kind() == "b" ? 1 : 0},
                  {"device_type", "CPU"},
                  {"is_async", row.asynchronous()},
                  {"use_device", DeviceKind(table)},
                  {"self_ns", row.self_cpu_time_total_ns()},
                  {"gpu_ns", row.device_time_total_ns()},
                  {"self_cuda_ns", row.self_device_time_total_ns()},
                  {"device_ns", row.device_time_total_ns()},
                  {"output_bytes", row.output_bytes()},
                  {"nested_output_bytes", row.nested_output_bytes()},
                  {"flops", row.flops()},
                  {"cpu_time", Us(row.cpu_time_total_ns())},
                  {"cpu_time_total", Us(row.cpu_time_total_ns())},
                  {"self_cpu_time_total", Us(row.self_cpu_time_total_ns())},
                  {"cuda_time_total", Us(row.device_time_total_ns())},
                  {"self_cuda_time_total", Us(row.self_device_time_total_ns())},
                  {"device_time_total", Us(row.device_time_total_ns())},
                  {"self_device_time_total", Us(row.self_device_time_total_ns())},
                  {"device_time", Us(row.device_time_total_ns())},
                  {"repr", absl::StrFormat("<FunctionEvent %s %.2fus>", row.name(),
                                           Us(row.cpu_time_total_ns()))}},
                 expected[i]);
    }
  }

  // Of each span the positions of its children, in order of start.
  std::vector<json> ChildrenInOrder(const std::vector<SpanSummary>& spans) const {
    std::vector<std::vector<size_t>> children(spans.size());
    for (size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].parent != kNoOperation) children[spans[i].parent].push_back(i);
    }
    std::vector<json> lists;
    for (std::vector<size_t>& list : children) {
      std::stable_sort(list.begin(), list.end(), [this](size_t a, size_t b) {
        const std::vector<Span>& all = recording_.spans;
        if (all[a].start_ns != all[b].start_ns) return all[a].start_ns < all[b].start_ns;
        return all[a].end_ns > all[b].end_ns;
      });
      lists.push_back(list);
    }
    return lists;
  }

  void CompareKernels(const json& expected, const json& options) {
    query::Table table = Rows(query::KERNELS);
    if (options.contains("sort_by")) {
      ASSERT_TRUE(SortRows(options["sort_by"].get<std::string>(), &table).ok());
    }
    const std::vector<NamedColumns> kernels = RowsOf(expected);
    ASSERT_EQ(kernels.size(), static_cast<size_t>(table.kernels_size()));
    int64_t total_ns = 0;
    for (int i = 0; i < table.kernels_size(); ++i) {
      SCOPED_TRACE(i);
      const query::WorkRow& row = table.kernels(i);
      NamedColumns columns =
          GroupColumns(row.name(), row.kind(), row.count(), row.total_ns(), row.min_ns(),
                       row.max_ns(), 0, row.total_ns(), row.total_ns());
      for (const char* none : {"self_pct", "output_bytes", "nested_output_bytes", "flops"}) {
        columns[none] = 0;
      }
      columns["is_async"] = false;
      columns["kernel_count"] = row.count();
      for (const char* none : {"input_shapes", "stack", "use_device"}) columns[none] = nullptr;
      CompareRow(columns, kernels[i]);
      total_ns += row.total_ns();
    }
    EXPECT_EQ(total_ns, table.device_time_total_ns());
    CompareRow({{"total_ns", total_ns},
                {"total_cuda_us", Us(total_ns)},
                {"total_average", Us(total_ns) / 1000.0}},
               FactsOf(expected));
  }

  void CompareErrors(const json& errors) {
    for (const json& error : errors) {
      std::string call = error["call"];
      if (WhoCompares(call) != ComparedBy::kTables) continue;
      absl::StatusOr<std::string> text = Text(call, error["options"], false);
      ASSERT_FALSE(text.ok()) << error;
      EXPECT_EQ(std::string(text.status().message()).rfind(error["message"].get<std::string>(), 0),
                0u)
          << text.status() << " for " << error;
    }
  }

  GoldenCase golden_;
  const WholeRecording& recording_;
  Summary summary_;
};

class Tables : public EveryCase {};

TEST_P(Tables, AreAsExpected) { Comparison(folder()).CompareAll(); }

class ImportedTables : public EveryCase {};

TEST_P(ImportedTables, AreAsExpected) {
  const absl::StatusOr<WholeRecording> imported = ImportFile(folder() / "trace.json.gz");
  ASSERT_TRUE(imported.ok()) << imported.status();
  Comparison(folder(), *imported).CompareAll();
}

INSTANTIATE_TEST_SUITE_P(Golden, Tables, testing::ValuesIn(AllCases()), TestName);
INSTANTIATE_TEST_SUITE_P(Golden, ImportedTables, testing::ValuesIn(RealCaseNames()), TestName);

}  // namespace
}  // namespace tp

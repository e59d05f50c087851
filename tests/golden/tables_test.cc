// Every golden case's tables and numbers, compared with what comes out of the analyzer.
//
// Compared: all calls of EventList.table, key_averages(...).table, key_averages, total_average,
// function_events (but the columns parent and children, which rows do not carry), device_kernels
// and its tables, and the errors of these. Not compared here: export_chrome_trace, export_stacks
// and device_activities.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "analyzer/present/table.h"
#include "analyzer/summarize/summary.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_case.h"

namespace tp {
namespace {

using nlohmann::json;

const std::set<std::string> kNotComparedHere = {"EventList.export_chrome_trace",
                                                "EventList.export_stacks", "device_activities"};

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

// Compares a row with the columns that are given of it: large cases give only some.
class RowExpectation {
 public:
  explicit RowExpectation(const std::map<std::string, json>& columns) : columns_(columns) {}
  ~RowExpectation() { EXPECT_GE(compared_, 5) << "hardly a column is known"; }

  void Column(const std::string& name, const json& value) {
    auto column = columns_.find(name);
    if (column == columns_.end()) return;
    ++compared_;
    EXPECT_EQ(column->second, value) << name;
  }

 private:
  const std::map<std::string, json>& columns_;
  int compared_ = 0;
};

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
      : golden_(folder), summary_(golden_.Summarized()) {}

  void CompareAll() {
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
    if (!golden_.recording().device_kind.empty()) table.set_device_kind(golden_.recording().device_kind);
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
    if (kNotComparedHere.count(call) > 0) return;
    if (output.file.ends_with("errors.json")) {
      CompareErrors(json::parse(golden_.Expected(output)));
    } else if (call.ends_with("table")) {
      absl::StatusOr<std::string> text = Text(call, output.options, output.list_with_flops);
      ASSERT_TRUE(text.ok()) << text.status();
      EXPECT_EQ(FirstDifference(*text, golden_.Expected(output)), "");
    } else if (call == "EventList.key_averages") {
      query::Table table = Rows(query::OPERATIONS, output.options);
      json expected = json::parse(golden_.Expected(output));
      bool with_flops = output.options.value("with_flops", false);
      EXPECT_DOUBLE_EQ(expected["self_cpu_time_total"].get<double>(),
                       table.self_cpu_time_total_ns() / 1000.0);
      EXPECT_EQ(expected["total_ns"].get<int64_t>(), TotalRow(table).cpu_time_total_ns());
      CompareGroups(expected, table.operations(), with_flops);
    } else if (call == "EventList.total_average") {
      google::protobuf::RepeatedPtrField<query::OperationRow> rows;
      *rows.Add() = TotalRow(Rows(query::OPERATIONS));
      CompareGroups(json::parse(golden_.Expected(output)), rows, output.list_with_flops);
    } else if (call == "EventList.function_events") {
      CompareSpans(json::parse(golden_.Expected(output)));
    } else if (call == "EventList.device_kernels") {
      CompareKernels(json::parse(golden_.Expected(output)), output.options);
    } else {
      FAIL() << "a call that this test does not know: " << call;
    }
  }

  // Rows by column name.
  static std::vector<std::map<std::string, json>> ByColumn(const json& expected) {
    std::vector<std::map<std::string, json>> rows;
    for (const json& values : expected["rows"]) {
      std::map<std::string, json>& row = rows.emplace_back();
      for (size_t i = 0; i < values.size(); ++i) row[expected["columns"][i]] = values[i];
    }
    return rows;
  }

  static void CompareGroups(const json& expected,
                            const google::protobuf::RepeatedPtrField<query::OperationRow>& rows,
                            bool with_flops) {
    auto groups = ByColumn(expected);
    ASSERT_EQ(groups.size(), static_cast<size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(i);
      const query::OperationRow& row = rows[i];
      RowExpectation expect(groups[i]);
      expect.Column("name", row.name());
      expect.Column("kind", row.kind());
      expect.Column("count", row.count());
      expect.Column("total_ns", row.cpu_time_total_ns());
      expect.Column("min_ns", row.cpu_time_min_ns());
      expect.Column("max_ns", row.cpu_time_max_ns());
      expect.Column("self_ns", row.self_cpu_time_total_ns());
      expect.Column("cuda_ns", row.device_time_total_ns());
      expect.Column("self_cuda_ns", row.self_device_time_total_ns());
      expect.Column("kernel_count", row.kernel_count());
      expect.Column("output_bytes", row.output_bytes());
      expect.Column("nested_output_bytes", row.nested_output_bytes());
      expect.Column("flops", with_flops ? row.flops() : 0);
      expect.Column("is_async", row.asynchronous());
      expect.Column("input_shapes", Shapes(row));
      expect.Column("stack", Stack(row));
    }
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

  void CompareSpans(const json& expected) {
    auto spans = ByColumn(expected);
    query::Table table = Rows(query::SPANS);
    ASSERT_EQ(spans.size(), static_cast<size_t>(table.operations_size()));
    for (int i = 0; i < table.operations_size(); ++i) {
      SCOPED_TRACE(i);
      const query::OperationRow& row = table.operations(i);
      RowExpectation expect(spans[i]);
      expect.Column("index", row.first_seen());
      expect.Column("name", row.name());
      expect.Column("kind", row.kind());
      expect.Column("tid", row.thread_id());
      expect.Column("start_ns", row.start_ns());
      expect.Column("end_ns", row.start_ns() + row.cpu_time_total_ns());
      expect.Column("count", row.count());
      expect.Column("is_async", row.asynchronous());
      expect.Column("self_ns", row.self_cpu_time_total_ns());
      expect.Column("device_ns", row.device_time_total_ns());
      expect.Column("self_cuda_ns", row.self_device_time_total_ns());
      expect.Column("output_bytes", row.output_bytes());
      expect.Column("nested_output_bytes", row.nested_output_bytes());
      expect.Column("flops", row.flops());
    }
  }

  void CompareKernels(const json& expected, const json& options) {
    query::Table table = Rows(query::KERNELS);
    if (options.contains("sort_by")) {
      ASSERT_TRUE(SortRows(options["sort_by"].get<std::string>(), &table).ok());
    }
    auto kernels = ByColumn(expected);
    ASSERT_EQ(kernels.size(), static_cast<size_t>(table.kernels_size()));
    int64_t total_ns = 0;
    for (int i = 0; i < table.kernels_size(); ++i) {
      SCOPED_TRACE(i);
      const query::WorkRow& row = table.kernels(i);
      RowExpectation expect(kernels[i]);
      expect.Column("name", row.name());
      expect.Column("kind", row.kind());
      expect.Column("count", row.count());
      expect.Column("total_ns", row.total_ns());
      expect.Column("min_ns", row.min_ns());
      expect.Column("max_ns", row.max_ns());
      total_ns += row.total_ns();
    }
    EXPECT_EQ(expected["total_ns"], total_ns);
    EXPECT_EQ(expected["total_ns"], table.device_time_total_ns());
  }

  void CompareErrors(const json& errors) {
    for (const json& error : errors) {
      std::string call = error["call"];
      if (kNotComparedHere.count(call) > 0) continue;
      absl::StatusOr<std::string> text = Text(call, error["options"], false);
      ASSERT_FALSE(text.ok()) << error;
      EXPECT_EQ(std::string(text.status().message()).rfind(error["message"].get<std::string>(), 0),
                0u)
          << text.status() << " for " << error;
    }
  }

  GoldenCase golden_;
  Summary summary_;
};

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

class MadeUp : public testing::TestWithParam<std::string> {};

TEST_P(MadeUp, TablesAreAsExpected) { Comparison(MadeUpCase(GetParam())).CompareAll(); }

INSTANTIATE_TEST_SUITE_P(Golden, MadeUp, testing::ValuesIn(MadeUpCases()), TestName);

class Real : public testing::TestWithParam<std::string> {};

TEST_P(Real, TablesAreAsExpected) {
  std::optional<std::filesystem::path> cases = RealCases();
  if (!cases) {
    GTEST_SKIP()
        << "the real traces are not here: name the folder that holds golden/real in TP_SHARED";
  }
  Comparison(*cases / GetParam()).CompareAll();
}

INSTANTIATE_TEST_SUITE_P(Golden, Real,
                         testing::Values("alexnet", "cpu_only", "nccl", "ns_resolution",
                                         "sampled_rank0", "triton"),
                         TestName);

}  // namespace
}  // namespace tp

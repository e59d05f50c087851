#include "tools/control/table_arguments.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/present/table.h"
#include "tools/control/command.h"
#include "tools/control/screen_columns.h"

namespace tp {
namespace {

constexpr int64_t kMostRows = 1'000'000'000;

// The whole text as a number from `least` to `most`; a clear error otherwise.
int64_t Number(const std::string& option, const std::string& text, int64_t least, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw CLI::ValidationError(
        option, absl::StrCat("'", text, "' is no whole number from ", least, " to ", most));
  }
  return value;
}

void AddWidthOption(CLI::App* app, const char* name, const char* help, std::optional<int>* width,
                    bool* given) {
  app->add_option_function<std::string>(
         name,
         [=](const std::string& text) {
           if (given != nullptr) *given = true;
           *width = std::nullopt;
           if (text != "none") *width = static_cast<int>(Number(name, text, 4, 1'000'000));
         },
         help)
      ->type_name("N|none");
}

}  // namespace

void AddFormatOption(CLI::App* app, Format* format) {
  app->add_option_function<std::string>(
         "--format",
         [format](const std::string& text) {
           if (text == "table") {
             *format = Format::kTable;
           } else if (text == "json") {
             *format = Format::kJson;
           } else if (text == "csv") {
             *format = Format::kCsv;
           } else {
             throw CLI::ValidationError("--format",
                                        absl::StrCat("'", text, "' is none of table, json, csv"));
           }
         },
         "table (default), json (one object) or csv; times in whole ns in the last two")
      ->type_name("table|json|csv");
}

void AddTableOptions(CLI::App* app, bool with_spans, TableArguments* arguments) {
  app->add_option_function<std::string>(
         "--pid",
         [arguments](const std::string& text) {
           arguments->request.set_pid(Number("--pid", text, 1, INT32_MAX));
         },
         "Only this process (default: all)")
      ->type_name("PID");
  AddFileOption(app, "--input", &arguments->input,
                "A file instead of traced processes: PyTorch profiler (.json, .json.gz), Nsight "
                "Systems (.sqlite, .sqlite.gz)");

  std::vector<query::View> views = {query::OPERATIONS, query::KERNELS,   query::COPIES,
                                    query::API,        query::PROCESSES, query::STREAMS};
  if (with_spans) views.insert(views.end(), {query::MEMORY, query::COUNTERS, query::SPANS});
  const std::string names =
      absl::StrJoin(views, ", ", [](std::string* out, query::View v) { *out += ViewName(v); });
  app->add_option_function<std::string>(
         "--view",
         [=](const std::string& text) {
           for (query::View view : views) {
             if (text != ViewName(view)) continue;
             arguments->request.set_view(view);
             return;
           }
           throw CLI::ValidationError("--view", absl::StrCat("'", text, "' is none of ", names));
         },
         "What the rows are (default: operations)")
      ->type_name(
          absl::StrJoin(views, "|", [](std::string* out, query::View v) { *out += ViewName(v); }));

  app->add_option(
         "--sort-by", arguments->text.sort_by,
         "Order of the rows; a key that the view does not have gets the list of those that "
         "it has")
      ->type_name("KEY");
  app->add_option_function<std::string>(
         "--row-limit",
         [arguments](const std::string& text) {
           arguments->row_limit_given = true;
           arguments->text.row_limit =
               text == "none" ? -1 : Number("--row-limit", text, -kMostRows, kMostRows);
         },
         "At most this many rows; negative or none: all")
      ->type_name("N|none");
  app->add_flag_callback(
      "--group-by-shape", [arguments] { arguments->request.set_group_by_shape(true); },
      "A row for each combination of input shapes");
  app->add_option_function<std::string>(
         "--group-by-stack",
         [arguments](const std::string& text) {
           arguments->request.set_group_by_stack(
               static_cast<uint32_t>(Number("--group-by-stack", text, 0, 1024)));
         },
         "A row for each innermost N frames of the stack")
      ->type_name("N");
  app->add_flag_callback(
      "--top-level",
      [arguments] {
        arguments->request.set_top_level(true);
        arguments->text.top_level_events_only = true;
      },
      "With --view spans: only spans that no other encloses");
  app->add_flag("--with-flops", arguments->text.with_flops, "Floating point operations too");
  app->add_option_function<std::string>(
         "--time-unit",
         [arguments](const std::string& text) {
           const absl::StatusOr<TimeUnit> unit = ParseTimeUnit(text);
           if (!unit.ok()) {
             throw CLI::ValidationError("--time-unit",
                                        absl::StrCat("'", text, "' is none of s, ms, us"));
           }
           arguments->text.time_unit = *unit;
         },
         "One unit for all times: s, ms or us (default: each as it fits)")
      ->type_name("s|ms|us");
  app->add_option("--header", arguments->text.header, "A line above the table")->type_name("TEXT");
  AddWidthOption(app, "--max-name-width", "Longest name shown whole (default: 55)",
                 &arguments->text.max_name_width, &arguments->name_width_given);
  AddWidthOption(app, "--max-shapes-width", "Longest shapes shown whole (default: 80)",
                 &arguments->text.max_shapes_width, nullptr);
  AddWidthOption(app, "--max-source-width", "Longest source location shown whole (default: 75)",
                 &arguments->text.max_source_width, nullptr);
  AddFormatOption(app, &arguments->format);
}

}  // namespace tp

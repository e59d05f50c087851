// `tpctl table`: a summary table of what the daemon holds, or of a file.
#include <memory>

#include "absl/strings/str_format.h"
#include "tools/control/advice.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/file_source.h"
#include "tools/control/installed_files.h"
#include "tools/control/output.h"
#include "tools/control/progress_line.h"
#include "tools/control/query_client.h"
#include "tools/control/screen_columns.h"
#include "tools/control/table_arguments.h"

namespace tp {
namespace {

constexpr int64_t kSpansByDefault = 100;

absl::StatusOr<query::Table> AskDaemon(query::TableRequest* request) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return client.status();
  request->set_flush(true);
  return client->AskTable(*request);
}

int PrintTableOf(TableArguments arguments, std::ostream& out, std::ostream& errors) {
  if (arguments.request.view() == query::SPANS && !arguments.row_limit_given) {
    arguments.text.row_limit = kSpansByDefault;
  }
  ProgressLine line(errors);
  const absl::StatusOr<query::Table> table =
      arguments.input.empty()
          ? AskDaemon(&arguments.request)
          : ReadTable(arguments.input, arguments.request, line.Percent("reading"));
  line.Clear();
  if (!table.ok()) return Fail(table.status(), errors);
  const absl::Status printed = PrintTable(*table, arguments.text, arguments.format, out, errors);
  if (!printed.ok()) return Fail(printed, errors);
  const int rows = RowCount(*table);
  if (rows == 0 && !arguments.input.empty()) {
    errors << WhyEmptyFile(*table, arguments.input) << "\n";
  } else if (rows == 0) {
    for (const std::string& line : WhyEmpty(*table, FindCollector().value_or(""))) {
      if (!line.empty()) errors << line << "\n";
    }
  } else if (rows > arguments.text.row_limit && arguments.text.row_limit >= 0 &&
             !arguments.row_limit_given) {
    errors << absl::StrFormat("%d of %d spans: --row-limit none shows all\n",
                              arguments.text.row_limit, rows);
  }
  return kDone;
}

}  // namespace

void AddTableCommand(CLI::App* app, Action* action) {
  const auto arguments = std::make_shared<TableArguments>();
  CLI::App* command = AddCommand(
      app, "table", "Print a summary table of what was captured so far, or of a trace file",
      "  tpctl table --sort-by self_cuda_time_total --row-limit 10\n"
      "  tpctl table --view kernels --pid 4242\n"
      "  tpctl table --input trace.json.gz --view kernels\n"
      "  tpctl table --input report.sqlite --view processes\n"
      "  tpctl table --group-by-shape --format json > table.json\n");
  AddTableOptions(command, /*with_spans=*/true, arguments.get());
  command->callback([=] {
    *action = [arguments](std::ostream& out, std::ostream& errors) {
      return PrintTableOf(*arguments, out, errors);
    };
  });
}

}  // namespace tp

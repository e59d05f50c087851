// `tpctl table`: a summary table of what the daemon holds.
#include <memory>

#include "tools/control/advice.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/installed_files.h"
#include "tools/control/output.h"
#include "tools/control/query_client.h"
#include "tools/control/screen_columns.h"
#include "tools/control/table_arguments.h"

namespace tp {
namespace {

constexpr int64_t kSpansByDefault = 100;

// Says on `errors` why the table has no rows.
void ExplainEmpty(const query::Table& table, const query::TableRequest& request,
                  std::ostream& errors) {
  for (const std::string& line : WhyEmpty(table, request, FindCollector().value_or(""))) {
    if (!line.empty()) errors << line << "\n";
  }
}

int PrintTableOf(TableArguments arguments, std::ostream& out, std::ostream& errors) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return Fail(client.status(), errors);
  if (arguments.request.view() == query::SPANS && !arguments.row_limit_given) {
    arguments.text.row_limit = kSpansByDefault;
  }
  arguments.request.set_flush(true);
  const absl::StatusOr<query::Table> table = client->AskTable(arguments.request);
  if (!table.ok()) return Fail(table.status(), errors);
  if (arguments.request.pid() != 0 && table->processes().empty()) {
    const absl::StatusOr<query::Processes> processes = client->AskProcesses();
    if (!processes.ok()) return Fail(processes.status(), errors);
    return Fail(absl::NotFoundError(
                    UnknownProcess(arguments.request.pid(), *processes, processes->now_ns())),
                errors);
  }
  const absl::Status printed = PrintTable(*table, arguments.text, arguments.format, out, errors);
  if (!printed.ok()) return Fail(printed, errors);
  if (RowCount(*table) == 0) ExplainEmpty(*table, arguments.request, errors);
  return kDone;
}

}  // namespace

void AddTableCommand(CLI::App* app, Action* action) {
  const auto arguments = std::make_shared<TableArguments>();
  CLI::App* command = AddCommand(app, "table", "Print a summary table of what was captured so far",
                                 "  tpctl table --sort-by self_cuda_time_total --row-limit 10\n"
                                 "  tpctl table --view kernels --pid 4242\n"
                                 "  tpctl table --group-by-shape --format json > table.json\n");
  AddTableOptions(command, /*with_spans=*/true, arguments.get());
  command->callback([=] {
    *action = [arguments](std::ostream& out, std::ostream& errors) {
      return PrintTableOf(*arguments, out, errors);
    };
  });
}

}  // namespace tp

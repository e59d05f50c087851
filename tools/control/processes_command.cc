// `tpctl ps`: who is traced, in what state, and why nothing is captured where nothing is.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/control/advice.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/installed_files.h"
#include "tools/control/output.h"
#include "tools/control/query_client.h"
#include "tools/control/table_arguments.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

// What the processes lost, and their notes, as a table's own.
void AddNotices(query::Table* table) {
  std::map<std::pair<std::string, std::string>, uint64_t> lost;
  for (const query::Process& process : table->processes()) {
    for (const query::Loss& loss : process.losses()) {
      lost[{loss.kind(), loss.cause()}] += loss.count();
    }
    for (const std::string& note : process.notes()) {
      table->add_notes(absl::StrCat("pid ", process.pid(), ": ", note));
    }
  }
  for (const auto& [what, count] : lost) {
    query::Loss* loss = table->add_losses();
    loss->set_kind(what.first);
    loss->set_cause(what.second);
    loss->set_count(count);
  }
}

// "pid 4242, 4243 collect: kernels, copies, ...": a line for each set that running processes have.
void PrintActivities(const query::Table& table, std::ostream& errors) {
  std::map<std::string, std::vector<int64_t>> processes;
  for (const query::Process& process : table.processes()) {
    if (process.state() != query::CAPTURING) continue;
    if (!process.activities().empty()) {
      processes[absl::StrJoin(process.activities(), ", ")].push_back(process.pid());
    }
  }
  for (const auto& [activities, pids] : processes) {
    errors << "pid " << absl::StrJoin(pids, ", ")
           << (pids.size() == 1 ? " collects: " : " collect: ") << EscapeForTerminal(activities)
           << "\n";
  }
}

int PrintProcesses(Format format, std::ostream& out, std::ostream& errors) {
  absl::StatusOr<QueryClient> client = QueryClient::Connect();
  if (!client.ok()) return Fail(client.status(), errors);
  absl::StatusOr<query::Processes> processes = client->AskProcesses();
  if (!processes.ok()) return Fail(processes.status(), errors);
  query::Table table;
  table.set_view(query::PROCESSES);
  table.set_now_ns(processes->now_ns());
  table.mutable_processes()->Swap(processes->mutable_processes());
  AddNotices(&table);
  const absl::Status printed = PrintTable(table, TextOptions(), format, out, errors);
  if (!printed.ok()) return Fail(printed, errors);
  if (format == Format::kTable) PrintActivities(table, errors);
  if (table.processes().empty()) {
    for (const std::string& line : HowToBegin(FindCollector().value_or(""))) {
      if (!line.empty()) errors << line << "\n";
    }
  }
  return kDone;
}

}  // namespace

void AddProcessesCommand(CLI::App* app, Action* action) {
  const auto format = std::make_shared<Format>(Format::kTable);
  CLI::App* command = AddCommand(
      app, "ps", "List the traced processes and their state",
      "  tpctl ps\n"
      "  tpctl ps --format json | jq '.rows[] | select(.state == \"capturing\") | .pid'\n");
  AddFormatOption(command, format.get());
  command->callback([=] {
    *action = [format](std::ostream& out, std::ostream& errors) {
      return PrintProcesses(*format, out, errors);
    };
  });
}

}  // namespace tp

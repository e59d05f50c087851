#include "analyzer/serve/session_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/present/notes.h"
#include "analyzer/summarize/summary.h"

namespace tp {
namespace {

void AddLosses(const std::vector<query::Process>& processes, query::Table* table) {
  std::map<std::pair<std::string, std::string>, uint64_t> sums;
  for (const query::Process& process : processes) {
    for (const query::Loss& loss : process.losses())
      sums[{loss.kind(), loss.cause()}] += loss.count();
  }
  for (const auto& [what, count] : sums) {
    query::Loss* loss = table->add_losses();
    loss->set_kind(what.first);
    loss->set_cause(what.second);
    loss->set_count(count);
  }
}

// Calls tie device work to the operation that asked for it.
bool CollectsNoCalls(const query::Process& process) {
  const auto& collected = process.activities();
  // An old collector does not say what it collects.
  return !collected.empty() &&
         std::none_of(collected.begin(), collected.end(), [](const std::string& activity) {
           return activity == "runtime" || activity == "driver";
         });
}

void AddNotes(const std::vector<query::Process>& processes, const std::vector<pid_t>& late,
              query::Table* table) {
  uint64_t unattributed = 0;
  bool more_may_come = false;
  int64_t unattributed_ns = 0;
  for (const query::Process& process : processes) {
    unattributed += process.unattributed_count();
    unattributed_ns += process.unattributed_ns();
    more_may_come |= process.state() == query::CAPTURING;
  }
  if (unattributed > 0) {
    table->add_notes(UnattributedNote(unattributed, unattributed_ns, more_may_come));
  }
  for (const query::Process& process : processes) {
    const std::string prefix =
        processes.size() > 1 ? absl::StrCat("pid ", process.pid(), ": ") : std::string();
    if (process.state() != query::CAPTURING && process.state() != query::GONE &&
        !process.reason().empty()) {
      table->add_notes(prefix + process.reason());
    }
    if (process.unattributed_count() > 0 && CollectsNoCalls(process)) {
      table->add_notes(prefix +
                       "without runtime and driver among what is collected (TP_ACTIVITIES), no "
                       "device work has an operation");
    }
    for (const std::string& note : process.notes()) table->add_notes(prefix + note);
  }
  for (const pid_t pid : late) {
    table->add_notes(
        absl::StrCat("pid ", pid, " did not answer in time: its latest events may be missing"));
  }
}

// What the view would show, and is not collected: nothing there would pass for nothing done.
void AddNotesOfView(const std::vector<query::Process>& processes, query::Table* table) {
  const auto note = [&](const char* activity, const char* text) {
    const auto lacks = [activity](const query::Process& process) {
      const auto& collected = process.activities();
      // An old collector does not say what it collects.
      return !collected.empty() &&
             std::find(collected.begin(), collected.end(), activity) == collected.end();
    };
    const size_t lacking = std::count_if(processes.begin(), processes.end(), lacks);
    if (lacking == 0) return;
    std::string whole = text;
    if (lacking < processes.size()) {
      absl::StrAppend(&whole, " (goes for ", lacking, " of ", processes.size(), " processes)");
    }
    table->add_notes(std::move(whole));
  };
  if (table->view() == query::API) {
    note("chatty",
         "not collected without TP_ACTIVITIES=+chatty: calls that only ask for a state, such as "
         "cudaGetDevice and cudaGetLastError");
  } else if (table->view() == query::MEMORY) {
    note("memory", "memory is not collected: TP_ACTIVITIES=+memory");
  }
}

}  // namespace

query::Table TableOf(const std::vector<const Session*>& sessions,
                     const query::TableRequest& request, const std::vector<pid_t>& late,
                     int64_t now_ns) {
  std::vector<const Summary*> summaries;
  std::vector<query::Process> processes;
  for (const Session* session : sessions) {
    summaries.push_back(&session->summary());
    processes.push_back(session->Describe());
  }
  const TableOptions options{.view = request.view(),
                             .group_by_shape = request.group_by_shape(),
                             .group_by_stack = request.group_by_stack(),
                             .top_level = request.top_level()};
  query::Table table = Tabulate(summaries, options, now_ns);
  table.set_view(request.view());
  table.set_now_ns(now_ns);
  AddLosses(processes, &table);
  AddNotes(processes, late, &table);
  AddNotesOfView(processes, &table);
  AddNotesOfRows(request.top_level(), &table);
  for (query::Process& process : processes) *table.add_processes() = std::move(process);
  return table;
}

}  // namespace tp

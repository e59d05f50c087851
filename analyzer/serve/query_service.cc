#include "analyzer/serve/query_service.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/present/notes.h"
#include "analyzer/present/process_list.h"
#include "analyzer/summarize/summary.h"

namespace tp {
namespace {

bool MaySee(const Credentials& asker, const Session& session) {
  return asker.uid == 0 || asker.uid == session.uid();
}

bool IsRunning(const query::Process& process) { return process.state() != query::GONE; }

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
    for (const query::Process& process : processes) {
      const auto& collected = process.activities();
      // An old collector does not say what it collects.
      if (collected.empty()) continue;
      if (std::find(collected.begin(), collected.end(), activity) != collected.end()) continue;
      table->add_notes(text);
      return;
    }
  };
  if (table->view() == query::API) {
    note("chatty",
         "calls that only ask for a state, such as cudaGetDevice and cudaGetLastError, "
         "are not collected: TP_ACTIVITIES=+chatty");
  } else if (table->view() == query::MEMORY) {
    note("memory", "memory is not collected: TP_ACTIVITIES=+memory");
  }
}

}  // namespace

query::Response ErrorResponse(std::string message) {
  query::Response response;
  response.mutable_error()->set_message(std::move(message));
  return response;
}

query::Processes DescribeProcesses(const SessionStore& store, const Credentials& asker,
                                   int64_t now_ns) {
  std::vector<query::Process> processes;
  for (const auto& session : store.sessions()) {
    if (MaySee(asker, *session)) processes.push_back(session->Describe());
  }
  std::stable_sort(processes.begin(), processes.end(),
                   [](const query::Process& left, const query::Process& right) {
                     if (IsRunning(left) != IsRunning(right)) return IsRunning(left);
                     if (IsRunning(left)) return left.pid() < right.pid();
                     return left.last_seen_ns() > right.last_seen_ns();
                   });
  query::Processes answer;
  for (query::Process& process : processes) *answer.add_processes() = std::move(process);
  answer.set_now_ns(now_ns);
  return answer;
}

absl::StatusOr<std::vector<const Session*>> SessionsConcerned(const SessionStore& store,
                                                              const Credentials& asker,
                                                              int64_t pid) {
  std::vector<const Session*> concerned;
  for (const auto& session : store.sessions()) {
    if (!MaySee(asker, *session) || (pid != 0 && session->pid() != pid)) continue;
    // Of several that had the number, the latest is meant.
    if (pid != 0) concerned.clear();
    concerned.push_back(session.get());
  }
  if (pid != 0 && concerned.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no process ", pid, " is traced here; ",
                     KnownProcesses(DescribeProcesses(store, asker, MonotonicNow()))));
  }
  return concerned;
}

absl::StatusOr<std::vector<const Session*>> SessionsToCapture(
    const SessionStore& store, const Credentials& asker, const query::CaptureRequest& request) {
  std::vector<const Session*> sessions;
  for (const int64_t pid : request.pids()) {
    // 0 would mean all.
    const absl::StatusOr<std::vector<const Session*>> concerned =
        SessionsConcerned(store, asker, pid > 0 ? pid : -1);
    if (!concerned.ok()) return concerned.status();
    sessions.push_back(concerned->front());
  }
  if (request.pids().empty()) {
    for (const auto& session : store.sessions()) {
      if (MaySee(asker, *session) && !session->HasEnded()) sessions.push_back(session.get());
    }
    std::sort(sessions.begin(), sessions.end(),
              [](const Session* left, const Session* right) { return left->pid() < right->pid(); });
  }
  return sessions;
}

query::Response MakeCaptures(const SessionStore& store, const Credentials& asker,
                             const std::vector<pid_t>& pids, const std::set<pid_t>& unanswered) {
  query::Response response;
  query::Captures* captures = response.mutable_captures();
  for (const pid_t pid : pids) {
    const absl::StatusOr<std::vector<const Session*>> concerned =
        SessionsConcerned(store, asker, pid);
    if (!concerned.ok()) continue;  // Has ended and was let go in the meantime.
    query::CaptureResult* result = captures->add_results();
    *result->mutable_process() = concerned->front()->Describe();
    result->set_answered(unanswered.count(pid) == 0);
  }
  return response;
}

query::Response MakeTable(const SessionStore& store, const Credentials& asker,
                          const query::TableRequest& request, const std::vector<pid_t>& late,
                          int64_t now_ns) {
  const absl::StatusOr<std::vector<const Session*>> concerned =
      SessionsConcerned(store, asker, request.pid());
  if (!concerned.ok()) return ErrorResponse(std::string(concerned.status().message()));
  if (!query::View_IsValid(request.view())) {
    return ErrorResponse("this daemon does not know the view; is it older than the tool?");
  }
  std::vector<const Summary*> summaries;
  std::vector<query::Process> processes;
  for (const Session* session : *concerned) {
    summaries.push_back(&session->summary());
    processes.push_back(session->Describe());
  }
  const TableOptions options{.view = request.view(),
                             .group_by_shape = request.group_by_shape(),
                             .group_by_stack = request.group_by_stack(),
                             .top_level = request.top_level()};
  query::Response response;
  query::Table* table = response.mutable_table();
  *table = Tabulate(summaries, options, now_ns);
  table->set_view(request.view());
  table->set_now_ns(now_ns);
  AddLosses(processes, table);
  AddNotes(processes, late, table);
  AddNotesOfView(processes, table);
  for (query::Process& process : processes) *table->add_processes() = std::move(process);
  return response;
}

}  // namespace tp

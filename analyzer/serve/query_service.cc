#include "analyzer/serve/query_service.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzer/present/process_list.h"
#include "analyzer/serve/session_table.h"

namespace tp {
namespace {

bool IsRunning(const query::Process& process) { return process.state() != query::GONE; }

// Leaves out the processes that ended, unless all have; returns how many.
int64_t LeaveOutEnded(std::vector<const Session*>* sessions) {
  const auto running =
      std::stable_partition(sessions->begin(), sessions->end(),
                            [](const Session* session) { return !session->HasEnded(); });
  if (running == sessions->begin()) return 0;
  const int64_t ended = sessions->end() - running;
  sessions->erase(running, sessions->end());
  return ended;
}

}  // namespace

bool MaySee(const Credentials& asker, const Session& session) {
  return asker.uid == 0 || asker.uid == session.uid();
}

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
  absl::StatusOr<std::vector<const Session*>> concerned =
      SessionsConcerned(store, asker, request.pid());
  if (!concerned.ok()) return ErrorResponse(std::string(concerned.status().message()));
  int64_t ended_left_out = 0;
  if (request.running() && request.view() != query::PROCESSES) {
    ended_left_out = LeaveOutEnded(&*concerned);
  }
  if (!query::View_IsValid(request.view())) {
    return ErrorResponse("this daemon does not know the view; is it older than the tool?");
  }
  query::Response response;
  *response.mutable_table() = TableOf(*concerned, request, late, now_ns);
  response.mutable_table()->set_ended_left_out(ended_left_out);
  return response;
}

}  // namespace tp

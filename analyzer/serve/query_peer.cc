#include "analyzer/serve/query_peer.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/serve/query_service.h"

namespace tp {
namespace {

// A collector may get the questions of several tools: each has a number of its own, and one that a
// later daemon gives is larger.
uint64_t NextToken() {
  static auto last = static_cast<uint64_t>(MonotonicNow());
  return ++last;
}

}  // namespace

QueryPeer::QueryPeer(Connection* connection, const Credentials& credentials, Reactor* reactor,
                     const SessionStore* store, Recorders* recorders, const DaemonControl* control)
    : connection_(connection),
      credentials_(credentials),
      reactor_(reactor),
      store_(store),
      recorders_(recorders),
      control_(control) {
  // The length of an answer is bounded by itself, and the next one waits until it is read.
  connection_->set_max_queued_bytes(kMaxResponseBytes + 1024);
}

QueryPeer::~QueryPeer() {
  if (recorder_ != nullptr) recorders_->Remove(recorder_.get());
  if (waiting_.has_value()) reactor_->Cancel(waiting_->timer);
}

absl::Status QueryPeer::Take(std::string_view message) {
  query::Request request;
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return absl::InvalidArgumentError("a request that does not parse");
  }
  if (recorder_ != nullptr && !request.has_end_recording()) {
    return absl::InvalidArgumentError("a request in the middle of a recording");
  }
  switch (request.request_case()) {
    case query::Request::kRecord:
      BeginRecording(request);
      break;
    case query::Request::kEndRecording:
      EndRecording(request);
      break;
    case query::Request::kProcesses: {
      query::Response response;
      *response.mutable_processes() = DescribeProcesses(*store_, credentials_, MonotonicNow());
      Answer(response);
      break;
    }
    case query::Request::kTable:
      BeginTable(request);
      break;
    case query::Request::kCapture:
      BeginCaptures(request);
      break;
    case query::Request::kDetach:
      BeginDetach(request);
      break;
    case query::Request::kAdopt:
      Adopt(request.adopt());
      break;
    case query::Request::kDaemon: {
      query::Response response;
      *response.mutable_daemon() = control_->describe();
      Answer(response);
      break;
    }
    case query::Request::kStop:
      Stop();
      break;
    case query::Request::REQUEST_NOT_SET:
      Answer(ErrorResponse(
          "this daemon does not know the request; stop it, so that a newer one is started"));
      break;
  }
  return absl::OkStatus();
}

void QueryPeer::Stop() {
  if (credentials_.uid != 0 && credentials_.uid != geteuid()) {
    Answer(ErrorResponse(absl::StrCat("the daemon belongs to uid ", geteuid(),
                                      ": only that user and root may stop it")));
    return;
  }
  query::Response response;
  response.mutable_stop();
  Answer(response);
  control_->stop();
}

void QueryPeer::BeginTable(const query::Request& request) {
  std::vector<const Session*> asked;
  if (request.table().flush()) {
    const absl::StatusOr<std::vector<const Session*>> concerned =
        SessionsConcerned(*store_, credentials_, request.table().pid());
    if (concerned.ok()) asked = *concerned;
  }
  Flush(request, asked);
}

void QueryPeer::BeginCaptures(const query::Request& request) {
  const absl::StatusOr<std::vector<const Session*>> concerned =
      SessionsToCapture(*store_, credentials_, request.capture());
  if (!concerned.ok()) {
    Answer(ErrorResponse(std::string(concerned.status().message())));
    return;
  }
  Waiting waiting{.request = request,
                  .command = CollectorPeer::Command::kCapture,
                  .token = NextToken(),
                  .collectors = {},
                  .pids = {},
                  .unanswered = {},
                  .detaches = false,
                  .timer = {}};
  for (const Session* session : *concerned) {
    waiting.pids.push_back(session->pid());
    waiting.unanswered.insert(session->pid());
    if (!session->connected()) continue;
    session->peer()->Capture(request.capture(), waiting.token);
    waiting.collectors[session->peer()] = session->pid();
  }
  Wait(std::move(waiting), kCaptureWait);
}

std::vector<const Session*> QueryPeer::SessionsToFlush() const {
  std::vector<const Session*> sessions;
  for (const auto& session : store_->sessions()) {
    if (session->connected() && recorder_->Wants(*session)) sessions.push_back(session.get());
  }
  return sessions;
}

void QueryPeer::BeginRecording(const query::Request& request) {
  for (const int64_t pid : request.record().pids()) {
    // 0 would mean all.
    const absl::StatusOr<std::vector<const Session*>> concerned =
        SessionsConcerned(*store_, credentials_, pid > 0 ? pid : -1);
    if (concerned.ok() && !concerned->front()->HasEnded()) continue;
    Answer(ErrorResponse(concerned.ok() ? absl::StrCat("process ", concerned->front()->Name(),
                                                       " has ended: nothing more comes of it")
                                        : std::string(concerned.status().message())));
    return;
  }
  if (recorders_->count() >= Recorders::kMost) {
    Answer(ErrorResponse(absl::StrCat("there are ", recorders_->count(),
                                      " recordings under way already, as many as there may be: "
                                      "end one of them")));
    return;
  }
  // A recorder that hangs costs what is queued for it, and nobody waits for it.
  connection_->set_stalled(absl::InfiniteDuration());
  recorder_ = std::make_unique<Recorder>(connection_, credentials_, request.record(),
                                         store_->memory_limit_bytes(), MonotonicNow());
  recorders_->Add(recorder_.get());
  Flush(request, SessionsToFlush());
}

void QueryPeer::EndRecording(const query::Request& request) {
  if (recorder_ == nullptr) {
    Answer(ErrorResponse("there is no recording to end on this connection"));
    return;
  }
  Flush(request, SessionsToFlush());
}

void QueryPeer::Flush(const query::Request& request, const std::vector<const Session*>& sessions) {
  Waiting waiting{.request = request,
                  .command = CollectorPeer::Command::kFlush,
                  .token = NextToken(),
                  .collectors = {},
                  .pids = {},
                  .unanswered = {},
                  .detaches = false,
                  .timer = {}};
  for (const Session* session : sessions) {
    // One that has stopped may still have something on its way.
    if (!session->connected()) continue;
    session->peer()->Flush(waiting.token);
    waiting.collectors[session->peer()] = session->pid();
  }
  Wait(std::move(waiting), kFlushWait);
}

void QueryPeer::BeginDetach(const query::Request& request) {
  query::CaptureRequest concerned;
  *concerned.mutable_pids() = request.detach().pids();
  const absl::StatusOr<std::vector<const Session*>> sessions =
      SessionsToCapture(*store_, credentials_, concerned);
  if (!sessions.ok()) {
    Answer(ErrorResponse(std::string(sessions.status().message())));
    return;
  }
  Waiting waiting{.request = request,
                  .command = CollectorPeer::Command::kCapture,
                  .token = NextToken(),
                  .collectors = {},
                  .pids = {},
                  .unanswered = {},
                  .detaches = true,
                  .timer = {}};
  for (const Session* session : *sessions) {
    waiting.pids.push_back(session->pid());
    if (!session->connected()) continue;
    waiting.unanswered.insert(session->pid());
    session->peer()->Detach();
    waiting.collectors[session->peer()] = session->pid();
  }
  Wait(std::move(waiting), kDetachWait);
}

void QueryPeer::Adopt(const query::AdoptRequest& request) {
  FileDescriptor socket = connection_->TakeDescriptor();
  if (!socket.is_open()) {
    Answer(ErrorResponse("no socket came with the request to adopt one"));
    return;
  }
  const absl::Status adopted =
      control_->adopt(credentials_, std::move(socket), static_cast<pid_t>(request.pid()));
  if (!adopted.ok()) {
    Answer(ErrorResponse(std::string(adopted.message())));
    return;
  }
  query::Response response;
  response.mutable_adopted();
  Answer(response);
}

void QueryPeer::Wait(Waiting waiting, absl::Duration longest) {
  waiting.timer = reactor_->After(longest, [this] { Finish(); });
  waiting_ = std::move(waiting);
  if (waiting_->collectors.empty()) {
    Finish();
  } else {
    connection_->Pause();
  }
}

void QueryPeer::Answered(const CollectorPeer* collector, CollectorPeer::Command command,
                         uint64_t token) {
  // Tokens grow, and a collector that was asked twice may answer once, for the later: that covers
  // the earlier.
  if (!waiting_.has_value() || waiting_->command != command || waiting_->token > token) return;
  if (waiting_->detaches) return;
  if (const auto asked = waiting_->collectors.find(collector);
      asked != waiting_->collectors.end()) {
    waiting_->unanswered.erase(asked->second);
    // All that it had is in the daemon's sums: what comes now is the recording's.
    if (waiting_->request.has_record()) recorder_->Begin(*collector->session(), MonotonicNow());
  }
  CollectorClosed(collector);
}

void QueryPeer::CollectorClosed(const CollectorPeer* collector) {
  if (!waiting_.has_value()) return;
  const auto asked = waiting_->collectors.find(collector);
  if (asked == waiting_->collectors.end()) return;
  if (waiting_->detaches) waiting_->unanswered.erase(asked->second);
  waiting_->collectors.erase(asked);
  if (waiting_->collectors.empty()) Finish();
}

void QueryPeer::Finish() {
  const Waiting finished = *std::exchange(waiting_, std::nullopt);
  reactor_->Cancel(finished.timer);
  connection_->Resume();
  if (finished.command == CollectorPeer::Command::kCapture) {
    Answer(MakeCaptures(*store_, credentials_, finished.pids, finished.unanswered));
    return;
  }
  if (finished.request.has_record()) {
    // Those that have not answered.
    for (const Session* session : SessionsToFlush()) recorder_->Begin(*session, MonotonicNow());
    return;
  }
  std::vector<pid_t> late;
  for (const auto& [collector, pid] : finished.collectors) late.push_back(pid);
  if (finished.request.has_end_recording()) {
    recorder_->End(late, MonotonicNow());
    return;
  }
  Answer(MakeTable(*store_, credentials_, finished.request.table(), late, MonotonicNow()));
}

void QueryPeer::Answer(const query::Response& response) {
  if (const size_t bytes = response.ByteSizeLong(); bytes > kMaxResponseBytes) {
    connection_->Send(
        ErrorResponse(absl::StrCat("the table has ", bytes >> 20,
                                   " MiB, too many to send: ask for one process (--pid), or for "
                                   "a view with fewer rows")));
  } else {
    connection_->Send(response);
  }
  if (connection_->queued_bytes() > 0) connection_->Pause();
}

void QueryPeer::Drained() {
  if (recorder_ != nullptr) recorder_->Drained(MonotonicNow());
  if (!waiting_.has_value()) connection_->Resume();
}

}  // namespace tp

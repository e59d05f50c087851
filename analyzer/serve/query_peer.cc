#include "analyzer/serve/query_peer.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/serve/query_service.h"

namespace tp {
namespace {

// A collector may get the questions of several tools: each has a number of its own.
uint64_t NextToken() {
  static uint64_t last = 0;
  return ++last;
}

}  // namespace

QueryPeer::QueryPeer(Connection* connection, const Credentials& credentials, Reactor* reactor,
                     const SessionStore* store, const DaemonControl* control)
    : connection_(connection),
      credentials_(credentials),
      reactor_(reactor),
      store_(store),
      control_(control) {
  // The length of an answer is bounded by itself, and the next one waits until it is read.
  connection_->set_max_queued_bytes(kMaxResponseBytes + 1024);
}

QueryPeer::~QueryPeer() {
  if (waiting_.has_value()) reactor_->Cancel(waiting_->timer);
}

absl::Status QueryPeer::Take(std::string_view message) {
  query::Request request;
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return absl::InvalidArgumentError("a request that does not parse");
  }
  switch (request.request_case()) {
    case query::Request::kProcesses: {
      query::Response response;
      *response.mutable_processes() = DescribeProcesses(*store_, credentials_, MonotonicNow());
      Answer(response);
      break;
    }
    case query::Request::kTable:
      BeginTable(request.table());
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

void QueryPeer::BeginTable(const query::TableRequest& request) {
  Waiting waiting{.request = request, .token = NextToken(), .collectors = {}, .timer = {}};
  if (request.flush()) {
    const absl::StatusOr<std::vector<const Session*>> concerned =
        SessionsConcerned(*store_, credentials_, request.pid());
    if (concerned.ok()) {
      for (const Session* session : *concerned) {
        if (!session->capturing()) continue;
        session->peer()->Flush(waiting.token);
        waiting.collectors.insert(session->peer());
      }
    }
  }
  waiting.timer = reactor_->After(kFlushWait, [this] { FinishTable(); });
  waiting_ = std::move(waiting);
  if (waiting_->collectors.empty()) {
    FinishTable();
  } else {
    connection_->Pause();
  }
}

void QueryPeer::Flushed(const CollectorPeer* collector, uint64_t token) {
  // Tokens grow, and a collector that was asked twice may answer once, for the later: that covers
  // the earlier.
  if (!waiting_.has_value() || waiting_->token > token) return;
  CollectorClosed(collector);
}

void QueryPeer::CollectorClosed(const CollectorPeer* collector) {
  if (!waiting_.has_value() || waiting_->collectors.erase(collector) == 0) return;
  if (waiting_->collectors.empty()) FinishTable();
}

void QueryPeer::FinishTable() {
  const Waiting finished = *std::exchange(waiting_, std::nullopt);
  reactor_->Cancel(finished.timer);
  std::vector<pid_t> late;
  for (const CollectorPeer* collector : finished.collectors) {
    if (collector->session() != nullptr) late.push_back(collector->session()->pid());
  }
  connection_->Resume();
  Answer(MakeTable(*store_, credentials_, finished.request, late, MonotonicNow()));
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
  if (!waiting_.has_value()) connection_->Resume();
}

}  // namespace tp

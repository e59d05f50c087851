// The daemon's side of one tool's connection: takes its requests one after the other, and answers
// each.
//
// A table that is to hold the latest events first asks the collectors concerned for them, and
// capturing is begun and stopped by them: their answers are waited for, for a bounded time, while
// everything else goes on. So is a recording begun, and ended.
#ifndef ANALYZER_SERVE_QUERY_PEER_H_
#define ANALYZER_SERVE_QUERY_PEER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/serve/collector_peer.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/reactor.h"
#include "analyzer/serve/recorders.h"
#include "analyzer/serve/session_store.h"
#include "proto/query.pb.h"

namespace tp {

class QueryPeer {
 public:
  static constexpr absl::Duration kFlushWait = absl::Milliseconds(300);
  static constexpr absl::Duration kCaptureWait = absl::Seconds(3);
  static constexpr absl::Duration kDetachWait = absl::Seconds(8);
  // An answer beyond this is replaced by an error that says so.
  static constexpr size_t kMaxResponseBytes = size_t{64} << 20;

  struct DaemonControl {
    std::function<query::Daemon()> describe;
    std::function<void()> stop;
    // Makes the other end of a socket pair a collector's connection, as if it had come by itself.
    // An error says why not.
    std::function<absl::Status(const Credentials& asker, FileDescriptor socket, pid_t pid)> adopt;
  };

  // All but the credentials outlive the peer.
  QueryPeer(Connection* connection, const Credentials& credentials, Reactor* reactor,
            const SessionStore* store, Recorders* recorders, const DaemonControl* control);
  ~QueryPeer();
  QueryPeer(const QueryPeer&) = delete;
  QueryPeer& operator=(const QueryPeer&) = delete;

  // An error ends the connection.
  absl::Status Take(std::string_view message);
  void Drained();

  // A collector has answered, or its connection has ended.
  void Answered(const CollectorPeer* collector, CollectorPeer::Command command, uint64_t token);
  void CollectorClosed(const CollectorPeer* collector);

 private:
  // For the collectors' answers to a table's or a capture's request.
  struct Waiting {
    query::Request request;
    CollectorPeer::Command command;
    uint64_t token;
    std::map<const CollectorPeer*, pid_t> collectors;  // That have not answered.
    std::vector<pid_t> pids;                           // Captures: all that are concerned,
    std::set<pid_t> unanswered;                        // and those that have not done it.
    bool detaches = false;                             // Then a closed connection is the answer.
    Reactor::TimerId timer;
  };

  void BeginTable(const query::Request& request);
  void BeginCaptures(const query::Request& request);
  void BeginRecording(const query::Request& request);
  void EndRecording(const query::Request& request);
  // The processes of the recording that can be asked for what they hold.
  std::vector<const Session*> SessionsToFlush() const;
  // Asks for what their collectors hold, and waits for it.
  void Flush(const query::Request& request, const std::vector<const Session*>& sessions);
  void BeginDetach(const query::Request& request);
  void Adopt(const query::AdoptRequest& request);
  void Wait(Waiting waiting, absl::Duration longest);
  void Finish();
  void Stop();
  void Answer(const query::Response& response);

  Connection* connection_;
  Credentials credentials_;
  Reactor* reactor_;
  const SessionStore* store_;
  Recorders* recorders_;
  const DaemonControl* control_;
  std::optional<Waiting> waiting_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_QUERY_PEER_H_

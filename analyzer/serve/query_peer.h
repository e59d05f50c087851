// The daemon's side of one tool's connection: takes its requests one after the other, and answers
// each.
//
// A table that is to hold the latest events first asks the collectors concerned for them and waits
// for their answers, for a bounded time, while everything else goes on.
#ifndef ANALYZER_SERVE_QUERY_PEER_H_
#define ANALYZER_SERVE_QUERY_PEER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "absl/status/status.h"
#include "analyzer/serve/collector_peer.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/reactor.h"
#include "analyzer/serve/session_store.h"
#include "proto/query.pb.h"

namespace tp {

class QueryPeer {
 public:
  static constexpr absl::Duration kFlushWait = absl::Milliseconds(300);
  // An answer beyond this is replaced by an error that says so.
  static constexpr size_t kMaxResponseBytes = size_t{64} << 20;

  struct DaemonControl {
    std::function<query::Daemon()> describe;
    std::function<void()> stop;
  };

  // All but the credentials outlive the peer.
  QueryPeer(Connection* connection, const Credentials& credentials, Reactor* reactor,
            const SessionStore* store, const DaemonControl* control);
  ~QueryPeer();
  QueryPeer(const QueryPeer&) = delete;
  QueryPeer& operator=(const QueryPeer&) = delete;

  // An error ends the connection.
  absl::Status Take(std::string_view message);
  void Drained();

  // A collector has answered, or its connection has ended.
  void Flushed(const CollectorPeer* collector, uint64_t token);
  void CollectorClosed(const CollectorPeer* collector);

 private:
  struct Waiting {
    query::TableRequest request;
    uint64_t token;
    std::set<const CollectorPeer*> collectors;
    Reactor::TimerId timer;
  };

  void BeginTable(const query::TableRequest& request);
  void FinishTable();
  void Stop();
  void Answer(const query::Response& response);

  Connection* connection_;
  Credentials credentials_;
  Reactor* reactor_;
  const SessionStore* store_;
  const DaemonControl* control_;
  std::optional<Waiting> waiting_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_QUERY_PEER_H_

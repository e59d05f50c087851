// The daemon: collectors and tools come to its socket, and everything happens on the thread that
// calls Run.
//
//   Daemon::BlockEndingSignals();
//   absl::StatusOr<ListeningSocket> socket = ListeningSocket::Open(path);
//   absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Create(*std::move(socket), limits);
//   (*daemon)->Run();        // until SIGTERM, SIGINT, SIGHUP or a tool ends it; the socket is
//   removed then
#ifndef ANALYZER_SERVE_DAEMON_H_
#define ANALYZER_SERVE_DAEMON_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analyzer/serve/collector_peer.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/file_descriptor.h"
#include "analyzer/serve/listening_socket.h"
#include "analyzer/serve/query_peer.h"
#include "analyzer/serve/reactor.h"
#include "analyzer/serve/recorders.h"
#include "analyzer/serve/rejection_log.h"
#include "analyzer/serve/session_store.h"
#include "google/protobuf/arena.h"

namespace tp {

class Daemon {
 public:
  static constexpr size_t kMaxConnections = 1000;

  // Keeps SIGTERM, SIGINT and SIGHUP for Run, which ends in good order on them. To be called before
  // the socket is opened: it would be left behind by a signal that comes in between.
  static absl::Status BlockEndingSignals();

  static absl::StatusOr<std::unique_ptr<Daemon>> Create(ListeningSocket socket,
                                                        const StoreLimits& limits);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void Run();

 private:
  // A connection, and who turned out to be there.
  struct Peer {
    Credentials credentials;
    std::unique_ptr<Connection> connection;
    std::variant<std::monostate, std::unique_ptr<CollectorPeer>, std::unique_ptr<QueryPeer>> who;
  };

  Daemon(ListeningSocket socket, const StoreLimits& limits, std::unique_ptr<Reactor> reactor);
  absl::Status Start();
  absl::Status Listen();
  // Makes the socket anew where somebody removed it.
  void KeepPlace();
  void Accept();
  void Admit(FileDescriptor fd);
  absl::Status Greeted(uint64_t number, std::string_view greeting);
  void Closed(uint64_t number, const absl::Status& why);
  void OnAnswer(const CollectorPeer* collector, CollectorPeer::Command command, uint64_t token);
  void OnCollectorClosed(const CollectorPeer* collector);
  void Tick();
  absl::Status Adopt(const Credentials& asker, FileDescriptor socket, pid_t pid);
  void Stop(std::string_view why);
  query::Daemon Describe() const;

  int64_t started_ns_;
  // Before what uses it.
  std::unique_ptr<Reactor> reactor_;
  ListeningSocket socket_;
  FileDescriptor signals_;
  SessionStore store_;
  Recorders recorders_;
  std::vector<char> arena_block_;
  google::protobuf::Arena arena_;
  RejectionLog rejections_;
  QueryPeer::DaemonControl control_;
  uint64_t last_number_ = 0;
  uint64_t bytes_of_closed_ = 0;
  bool told_over_limit_ = false;
  bool told_out_of_place_ = false;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<Peer>> ended_;  // Closed, and not let go yet.
};

}  // namespace tp

#endif  // ANALYZER_SERVE_DAEMON_H_

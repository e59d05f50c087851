// The daemon's side of one collector's connection: reads what wire.proto says, feeds the session of
// the process, acknowledges.
#ifndef ANALYZER_SERVE_COLLECTOR_PEER_H_
#define ANALYZER_SERVE_COLLECTOR_PEER_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/recorders.h"
#include "analyzer/serve/session.h"
#include "analyzer/serve/session_store.h"
#include "google/protobuf/arena.h"

namespace tp {

class CollectorPeer {
 public:
  // What a collector answers to: a Flush (all that it had is in its session), or a Capture (its
  // session knows the state that it led to).
  enum class Command { kFlush, kCapture };
  using OnAnswer = std::function<void(CollectorPeer* peer, Command command, uint64_t token)>;

  // All outlive the peer. `arena` holds one message at a time and is shared by the peers.
  CollectorPeer(Connection* connection, const Credentials& credentials, SessionStore* store,
                Recorders* recorders, google::protobuf::Arena* arena, OnAnswer on_answer)
      : connection_(connection),
        credentials_(credentials),
        store_(store),
        recorders_(recorders),
        arena_(arena),
        on_answer_(std::move(on_answer)) {}

  // An error ends the connection.
  absl::Status Take(std::string_view message);
  // Acknowledges the batches of the turn.
  void TurnEnd() { Acknowledge(); }
  void Drained() { Acknowledge(); }
  // The connection is closed: the session goes on without.
  void Closed();

  void Flush(uint64_t token);
  void Capture(const query::CaptureRequest& request, uint64_t token);
  void Detach();
  Session* session() const { return session_; }

 private:
  absl::Status Greet(const wire::Hello& hello);
  void Acknowledge();

  Connection* connection_;
  Credentials credentials_;
  SessionStore* store_;
  Recorders* recorders_;
  google::protobuf::Arena* arena_;
  OnAnswer on_answer_;
  Session* session_ = nullptr;
  uint64_t acknowledged_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_COLLECTOR_PEER_H_

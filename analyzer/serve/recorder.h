// One recording: tells a tool's connection what comes of the processes that it asked for, so that
// who reads it has the sums that the daemon has (proto/capture.proto).
//
// A process comes in with its names and its state, and its collector's messages follow as they
// come. Nothing is waited for and nothing kept: what the tool does not read is queued up to a
// limit, and what finds no room is left out and counted; once all of the queue is read, the state
// of the processes concerned is told anew.
#ifndef ANALYZER_SERVE_RECORDER_H_
#define ANALYZER_SERVE_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/session.h"
#include "analyzer/wire/event_kind.h"
#include "proto/capture.pb.h"
#include "proto/query.pb.h"
#include "proto/wire.pb.h"

namespace tp {

class Recorder {
 public:
  // Beyond it nothing is queued but what a single process's state takes.
  static constexpr size_t kMaxQueuedBytes = size_t{8} << 20;

  // `connection` outlives it. Sessions are known by their address until LetGo.
  Recorder(Connection* connection, const Credentials& asker, const query::RecordRequest& request,
           size_t memory_bytes, int64_t now_ns);

  bool Wants(const Session& session) const;
  // From now on. Of one that is being recorded: nothing.
  void Begin(const Session& session, int64_t now_ns);

  // `session` has taken the message. One that is wanted, and is not being recorded, begins with a
  // hello.
  void Taken(const Session& session, const wire::FromCollector& message, std::string_view bytes,
             bool new_connection, int64_t now_ns);
  void Disconnected(const Session& session, int64_t now_ns);
  // Of those without a connection, whether they have ended; about once a second.
  void LookForEndings();
  void LetGo(const Session& session, int64_t now_ns);

  // The tool has read all.
  void Drained(int64_t now_ns);
  // Once the tool has read what it takes to tell all states, the last entry is sent; nothing more
  // is recorded. `late`: processes that were asked for their latest events and have not answered.
  void End(const std::vector<pid_t>& late, int64_t now_ns);
  bool ended() const { return ended_; }

 private:
  struct Tracked {
    uint64_t number = 0;
    bool has_begun = false;  // Its first state is told.
    bool is_told = false;    // All that came is: what comes can be told as it comes.
    uint64_t names = 1;      // Told so far, and so below.
    size_t stacks = 0;
    capture::Ending ending = capture::NOT_ENDED;
    EventCounts not_recorded{};
    uint64_t lost_before = 0, lost = 0;
  };

  bool HasRoom(size_t bytes) const {
    return connection_->queued_bytes() + bytes <= kMaxQueuedBytes;
  }
  void CatchUp(const Session& session, Tracked* tracked, int64_t now_ns);
  // True once all that are known are told: as far as there is room.
  bool TellNames(const Session& session, Tracked* tracked, int64_t now_ns);
  bool TellStacks(const Session& session, Tracked* tracked);
  void TellState(const Session& session, Tracked* tracked, int64_t now_ns);
  void TellEnding(const Session& session, Tracked* tracked);
  void LookForLosses(const Session& session, Tracked* tracked);
  void EndIfTold(int64_t now_ns);
  // Of the processes that were asked for by pid.
  bool HaveAllEnded() const;
  void Tell(const capture::Entry& entry, bool last = false);

  Connection* connection_;
  Credentials asker_;
  query::RecordRequest request_;
  absl::flat_hash_map<const Session*, Tracked> tracked_;
  uint64_t processes_ = 0;
  uint64_t events_ = 0;
  uint64_t not_recorded_ = 0;
  uint64_t lost_ = 0;
  std::vector<pid_t> late_;
  bool all_ended_ = false;
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_RECORDER_H_

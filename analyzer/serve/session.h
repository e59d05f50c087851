// One traced process as the daemon knows it: its recording so far, what was lost of it, and how it
// is. It outlives the connections of its collector, which may come and go, and stays readable after
// the process has ended.
//
// Fed with the messages of its collector; holds no socket. Not thread-safe.
#ifndef ANALYZER_SERVE_SESSION_H_
#define ANALYZER_SERVE_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "analyzer/model/clock_time.h"
#include "analyzer/model/string_table.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/loss_account.h"
#include "analyzer/serve/traced_process.h"
#include "analyzer/summarize/summary.h"
#include "analyzer/symbolize/symbolizer.h"
#include "analyzer/wire/name_table.h"
#include "proto/query.pb.h"
#include "proto/wire.pb.h"

namespace tp {

class CollectorPeer;

struct SessionLimits {
  SummaryLimits summary;
  NameLimits names;
};

class Session {
 public:
  // Begins with the first hello of a collector. `symbolizer` outlives it; nullptr: frames of stacks
  // have no names.
  Session(const Credentials& peer, const wire::Hello& hello, const SessionLimits& limits,
          int64_t now_ns, Symbolizer* symbolizer = nullptr);

  // Whether this hello comes from the same collector in the same process. One process can have
  // several, one after the other: exec keeps pid and start time, and so do detach and attach.
  bool IsContinuedBy(const Credentials& peer, const wire::Hello& hello) const;
  // Whether the process is the same, whatever ran in it.
  bool IsProcess(const Credentials& peer, const wire::Hello& hello) const;

  // A connection begins, or its hello has news.
  void Greet(const wire::Hello& hello, bool new_connection, int64_t now_ns);
  // InvalidArgument: the message cannot be right; nothing of a batch was taken.
  absl::Status Add(const wire::Strings& strings);
  absl::Status Add(const wire::Batch& batch);
  void Add(const wire::Descriptions& descriptions);
  void Told(const wire::Status& status);
  void Told(const wire::Goodbye& goodbye) { goodbye_ = goodbye.reason(); }
  void Disconnected(int64_t now_ns);
  // Another collector has taken its place in the process.
  void Replaced() { replaced_ = true; }
  // Something came from it now. What it tells of lies in the past.
  void Seen(int64_t now_ns);

  // The connection that feeds it; none while it is away.
  CollectorPeer* peer() const { return peer_; }
  void set_peer(CollectorPeer* peer) { peer_ = peer; }
  bool connected() const { return peer_ != nullptr; }
  bool capturing() const { return connected() && state_ == wire::CAPTURING; }
  // No more will come of it. Looks whether the process is still there.
  bool HasEnded() const { return !connected() && How() != Ending::kNone; }

  pid_t pid() const { return credentials_.pid; }
  uid_t uid() const { return credentials_.uid; }
  int64_t last_seen_ns() const { return last_seen_ns_; }
  uint64_t last_sequence() const { return losses_.last_sequence(); }
  const LossAccount& losses() const { return losses_; }
  const Summary& summary() const { return *summary_; }
  size_t memory_bytes() const;
  // "4242 (python train.py)"
  std::string Name() const;

  query::Process Describe() const;

 private:
  enum class Ending { kNone, kGoodbye, kReplaced, kExec, kGone };

  // How a process without a connection has ended, if it has.
  Ending How() const;
  // Then nobody knows all that was lost.
  bool EndedWithoutGoodbye(Ending ending) const {
    return ending != Ending::kNone && !goodbye_.has_value();
  }
  void AddNotes(Ending ending, query::Process* process) const;

  Credentials credentials_;
  uint64_t claimed_start_ticks_;
  std::optional<TracedProcess> process_;  // As this machine has it; none if it cannot be seen.
  wire::Hello hello_;
  wire::Status status_;
  wire::CollectorState state_ = wire::COLLECTOR_STATE_UNKNOWN;
  std::optional<wire::Goodbye::Reason> goodbye_;
  bool replaced_ = false;
  CollectorPeer* peer_ = nullptr;
  int64_t connected_ns_;
  int64_t last_seen_ns_;
  int64_t last_told_ns_;  // Its last Status: by then all that CUPTI had was sent.
  uint64_t connections_ = 0;

  std::unique_ptr<StringTable> strings_;
  NameTable names_;
  uint64_t descriptions_left_out_ = 0;
  ClockTime clock_;
  LossAccount losses_;
  std::unique_ptr<Summary> summary_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_SESSION_H_

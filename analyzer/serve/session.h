// One traced process as the daemon knows it: its recording so far, what was lost of it, and how it
// is. It outlives the connections of its collector, which may come and go, and stays readable after
// the process has ended.
//
// Fed with the messages of its collector, from a connection or out of a recording
// (proto/capture.proto); holds no socket. Not thread-safe.
#ifndef ANALYZER_SERVE_SESSION_H_
#define ANALYZER_SERVE_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "analyzer/model/clock_time.h"
#include "analyzer/model/string_table.h"
#include "analyzer/serve/connection.h"
#include "analyzer/serve/loss_account.h"
#include "analyzer/serve/traced_process.h"
#include "analyzer/summarize/summary.h"
#include "analyzer/symbolize/symbolizer.h"
#include "analyzer/wire/batch_decoder.h"
#include "analyzer/wire/name_table.h"
#include "proto/capture.pb.h"
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
  // One that was recorded, perhaps elsewhere: nothing is looked for on this machine.
  Session(const capture::Process& recorded, const SessionLimits& limits);

  // Whether this hello comes from the same collector in the same process. One process can have
  // several, one after the other: exec keeps pid and start time, and so do detach and attach.
  bool IsContinuedBy(const Credentials& peer, const wire::Hello& hello) const;
  // Whether the process is the same, whatever ran in it.
  bool IsProcess(const Credentials& peer, const wire::Hello& hello) const;

  // A connection begins, or its hello has news.
  void Greet(const wire::Hello& hello, bool new_connection, int64_t now_ns);
  // Any message but a hello. InvalidArgument: it cannot be right; nothing of a batch was taken.
  absl::Status Take(const wire::FromCollector& message, int64_t now_ns);
  // The same, for one kind each.
  absl::Status Add(const wire::Strings& strings);
  absl::Status Add(const wire::Batch& batch);
  void Add(const wire::Descriptions& descriptions);
  void Told(const wire::Status& status);
  void Told(const wire::Goodbye& goodbye) { goodbye_ = goodbye.reason(); }
  // Something came from it now. What it tells of lies in the past.
  void Seen(int64_t now_ns);
  void Disconnected(int64_t now_ns);
  // Another collector has taken its place in the process.
  void Replaced() { replaced_ = true; }

  // What a recording of it that begins now has to know; names are told before.
  void SaveState(int64_t now_ns, capture::State* state) const;
  capture::Ending ending() const { return connected() ? capture::NOT_ENDED : How(); }

  // Of a session that was recorded. Its sums and losses are those since the first state.
  void Restore(const capture::State& state);
  void SetStackNames(const capture::StackNames& stacks);
  void Ended(capture::Ending ending) { told_ending_ = ending; }

  // The connection that feeds it; none while it is away.
  CollectorPeer* peer() const { return peer_; }
  void set_peer(CollectorPeer* peer) { peer_ = peer; }
  bool connected() const { return peer_ != nullptr || recorded_connection_; }
  bool capturing() const { return connected() && state_ == wire::CAPTURING; }
  // No more will come of it. Looks whether the process is still there.
  bool HasEnded() const { return ending() != capture::NOT_ENDED; }

  pid_t pid() const { return credentials_.pid; }
  uid_t uid() const { return credentials_.uid; }
  int64_t connected_ns() const { return connected_ns_; }
  const wire::Hello& hello() const { return hello_; }
  int64_t last_seen_ns() const { return last_seen_ns_; }
  uint64_t last_sequence() const { return losses_.last_sequence(); }
  const LossAccount& losses() const { return losses_; }
  const Summary& summary() const { return *summary_; }
  const NameTable& names() const { return names_; }
  std::string_view Text(StringId id) const { return strings_->Text(id); }
  // When capturing began, of what is told so far; 0: not known.
  int64_t recording_start_ns() const { return recording_start_ns_; }
  // The records of a batch that was taken, once more (analyzer/wire/batch_decoder.h).
  template <typename Sink>
  void Decode(const wire::Batch& batch, Sink& sink) {
    [[maybe_unused]] const auto counts = DecodeBatch(batch, &names_, clock_, sink);
  }
  size_t memory_bytes() const;
  // "4242 (python train.py)"
  std::string Name() const;

  query::Process Describe() const;

 private:
  void SetRecordingStart(int64_t start_ns);
  // Ends operations that have ended in a part that the recording lacks.
  void CloseUnseen(const capture::State& state);
  void AddOpen(const capture::OpenOperation& open);

  // How a process without a connection has ended, if it has.
  capture::Ending How() const;
  // Then nobody knows all that was lost.
  bool EndedWithoutGoodbye(capture::Ending ending) const {
    return ending != capture::NOT_ENDED && !goodbye_.has_value();
  }
  EventCounts Events() const;
  std::vector<query::Loss> Losses() const;
  void AddNotes(capture::Ending ending, query::Process* process) const;
  void AddNotesOfRecording(query::Process* process) const;

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
  int64_t recording_start_ns_ = 0;
  int64_t last_told_ns_;  // Its last Status: by then all that CUPTI had was sent.

  std::unique_ptr<StringTable> strings_;
  NameTable names_;
  uint64_t descriptions_left_out_ = 0;
  ClockTime clock_;
  LossAccount losses_;
  std::unique_ptr<Summary> summary_;

  // Of a session that was recorded: what is true of the recording alone.
  struct Recording {
    std::optional<LossAccount> before;  // As it began.
    bool from_the_beginning = true;
    int64_t since_ns = 0;
    EventCounts not_recorded{};  // The recorder was slow.
    uint64_t open_at_first = 0;
    uint64_t open_left_out = 0;
    uint64_t ended_unseen = 0;
  };
  std::optional<Recording> recording_;
  bool recorded_connection_ = false;
  capture::Ending told_ending_ = capture::NOT_ENDED;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_SESSION_H_

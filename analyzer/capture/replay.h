// A capture file as the daemon's own sessions: the entries go through the code that live messages
// go through, so that a table of them is the live table.
//
//   absl::StatusOr<Replay> replay = ReplayCapture(path, {});
//   absl::StatusOr<query::Table> table = TableOfReplay(*replay, request);
//
// Memory is that of a daemon's summaries, and does not grow with the file.
#ifndef ANALYZER_CAPTURE_REPLAY_H_
#define ANALYZER_CAPTURE_REPLAY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzer/serve/session.h"
#include "proto/capture.pb.h"
#include "proto/query.pb.h"

namespace tp {

struct Replay {
  std::vector<std::unique_ptr<Session>> sessions;  // In the order in which they came.
  capture::Beginning beginning;
  int64_t now_ns = 0;  // When the recording ended, or was last heard of.
  std::vector<pid_t> late;
  // What was left out or is doubtful, a line each.
  std::vector<std::string> notes;
};

// What to do on the way; all may be empty.
struct ReplayEvents {
  // A session has taken its state, or a batch.
  std::function<void(Session& session, const capture::State& state)> state = {};
  std::function<void(Session& session, const wire::Batch& batch)> batch = {};
  // Told now and then which part of the file is read, up to 1.
  std::function<void(double part)> progress = {};
  // Asked now and then; true: the replay ends as Cancelled.
  std::function<bool()> cancelled = {};
};

// InvalidArgument with one line if it is no capture that can be read; a broken one gives what it
// holds, and notes.
absl::StatusOr<Replay> ReplayCapture(const std::string& path, const ReplayEvents& events);

// InvalidArgument names the processes if the one that is asked for is not there.
absl::StatusOr<query::Table> TableOfReplay(const Replay& replay,
                                           const query::TableRequest& request);

}  // namespace tp

#endif  // ANALYZER_CAPTURE_REPLAY_H_

// Starting and stopping the daemon.
#ifndef TOOLS_CONTROL_DAEMON_PROCESS_H_
#define TOOLS_CONTROL_DAEMON_PROCESS_H_

#include "absl/status/statusor.h"
#include "proto/query.pb.h"

namespace tp {

struct RunningDaemon {
  query::Daemon daemon;
  bool started = false;  // By this call.
};

// The daemon that listens at the socket's path, started if there is none. Returns once it answers;
// DeadlineExceeded if it does not within ten seconds. What the daemon complains of when it cannot
// start is in the error.
absl::StatusOr<RunningDaemon> EnsureDaemon();

// Asks the daemon to end and waits until it is gone. One whose socket was removed is found by its
// lock. DeadlineExceeded names one that does not end. `stays_activated`: a service manager listens
// in its place, and starts another when somebody connects.
absl::Status StopDaemon(bool* stays_activated);

}  // namespace tp

#endif  // TOOLS_CONTROL_DAEMON_PROCESS_H_

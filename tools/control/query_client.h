// One conversation with the daemon: connects, asks, gets the answer, each within a deadline.
//
//   absl::StatusOr<QueryClient> client = QueryClient::Connect();
//   absl::StatusOr<query::Response> response = client->Ask(request);
//
// Errors: Unavailable when no daemon listens (with the remedy), PermissionDenied for one of another
// user, root's excepted, InvalidArgument for a socket path that cannot be one, DeadlineExceeded for
// a daemon that does not answer, DataLoss for an answer that is none; an Error in the response
// comes back as FailedPrecondition. After an error the client is of no further use. One thread at a
// time, but for Interrupt; never raises SIGPIPE.
#ifndef TOOLS_CONTROL_QUERY_CLIENT_H_
#define TOOLS_CONTROL_QUERY_CLIENT_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "analyzer/wire/framing.h"
#include "proto/query.pb.h"

namespace tp {

class QueryClient {
 public:
  static constexpr std::chrono::milliseconds kDeadline{5000};

  // Connects to FindDaemonSocket(). `deadline` is that of each step: connecting, and each question
  // with its answer.
  static absl::StatusOr<QueryClient> Connect(std::chrono::milliseconds deadline = kDeadline);

  QueryClient(QueryClient&& other) noexcept;
  QueryClient& operator=(QueryClient&& other) noexcept;
  ~QueryClient();

  // `descriptor` goes with it, if it is none below 0.
  absl::StatusOr<query::Response> Ask(const query::Request& request, int descriptor = -1);
  absl::StatusOr<query::Processes> AskProcesses();
  absl::StatusOr<query::Table> AskTable(const query::TableRequest& request);
  absl::StatusOr<query::Daemon> AskDaemon();
  // Begins or stops capturing, and says what came of it.
  absl::StatusOr<query::Captures> Capture(const query::CaptureRequest& request);
  // Lets collectors leave their processes, and says what came of it.
  absl::StatusOr<query::Captures> Detach(const query::DetachRequest& request);
  // Gives the daemon the other end of a socket that `pid` has, whose collector is there.
  absl::Status Adopt(int64_t pid, int socket);
  absl::Status Stop();

  // Begins a recording: its first part. From then on only the two below are of use.
  absl::StatusOr<query::Recorded> BeginRecording(const query::RecordRequest& request);
  // The next part; nullopt if none comes within `wait`.
  absl::StatusOr<std::optional<query::Recorded>> NextRecorded(std::chrono::milliseconds wait);
  absl::Status EndRecording();

  // Makes an Ask under way in another thread fail at once, and all later ones.
  void Interrupt();

  const std::string& path() const { return path_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  QueryClient(int socket, std::string path, std::chrono::milliseconds deadline);
  absl::Status Send(const query::Request& request, int descriptor = -1);
  // nullopt if the time is over before it is there.
  absl::StatusOr<std::optional<query::Response>> Receive(Time end);

  int socket_;
  FrameReader frames_;
  std::string path_;
  std::chrono::milliseconds deadline_;
};

// FindDaemonSocket() as a string; InvalidArgument when it does not fit into a socket's address.
absl::StatusOr<std::string> SocketPath();

}  // namespace tp

#endif  // TOOLS_CONTROL_QUERY_CLIENT_H_

#include "tools/control/query_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/socket_path.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kGreeting = "TPQ1";
// Far above the largest table (65,536 groups with long names), far below what would harm.
constexpr size_t kMostResponseBytes = size_t{1} << 30;
constexpr size_t kReadBytes = size_t{64} << 10;

absl::Status NoDaemon(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(
      "no daemon at ", path, ": start one with `tpctl daemon start`, or set TP_SOCKET"));
}

absl::Status TooSlow(const std::string& path, std::chrono::milliseconds deadline) {
  return absl::DeadlineExceededError(absl::StrFormat(
      "the daemon at %s did not answer within %.3g s: try again, or restart it with `tpctl "
      "daemon stop` and `tpctl daemon start`",
      path, deadline.count() / 1000.0));
}

absl::Status Closed(const std::string& path) {
  return absl::AbortedError(
      absl::StrCat("the daemon at ", path,
                   " closed the connection without an answer: see `tpctl daemon status`"));
}

absl::Status Garbage(const std::string& path) {
  return absl::DataLossError(absl::StrCat(
      "what listens at ", path,
      " does not answer as the daemon does: is it another program, or another version of tpd?"));
}

// What another user made to listen there may answer anything. The collector refuses it as well.
absl::Status CheckOwner(int socket, const std::string& path) {
  ucred listener = {};
  socklen_t length = sizeof(listener);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &listener, &length) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot tell who listens at ", path, ": ", strerror(errno)));
  }
  if (listener.uid == geteuid() || listener.uid == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the daemon at ", path, " belongs to another user (uid ", listener.uid,
                   "): start your own with `tpctl daemon start`, with TP_SOCKET set to another "
                   "path or not at all"));
}

// Waits for `events`; false when the time is over. Errors and hang-ups show in the call that
// follows.
bool Wait(int socket, short events, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    pollfd polled = {socket, events, 0};
    const int ready = poll(&polled, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;
  }
}

// As send; `descriptor` goes along, if it is none below 0.
ssize_t SendWith(int socket, std::string_view bytes, int descriptor) {
  iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL);
}

}  // namespace

absl::StatusOr<std::string> SocketPath() {
  char path[kSocketPathBytes];
  if (!FindDaemonSocket(path)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the socket's path in TP_SOCKET or XDG_RUNTIME_DIR is longer than the %d "
                        "bytes that a socket may have: set TP_SOCKET to a shorter one",
                        kSocketPathBytes - 1));
  }
  return std::string(path);
}

QueryClient::QueryClient(int socket, std::string path, std::chrono::milliseconds deadline)
    : socket_(socket), frames_(kMostResponseBytes), path_(std::move(path)), deadline_(deadline) {}

QueryClient::QueryClient(QueryClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      frames_(std::move(other.frames_)),
      path_(std::move(other.path_)),
      deadline_(other.deadline_) {}

QueryClient& QueryClient::operator=(QueryClient&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(frames_, other.frames_);
  std::swap(path_, other.path_);
  std::swap(deadline_, other.deadline_);
  return *this;
}

QueryClient::~QueryClient() {
  if (socket_ >= 0) close(socket_);
}

absl::StatusOr<QueryClient> QueryClient::Connect(std::chrono::milliseconds deadline) {
  absl::StatusOr<std::string> path = SocketPath();
  if (!path.ok()) return path.status();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path->c_str(), path->size() + 1);

  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    return absl::InternalError(absl::StrCat("cannot make a socket: ", strerror(errno)));
  }
  QueryClient client(descriptor, *path, deadline);
  const Clock::time_point end = Clock::now() + deadline;
  while (connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // Its queue of connections is full.
      if (Clock::now() >= end) return TooSlow(*path, deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) return NoDaemon(*path);
    if (errno == EACCES || errno == EPERM) {
      return absl::PermissionDeniedError(
          absl::StrCat("not allowed to use the daemon at ", *path,
                       ": it belongs to another user; start your own with `tpctl daemon start`, "
                       "with TP_SOCKET set to another path or not at all"));
    }
    return absl::InternalError(
        absl::StrCat("cannot connect to the daemon at ", *path, ": ", strerror(errno)));
  }
  if (absl::Status ours = CheckOwner(descriptor, *path); !ours.ok()) return ours;
  size_t sent = 0;
  while (sent < kGreeting.size()) {
    const ssize_t n =
        send(descriptor, kGreeting.data() + sent, kGreeting.size() - sent, MSG_NOSIGNAL);
    if (n > 0) {
      sent += n;
    } else if (errno == EAGAIN) {
      if (!Wait(descriptor, POLLOUT, end)) return TooSlow(*path, deadline);
    } else if (errno != EINTR) {
      return Closed(*path);
    }
  }
  return client;
}

absl::Status QueryClient::Send(const query::Request& request, int descriptor) {
  const Clock::time_point end = Clock::now() + deadline_;
  std::string message;
  AppendMessage(request, &message);
  for (size_t sent = 0; sent < message.size();) {
    // With the first bytes that are taken.
    const ssize_t n = SendWith(socket_, {message.data() + sent, message.size() - sent}, descriptor);
    if (n > 0) {
      sent += n;
      descriptor = -1;
    } else if (errno == EAGAIN) {
      if (!Wait(socket_, POLLOUT, end)) return TooSlow(path_, deadline_);
    } else if (errno != EINTR) {
      return Closed(path_);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<query::Response>> QueryClient::Receive(Time end) {
  while (true) {
    const absl::StatusOr<std::optional<std::string_view>> message = frames_.Next();
    if (!message.ok()) return Garbage(path_);
    if (message->has_value()) {
      query::Response response;
      if (!response.ParseFromArray((*message)->data(), static_cast<int>((*message)->size())) ||
          response.response_case() == query::Response::RESPONSE_NOT_SET) {
        return Garbage(path_);
      }
      if (response.has_error()) return absl::FailedPreconditionError(response.error().message());
      return response;
    }
    const std::span<char> room = frames_.Room(kReadBytes);
    const ssize_t n = recv(socket_, room.data(), room.size(), 0);
    if (n > 0) {
      frames_.Filled(static_cast<size_t>(n));
    } else if (n == 0) {
      return frames_.pending_bytes() == 0 ? Closed(path_) : Garbage(path_);
    } else if (errno == EAGAIN) {
      if (!Wait(socket_, POLLIN, end)) return std::nullopt;
    } else if (errno != EINTR) {
      return Closed(path_);
    }
  }
}

absl::StatusOr<query::Response> QueryClient::Ask(const query::Request& request, int descriptor) {
  const Clock::time_point end = Clock::now() + deadline_;
  if (absl::Status sent = Send(request, descriptor); !sent.ok()) return sent;
  absl::StatusOr<std::optional<query::Response>> response = Receive(end);
  if (!response.ok()) return response.status();
  if (!response->has_value()) return TooSlow(path_, deadline_);
  if (frames_.pending_bytes() > 0) return Garbage(path_);
  return **std::move(response);
}

absl::StatusOr<query::Processes> QueryClient::AskProcesses() {
  query::Request request;
  request.mutable_processes();
  absl::StatusOr<query::Response> response = Ask(request);
  if (!response.ok()) return response.status();
  if (!response->has_processes()) return Garbage(path_);
  return std::move(*response->mutable_processes());
}

absl::StatusOr<query::Table> QueryClient::AskTable(const query::TableRequest& table_request) {
  query::Request request;
  *request.mutable_table() = table_request;
  absl::StatusOr<query::Response> response = Ask(request);
  if (!response.ok()) return response.status();
  if (!response->has_table() || response->table().view() != table_request.view()) {
    return Garbage(path_);
  }
  return std::move(*response->mutable_table());
}

absl::StatusOr<query::Daemon> QueryClient::AskDaemon() {
  query::Request request;
  request.mutable_daemon();
  absl::StatusOr<query::Response> response = Ask(request);
  if (!response.ok()) return response.status();
  if (!response->has_daemon()) return Garbage(path_);
  return std::move(*response->mutable_daemon());
}

absl::StatusOr<query::Captures> QueryClient::Capture(const query::CaptureRequest& capture) {
  query::Request request;
  *request.mutable_capture() = capture;
  absl::StatusOr<query::Response> response = Ask(request);
  if (!response.ok()) return response.status();
  if (!response->has_captures()) return Garbage(path_);
  return std::move(*response->mutable_captures());
}

absl::StatusOr<query::Recorded> QueryClient::BeginRecording(const query::RecordRequest& record) {
  query::Request request;
  *request.mutable_record() = record;
  if (absl::Status sent = Send(request); !sent.ok()) return sent;
  absl::StatusOr<std::optional<query::Recorded>> first = NextRecorded(deadline_);
  if (!first.ok()) return first.status();
  if (!first->has_value()) return TooSlow(path_, deadline_);
  return **std::move(first);
}

absl::StatusOr<std::optional<query::Recorded>> QueryClient::NextRecorded(
    std::chrono::milliseconds wait) {
  absl::StatusOr<std::optional<query::Response>> response = Receive(Clock::now() + wait);
  if (!response.ok()) return response.status();
  if (!response->has_value()) return std::nullopt;
  if (!(*response)->has_recorded()) return Garbage(path_);
  return std::move(*(*response)->mutable_recorded());
}

absl::Status QueryClient::EndRecording() {
  query::Request request;
  request.mutable_end_recording();
  return Send(request);
}

absl::StatusOr<query::Captures> QueryClient::Detach(const query::DetachRequest& detach) {
  query::Request request;
  *request.mutable_detach() = detach;
  absl::StatusOr<query::Response> response = Ask(request);
  if (!response.ok()) return response.status();
  if (!response->has_captures()) return Garbage(path_);
  return std::move(*response->mutable_captures());
}

absl::Status QueryClient::Adopt(int64_t pid, int socket) {
  query::Request request;
  request.mutable_adopt()->set_pid(pid);
  absl::StatusOr<query::Response> response = Ask(request, socket);
  if (!response.ok()) return response.status();
  return response->has_adopted() ? absl::OkStatus() : Garbage(path_);
}

void QueryClient::Interrupt() { shutdown(socket_, SHUT_RDWR); }

absl::Status QueryClient::Stop() {
  query::Request request;
  request.mutable_stop();
  absl::StatusOr<query::Response> response = Ask(request);
  if (!response.ok()) return response.status();
  return response->has_stop() ? absl::OkStatus() : Garbage(path_);
}

}  // namespace tp

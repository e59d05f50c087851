// One accepted connection: bytes in, whole messages out to its owner, and answers back, without
// ever blocking.
//
// The first four bytes are a greeting that says who is there; after them come messages
// (analyzer/wire/framing.h). One turn reads a bounded amount, so that a flood on one connection
// lets the others have their turn. What a peer does not read is kept up to a limit; beyond it, or
// when it reads nothing for a while, the connection is closed.
//
// Owned by one owner, which it tells what happens through Events; the connection must not be
// destroyed inside such a call, except that `closed` is the last one and may lead to its
// destruction afterwards.
#ifndef ANALYZER_SERVE_CONNECTION_H_
#define ANALYZER_SERVE_CONNECTION_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "analyzer/serve/file_descriptor.h"
#include "analyzer/serve/reactor.h"
#include "analyzer/wire/framing.h"
#include "google/protobuf/message_lite.h"

namespace tp {

// Who is at the other end, as the kernel says (SO_PEERCRED).
struct Credentials {
  pid_t pid = 0;  // 0: in a pid namespace that this process does not see.
  uid_t uid = 0;
};

absl::StatusOr<Credentials> PeerCredentials(int fd);

class Connection {
 public:
  static constexpr size_t kGreetingBytes = 4;

  struct Events {
    std::function<absl::Status(std::string_view greeting)> greeting;
    std::function<absl::Status(std::string_view message)> message;
    // After the last message that a turn brought.
    std::function<void()> turn_end;
    // What was queued has been written.
    std::function<void()> drained;
    // Ok: the peer closed it in good order, or all was sent after CloseWhenSent. The connection is
    // closed already.
    std::function<void(const absl::Status& why)> closed;
  };

  struct Limits {
    size_t bytes_per_turn = size_t{256} << 10;
    size_t max_queued_bytes = size_t{1} << 20;
    absl::Duration opening = absl::Seconds(5);   // For the greeting to be there.
    absl::Duration stalled = absl::Seconds(10);  // For a peer to read anything of what is queued.
  };

  // The reactor outlives the connection. `fd` is non-blocking.
  Connection(Reactor* reactor, FileDescriptor fd, const Limits& limits, Events events);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  absl::Status Start();

  // Queues a message. If it does not fit, the connection is closed soon after (never inside this
  // call).
  void Send(const google::protobuf::MessageLite& message);
  void set_max_queued_bytes(size_t bytes) { limits_.max_queued_bytes = bytes; }
  // How long the peer may read nothing of what is queued; absl::InfiniteDuration(): for ever.
  void set_stalled(absl::Duration longest) { limits_.stalled = longest; }
  size_t queued_bytes() const { return out_.size() - out_sent_; }

  // No further message is handed on (nor read) until Resume.
  void Pause();
  void Resume();

  // Closes the connection once all that is queued is sent; nothing more is read.
  void CloseWhenSent();

  // From now on a descriptor that comes with a message is kept for TakeDescriptor, the latest; the
  // kernel closes them before.
  void AcceptDescriptors() { accepts_descriptors_ = true; }
  FileDescriptor TakeDescriptor() { return std::move(descriptor_); }
  // Closes it now; `closed` is told.
  void Close(const absl::Status& why);

  bool is_open() const { return fd_.is_open(); }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  void OnEvents(uint32_t epoll_events);
  absl::Status ReadTurn();
  ssize_t Receive(std::span<char> room);
  absl::Status HandOn();
  absl::Status Write();
  void WaitForWhatMatters();
  void StartStallTimer();
  // Runs what failed to its end outside of the caller's stack.
  void CloseSoon(absl::Status why);

  Reactor* reactor_;
  FileDescriptor fd_;
  Limits limits_;
  Events events_;
  FrameReader frames_;
  std::string out_;
  size_t out_sent_ = 0;
  bool greeted_ = false;
  bool paused_ = false;
  bool closing_ = false;     // After CloseWhenSent.
  bool peer_ended_ = false;  // Nothing more will come.
  bool accepts_descriptors_ = false;
  FileDescriptor descriptor_;
  bool closing_soon_ = false;
  uint64_t bytes_received_ = 0;
  std::optional<Reactor::TimerId> opening_timer_;
  std::optional<Reactor::TimerId> stall_timer_;
  std::optional<Reactor::TimerId> soon_timer_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_CONNECTION_H_

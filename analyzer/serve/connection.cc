#include "analyzer/serve/connection.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr size_t kBytesKeptWhenSent = size_t{64} << 10;
// What was sent goes out of the way once it is the larger part: a queue that is never empty must
// not grow.
constexpr size_t kSentBytesKept = size_t{256} << 10;

}  // namespace

absl::StatusOr<Credentials> PeerCredentials(int fd) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return absl::ErrnoToStatus(errno, "SO_PEERCRED");
  }
  return Credentials{peer.pid, peer.uid};
}

Connection::Connection(Reactor* reactor, FileDescriptor fd, const Limits& limits, Events events)
    : reactor_(reactor), fd_(std::move(fd)), limits_(limits), events_(std::move(events)) {}

Connection::~Connection() {
  for (const auto& timer : {opening_timer_, stall_timer_, soon_timer_}) {
    if (timer.has_value()) reactor_->Cancel(*timer);
  }
  if (fd_.is_open()) reactor_->Forget(fd_.get());
}

absl::Status Connection::Start() {
  opening_timer_ = reactor_->After(limits_.opening, [this] {
    opening_timer_.reset();
    Close(absl::DeadlineExceededError("it did not say what it wants"));
  });
  return reactor_->Watch(fd_.get(), EPOLLIN, [this](uint32_t events) { OnEvents(events); });
}

void Connection::Send(const google::protobuf::MessageLite& message) {
  if (!is_open() || closing_soon_) return;
  AppendMessage(message, &out_);
  if (absl::Status written = Write(); !written.ok()) {
    CloseSoon(std::move(written));
  } else if (queued_bytes() > limits_.max_queued_bytes) {
    CloseSoon(absl::ResourceExhaustedError(
        absl::StrCat("it does not read what it is sent (", queued_bytes(), " bytes wait)")));
  } else {
    WaitForWhatMatters();
  }
}

void Connection::Pause() {
  paused_ = true;
  WaitForWhatMatters();
}

void Connection::Resume() {
  if (!paused_) return;
  paused_ = false;
  if (!is_open() || closing_soon_) return;
  WaitForWhatMatters();
  if (soon_timer_.has_value()) return;
  // Messages that came before the pause wait in the buffer, where no event of the socket tells of
  // them.
  soon_timer_ = reactor_->After(absl::ZeroDuration(), [this] {
    soon_timer_.reset();
    if (absl::Status handed = HandOn(); !handed.ok()) Close(handed);
  });
}

void Connection::CloseWhenSent() {
  closing_ = true;
  if (!is_open() || closing_soon_) return;
  if (queued_bytes() == 0) {
    CloseSoon(absl::OkStatus());
  } else {
    WaitForWhatMatters();
  }
}

void Connection::CloseSoon(absl::Status why) {
  closing_soon_ = true;
  if (soon_timer_.has_value()) reactor_->Cancel(*soon_timer_);
  soon_timer_ = reactor_->After(absl::ZeroDuration(), [this, why = std::move(why)] {
    soon_timer_.reset();
    Close(why);
  });
}

void Connection::Close(const absl::Status& why) {
  if (!is_open()) return;
  for (auto* timer : {&opening_timer_, &stall_timer_, &soon_timer_}) {
    if (timer->has_value()) reactor_->Cancel(**timer);
    timer->reset();
  }
  reactor_->Forget(fd_.get());
  fd_.Close();
  events_.closed(why);
}

void Connection::OnEvents(uint32_t epoll_events) {
  if (closing_soon_) return;
  if ((epoll_events & EPOLLOUT) != 0) {
    if (absl::Status written = Write(); !written.ok()) return Close(written);
    if (queued_bytes() == 0) {
      if (closing_) return Close(absl::OkStatus());
      if (events_.drained) events_.drained();
      if (closing_soon_) return;
    }
    WaitForWhatMatters();
  }
  const bool hung_up = (epoll_events & (EPOLLHUP | EPOLLERR)) != 0;
  if (paused_ || closing_) {
    // Nobody is left to answer, and the event would come again and again.
    if (hung_up) Close(absl::OkStatus());
    return;
  }
  if (hung_up || (epoll_events & EPOLLIN) != 0) {
    if (absl::Status read = ReadTurn(); !read.ok()) return Close(read);
    if (peer_ended_) Close(absl::OkStatus());
  }
}

ssize_t Connection::Receive(std::span<char> room) {
  if (!accepts_descriptors_) return read(fd_.get(), room.data(), room.size());
  iovec bytes = {room.data(), room.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  // The kernel closes what there is no room for.
  const ssize_t received = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(part), sizeof(descriptor));
    descriptor_ = FileDescriptor(descriptor);
  }
  return received;
}

absl::Status Connection::ReadTurn() {
  size_t taken = 0;
  while (taken < limits_.bytes_per_turn && !paused_ && !closing_ && !closing_soon_) {
    const std::span<char> room = frames_.Room(kReadBytes);
    const ssize_t bytes = Receive(room.first(std::min(room.size(), kReadBytes)));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (bytes < 0 && errno != ECONNRESET) return absl::ErrnoToStatus(errno, "read");
    if (bytes <= 0) {
      // A reset says that the peer left something unread, which is its own affair.
      if (frames_.pending_bytes() > 0) {
        return absl::DataLossError("it ended in the middle of a message");
      }
      peer_ended_ = true;
      break;
    }
    frames_.Filled(static_cast<size_t>(bytes));
    taken += static_cast<size_t>(bytes);
    bytes_received_ += static_cast<uint64_t>(bytes);
    if (absl::Status handed = HandOn(); !handed.ok()) return handed;
    if (static_cast<size_t>(bytes) < kReadBytes / 2) break;  // Most likely that was all.
  }
  if (events_.turn_end && taken > 0) events_.turn_end();
  return absl::OkStatus();
}

absl::Status Connection::HandOn() {
  if (!greeted_) {
    const std::optional<std::string_view> greeting = frames_.TakeRaw(kGreetingBytes);
    if (!greeting.has_value()) return absl::OkStatus();
    greeted_ = true;
    if (absl::Status known = events_.greeting(*greeting); !known.ok()) return known;
  }
  while (!paused_ && !closing_ && !closing_soon_) {
    absl::StatusOr<std::optional<std::string_view>> message = frames_.Next();
    if (!message.ok()) return message.status();
    if (!message->has_value()) break;
    if (opening_timer_.has_value()) {
      reactor_->Cancel(*opening_timer_);
      opening_timer_.reset();
    }
    if (absl::Status taken = events_.message(**message); !taken.ok()) return taken;
  }
  return absl::OkStatus();
}

absl::Status Connection::Write() {
  bool progress = false;
  while (queued_bytes() > 0) {
    const ssize_t bytes =
        send(fd_.get(), out_.data() + out_sent_, queued_bytes(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    // That the peer is gone shows when the last of what it said is read.
    if (bytes < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      out_sent_ = out_.size();
      break;
    }
    if (bytes < 0) return absl::ErrnoToStatus(errno, "send");
    out_sent_ += static_cast<size_t>(bytes);
    progress = true;
  }
  if (queued_bytes() == 0) {
    out_sent_ = 0;
    if (out_.capacity() > kBytesKeptWhenSent) {
      out_ = std::string();
    } else {
      out_.clear();
    }
    if (stall_timer_.has_value()) reactor_->Cancel(*stall_timer_);
    stall_timer_.reset();
  } else if (progress || !stall_timer_.has_value()) {
    StartStallTimer();
  }
  if (out_sent_ > std::max(kSentBytesKept, queued_bytes())) {
    out_.erase(0, out_sent_);
    out_sent_ = 0;
  }
  return absl::OkStatus();
}

void Connection::StartStallTimer() {
  if (stall_timer_.has_value()) reactor_->Cancel(*stall_timer_);
  stall_timer_.reset();
  if (limits_.stalled == absl::InfiniteDuration()) return;
  stall_timer_ = reactor_->After(limits_.stalled, [this] {
    stall_timer_.reset();
    Close(absl::DeadlineExceededError(
        absl::StrCat("it has not read anything for ", absl::FormatDuration(limits_.stalled))));
  });
}

void Connection::WaitForWhatMatters() {
  uint32_t events = 0;
  if (!paused_ && !closing_) events |= EPOLLIN;
  if (queued_bytes() > 0) events |= EPOLLOUT;
  reactor_->Change(fd_.get(), events);
}

}  // namespace tp

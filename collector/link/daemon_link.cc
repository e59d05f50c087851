#include "collector/link/daemon_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "collector/link/frame.h"
#include "collector/link/system_call_filter.h"
#include "proto/socket_path.h"

namespace tp::collect {
namespace {

// Field numbers of proto/wire.proto's FromCollector and FromDaemon.
constexpr uint32_t kHello = 1, kStrings = 2, kStatus = 4, kFlushDone = 5, kGoodbye = 6,
                   kDescriptions = 10;
constexpr uint32_t kWelcome = 1, kAcknowledge = 2, kFlush = 3, kCapture = 4, kDetach = 30;
constexpr uint32_t kCaptureOn = 1, kCaptureToken = 2, kCaptureActivities = 3, kCaptureDuration = 30;
constexpr uint32_t kWelcomeRefused = 3, kWelcomeReason = 4, kWelcomeLastSequence = 5;

constexpr std::string_view kMagic = "TPC1";
constexpr int64_t kReconnectNs = 500'000'000;
// After a refusal there is little hope.
constexpr int64_t kReconnectRefusedNs = 10'000'000'000;
constexpr size_t kLongestCommand = 64 << 10;
constexpr size_t kStringsPerMessage = 512 << 10;
// More than the rest of a batch and what follows it.
constexpr int kLastWordsSocketBytes = 4 << 20;
// Programs may count on getting low descriptors in order.
constexpr rlim_t kLowestDescriptor = 960;

std::string VarintMessage(uint32_t field, uint64_t value) {
  std::string message;
  protozero::pbf_writer(message).add_uint64(field, value);
  return message;
}

// A field of a small message; 0 or empty if it is not there.
uint64_t VarintIn(protozero::data_view message, uint32_t field) {
  uint64_t value = 0;
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    if (reader.tag_and_type() == protozero::tag_and_type(field, protozero::pbf_wire_type::varint)) {
      value = reader.get_uint64();
    } else {
      reader.skip();
    }
  }
  return value;
}

std::string BytesIn(protozero::data_view message, uint32_t field) {
  std::string value;
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    if (reader.tag_and_type() ==
        protozero::tag_and_type(field, protozero::pbf_wire_type::length_delimited)) {
      value = reader.get_string();
    } else {
      reader.skip();
    }
  }
  return value;
}

int MoveOutOfTheWay(int fd) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  int high = fcntl(fd, F_DUPFD_CLOEXEC,
                   static_cast<int>(std::min(kLowestDescriptor, limit.rlim_cur / 4 * 3)));
  if (high < 0) return fd;
  close(fd);
  return high;
}

}  // namespace

DaemonLink::DaemonLink(BatchQueue* queue, const StringTable* strings,
                       const Descriptions* descriptions, Messages messages)
    : queue_(queue),
      strings_(strings),
      descriptions_(descriptions),
      messages_(std::move(messages)),
      filters_(SystemCallFilters()) {}

DaemonLink::~DaemonLink() { Disconnect(); }

void DaemonLink::Pump(int64_t now_ns) {
  if (fd_ >= 0 && !DescriptorIsOurs()) {
    fd_ = -1;  // Somebody closed it; the number may be another file by now.
    Disconnect();
  }
  if (fd_ < 0) {
    if (now_ns < next_connect_ns_) return;
    next_connect_ns_ = now_ns + kReconnectNs;
    if (!Connect()) return;
  }
  Read();
  if (fd_ >= 0) Write();
  if (fd_ < 0 && !refusal_.empty()) next_connect_ns_ = now_ns + kReconnectRefusedNs;
}

void DaemonLink::WaitForDaemon(int timeout_ms) const {
  pollfd entry = {fd_, static_cast<short>(blocked_ ? POLLIN | POLLOUT : POLLIN), 0};
  poll(&entry, 1, timeout_ms);
}

void DaemonLink::SendFlushDone(uint64_t token) {
  if (fd_ >= 0) flush_done_ = token;
}

void DaemonLink::SendGoodbye(GoodbyeReason reason) { goodbye_ = reason; }

void DaemonLink::GiveUpUnsent() {
  if (fd_ < 0 || !goodbye_.has_value()) return;
  queue_->GiveUpUnsent();
  SendStatus();
  // As much as the system allows, which is at least twice what a socket has at first.
  const int bytes = kLastWordsSocketBytes;
  setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

std::optional<uint64_t> DaemonLink::TakeFlushRequest() {
  return std::exchange(flush_request_, std::nullopt);
}

std::optional<CaptureCommand> DaemonLink::TakeCaptureCommand() {
  return std::exchange(capture_command_, std::nullopt);
}

void DaemonLink::Abandon() {
  if (fd_ >= 0 && DescriptorIsOurs()) close(fd_);
  fd_ = -1;
}

bool DaemonLink::Connect() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  static_assert(sizeof(address.sun_path) == kSocketPathBytes);
  if (!path_.empty() && path_.size() < sizeof(address.sun_path)) {
    memcpy(address.sun_path, path_.c_str(), path_.size());
  } else if (!FindDaemonSocket(address.sun_path)) {
    refusal_ = "TP_SOCKET is longer than a socket's path may be";
    return false;
  }
  if (filters_ >= 0 && SystemCallFilters() != filters_) {
    refusal_ = "a seccomp filter has come since the beginning: another call might end the process";
    return false;
  }
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    refusal_ = std::string("no socket: ") + strerrordesc_np(errno);
    return false;
  }
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return false;
  }
  // What the program does is not for anybody who happens to listen there.
  ucred peer = {};
  socklen_t length = sizeof(peer);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
      (peer.uid != geteuid() && peer.uid != 0)) {
    refusal_ = "the socket's daemon belongs to another user";
    close(fd);
    return false;
  }
  Begin(fd);
  return true;
}

void DaemonLink::Adopt(int fd) {
  if (fd_ >= 0) Disconnect();
  Begin(fd);
}

void DaemonLink::Begin(int fd) {
  fd_ = MoveOutOfTheWay(fd);
  struct stat status = {};
  fstat(fd_, &status);
  inode_ = status.st_ino;
  refusal_.clear();
  ++connections_;
  queue_->Rewind();
  strings_sent_ = 0;
  descriptions_sent_ = 0;
  out_ = kMagic;
  out_ += Frame(kHello, messages_.hello());
  out_ += Frame(kStatus, messages_.status());
  out_offset_ = 0;
  hello_due_ = status_due_ = false;
  in_.clear();
}

bool DaemonLink::DescriptorIsOurs() const {
  struct stat status;
  return fstat(fd_, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode_;
}

void DaemonLink::Disconnect() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  in_.clear();
  out_.clear();
  out_offset_ = 0;
  hello_due_ = status_due_ = false;
  flush_done_.reset();
  flush_request_.reset();
  blocked_ = false;
  queue_->Rewind();
}

void DaemonLink::Read() {
  char bytes[4096];
  for (;;) {
    ssize_t got = recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      Disconnect();
      return;
    }
    in_.append(bytes, got);
    if (in_.size() > kLongestCommand) break;
  }
  const char* begin = in_.data();
  const char* end = begin + in_.size();
  try {
    while (begin != end) {
      const char* p = begin;
      uint64_t length;
      try {
        length = protozero::decode_varint(&p, end);
      } catch (const protozero::end_of_buffer_exception&) {
        break;
      }
      if (length > kLongestCommand) {
        Disconnect();
        return;
      }
      if (static_cast<uint64_t>(end - p) < length) break;
      Handle({p, length});
      begin = p + length;
    }
  } catch (const protozero::exception&) {
    Disconnect();  // Not our daemon's language.
    return;
  }
  in_.erase(0, begin - in_.data());
}

void DaemonLink::Handle(std::string_view message) {
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    uint32_t field = reader.tag();
    protozero::data_view content = reader.get_view();
    switch (field) {
      case kWelcome:
        queue_->Settle(VarintIn(content, kWelcomeLastSequence));
        if (VarintIn(content, kWelcomeRefused) != 0) {
          refusal_ = BytesIn(content, kWelcomeReason);
          if (refusal_.empty()) refusal_ = "the daemon refused the connection";
        }
        break;
      case kAcknowledge:
        queue_->Acknowledge(VarintIn(content, 1));
        break;
      case kFlush:
        flush_request_ = VarintIn(content, 1);
        break;
      case kCapture:
        capture_command_ = {
            .on = VarintIn(content, kCaptureOn) != 0,
            .token = VarintIn(content, kCaptureToken),
            .activities = BytesIn(content, kCaptureActivities),
            .duration_ns = static_cast<int64_t>(VarintIn(content, kCaptureDuration))};
        break;
      case kDetach:
        detach_request_ = true;
        break;
      default:
        break;  // Of a newer daemon.
    }
  }
}

void DaemonLink::Write() {
  blocked_ = false;
  do {
    while (out_offset_ < out_.size()) {
      ssize_t sent = send(fd_, out_.data() + out_offset_, out_.size() - out_offset_,
                          MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        blocked_ = true;
        return;
      }
      if (sent < 0) {
        Disconnect();
        return;
      }
      out_offset_ += sent;
    }
    out_.clear();
    out_offset_ = 0;
  } while (FillOut());
}

// Puts the next messages into out_; false if there are none.
bool DaemonLink::FillOut() {
  if (std::exchange(hello_due_, false)) {
    out_ = Frame(kHello, messages_.hello());
    return true;
  }
  if (std::exchange(status_due_, false)) {
    out_ = Frame(kStatus, messages_.status());
    return true;
  }
  if (descriptions_sent_ < descriptions_->revision()) {
    out_ =
        Frame(kDescriptions, descriptions_->EncodeAfter(descriptions_sent_, &descriptions_sent_));
    return true;
  }
  const EncodedBatch* batch = queue_->NextToSend();
  if (batch != nullptr) {
    if (strings_sent_ < batch->last_string) {
      std::string content = VarintMessage(1, strings_sent_ + 1);
      protozero::pbf_writer writer(content);
      while (strings_sent_ < strings_->last_id() && content.size() < kStringsPerMessage) {
        std::string_view text = strings_->Text(++strings_sent_);
        writer.add_bytes(2, text.data(), text.size());
      }
      out_ = Frame(kStrings, content);
    } else {
      out_ = batch->frame;
      queue_->MarkSent();
    }
    return true;
  }
  if (flush_done_.has_value()) {
    out_ = Frame(kFlushDone, VarintMessage(1, *flush_done_));
    flush_done_.reset();
    return true;
  }
  if (goodbye_.has_value()) {
    out_ = Frame(kGoodbye, VarintMessage(1, static_cast<uint64_t>(*goodbye_)));
    goodbye_.reset();
    return true;
  }
  return false;
}

}  // namespace tp::collect

// The connection to the daemon: connects when there is one, says hello, sends descriptions, strings
// and batches, takes commands. Whatever happens to the daemon, the collector only sees that batches
// stay in the queue.
#ifndef COLLECTOR_LINK_DAEMON_LINK_H_
#define COLLECTOR_LINK_DAEMON_LINK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/link/batch_queue.h"
#include "collector/link/descriptions.h"
#include "collector/link/string_table.h"

namespace tp::collect {

enum class GoodbyeReason : uint8_t { kExit = 1, kDetached = 2 };

// wire.proto's Capture.
struct CaptureCommand {
  bool on = false;
  uint64_t token = 0;
  std::string activities;
  int64_t duration_ns = 0;
};

// Never blocks; all work is done in Pump. Not thread-safe: the collector thread's own.
class DaemonLink {
 public:
  // `hello` and `status` return the encoded messages of proto/wire.proto, made when a connection
  // begins. The queue, the strings and the descriptions outlive the link.
  struct Messages {
    std::function<std::string()> hello;
    std::function<std::string()> status;
  };
  DaemonLink(BatchQueue* queue, const StringTable* strings, const Descriptions* descriptions,
             Messages messages);
  ~DaemonLink();
  DaemonLink(const DaemonLink&) = delete;
  DaemonLink& operator=(const DaemonLink&) = delete;

  // Connects if that is due, reads commands, writes what the socket takes. `now_ns` is
  // CLOCK_MONOTONIC.
  void Pump(int64_t now_ns);
  // Lets the next Pump connect at once, however long ago the last try was.
  void HurryConnect() { next_connect_ns_ = 0; }

  // Takes over a connection whose other end somebody gives to the daemon; the present one, if there
  // is one, ends. Nothing is written before the next Pump.
  void Adopt(int fd);
  // Where to connect from now on, instead of the usual place. Not empty.
  void set_path(std::string path) { path_ = std::move(path); }

  // Sleeps until the daemon has said something, or the socket takes more, or `timeout_ms` have
  // passed.
  void WaitForDaemon(int timeout_ms) const;

  // Sends a Status message, made when the socket takes it: many calls before that lead to one.
  // Without a connection it is left out (a connection begins with one).
  void SendStatus() { status_due_ = fd_ >= 0; }
  // Sends the hello again, when there is news in it.
  void SendHello() { hello_due_ = fd_ >= 0; }
  // Says that all which was pushed to the queue before answers the flush with this token.
  void SendFlushDone(uint64_t token);
  // The last message: after it nothing more is sent on this connection.
  void SendGoodbye(GoodbyeReason reason);

  // At the very end, for a daemon that does not read: batches that it has not been sent are given
  // up and counted as dropped, and the socket is made larger, so that a last status and the goodbye
  // find room behind what it holds. A daemon that goes on then knows how it ended.
  void GiveUpUnsent();

  // Commands that have come since the last call.
  std::optional<uint64_t> TakeFlushRequest();
  std::optional<CaptureCommand> TakeCaptureCommand();
  bool TakeDetachRequest() { return std::exchange(detach_request_, false); }

  bool connected() const { return fd_ >= 0; }
  // More could be written at once, but the socket is full.
  bool blocked() const { return blocked_; }
  // All is written, and all batches are acknowledged.
  bool settled() const {
    return queue_->empty() && out_.empty() && !status_due_ && !goodbye_.has_value() &&
           descriptions_sent_ == descriptions_->revision();
  }
  // Why there is no connection, when it is not that nobody listens; else empty. (Where a filter of
  // system calls came after the first try, no further one is made: see system_call_filter.h.)
  std::string_view refusal() const { return refusal_; }
  uint64_t connections() const { return connections_; }

  // Forgets the connection without a word on it: in the child of a fork, where it is the parent's.
  void Abandon();

 private:
  bool Connect();
  void Begin(int fd);
  bool DescriptorIsOurs() const;
  void Disconnect();
  void Read();
  void Handle(std::string_view message);
  void Write();
  bool FillOut();

  BatchQueue* queue_;
  const StringTable* strings_;
  const Descriptions* descriptions_;
  Messages messages_;

  int fd_ = -1;
  uint64_t inode_ = 0;  // Of fd_: a program that closes all its descriptors closes ours too.
  int64_t next_connect_ns_ = 0;
  const int filters_;  // Of system calls, at the beginning; negative: not known.
  std::string in_;
  std::string out_;  // Being written, from out_offset_ on.
  size_t out_offset_ = 0;
  bool hello_due_ = false, status_due_ = false;  // Go before the next batch.
  StringId strings_sent_ = 0;
  uint64_t descriptions_sent_ = 0;      // Their revision.
  std::optional<uint64_t> flush_done_;  // Sent when the queue has been.
  std::optional<GoodbyeReason> goodbye_;
  bool blocked_ = false;
  std::optional<uint64_t> flush_request_;
  std::optional<CaptureCommand> capture_command_;
  bool detach_request_ = false;
  std::string path_;  // Empty: the usual.
  std::string refusal_;
  uint64_t connections_ = 0;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_DAEMON_LINK_H_

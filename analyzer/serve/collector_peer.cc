#include "analyzer/serve/collector_peer.h"

#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "proto/version.h"

namespace tp {

absl::Status CollectorPeer::Take(std::string_view bytes) {
  // What the message before took is used again.
  arena_->Reset();
  auto* message = google::protobuf::Arena::CreateMessage<wire::FromCollector>(arena_);
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", bytes.size(), " bytes does not parse"));
  }
  if (message->message_case() == wire::FromCollector::MESSAGE_NOT_SET) return absl::OkStatus();
  const bool new_connection = session_ == nullptr;
  if (message->has_hello()) {
    if (absl::Status greeted = Greet(message->hello()); !greeted.ok()) return greeted;
    if (session_ == nullptr) return absl::OkStatus();  // It was refused.
  } else if (session_ == nullptr) {
    return absl::InvalidArgumentError("a message before the hello");
  }
  const int64_t now_ns = MonotonicNow();
  if (absl::Status taken = session_->Take(*message, now_ns); !taken.ok()) return taken;
  recorders_->Taken(*session_, *message, bytes, new_connection, now_ns);
  if (message->has_status() && message->status().capture_token() != 0) {
    on_answer_(this, Command::kCapture, message->status().capture_token());
  } else if (message->has_flush_done()) {
    on_answer_(this, Command::kFlush, message->flush_done().token());
  }
  return absl::OkStatus();
}

absl::Status CollectorPeer::Greet(const wire::Hello& hello) {
  if (session_ != nullptr) {
    if (!session_->IsProcess(credentials_, hello)) {
      return absl::InvalidArgumentError("a second hello names another process");
    }
    session_->Greet(hello, /*new_connection=*/false, MonotonicNow());
    return absl::OkStatus();
  }
  wire::FromDaemon answer;
  wire::Welcome* welcome = answer.mutable_welcome();
  welcome->set_protocol_version(kWireProtocolVersion);
  welcome->set_daemon_version(kVersion);
  if (hello.protocol_version() != kWireProtocolVersion) {
    welcome->set_refused(true);
    welcome->set_reason(absl::StrCat("this daemon speaks version ", kWireProtocolVersion,
                                     " of the protocol, the collector version ",
                                     hello.protocol_version()));
    spdlog::warn("collector of pid {} (uid {}) refused: {}", credentials_.pid, credentials_.uid,
                 welcome->reason());
    connection_->Send(answer);
    connection_->CloseWhenSent();
    return absl::OkStatus();
  }
  const int64_t now_ns = MonotonicNow();
  Session* session = store_->Greet(credentials_, hello, now_ns);
  if (CollectorPeer* other = session->peer(); other != nullptr) {
    // The collector gave that connection up; what it may still hold comes again on this one.
    spdlog::info("process {} connected again before its last connection was closed",
                 session->Name());
    other->session_ = nullptr;
    other->connection_->CloseWhenSent();
  }
  session_ = session;
  session->set_peer(this);
  session->Greet(hello, /*new_connection=*/true, now_ns);
  welcome->set_last_sequence(session->last_sequence());
  spdlog::info("process {} of uid {} connected", session->Name(), credentials_.uid);
  connection_->Send(answer);
  return absl::OkStatus();
}

void CollectorPeer::Acknowledge() {
  // A collector that reads slowly gets one word for many batches, later.
  if (session_ == nullptr || connection_->queued_bytes() > 0) return;
  if (session_->last_sequence() == acknowledged_) return;
  acknowledged_ = session_->last_sequence();
  wire::FromDaemon message;
  message.mutable_acknowledge()->set_sequence(acknowledged_);
  connection_->Send(message);
}

void CollectorPeer::Closed() {
  if (session_ == nullptr) return;
  const int64_t now_ns = MonotonicNow();
  session_->Disconnected(now_ns);
  recorders_->Disconnected(*session_, now_ns);
  session_ = nullptr;
}

void CollectorPeer::Flush(uint64_t token) {
  wire::FromDaemon message;
  message.mutable_flush()->set_token(token);
  connection_->Send(message);
}

void CollectorPeer::Capture(const query::CaptureRequest& request, uint64_t token) {
  wire::FromDaemon message;
  message.mutable_capture()->set_on(request.on());
  message.mutable_capture()->set_activities(request.activities());
  message.mutable_capture()->set_token(token);
  message.mutable_capture()->set_duration_ns(request.duration_ns());
  connection_->Send(message);
}

void CollectorPeer::Detach() {
  wire::FromDaemon message;
  message.mutable_detach();
  connection_->Send(message);
}

}  // namespace tp

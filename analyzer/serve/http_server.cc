#include "analyzer/serve/http_server.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace tp {
namespace {

constexpr unsigned kSilentSeconds = 5;

MHD_Response* TextResponse(const std::string& text, const std::string& content_type) {
  MHD_Response* response = MHD_create_response_from_buffer(
      text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return nullptr;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  return response;
}

// The library's messages are about peers, as many as these like.
void Discard(void*, const char*, va_list) {}

}  // namespace

struct HttpServer::Callbacks {
  static MHD_Result Request(void* server, MHD_Connection* connection, const char* path,
                            const char* method, const char*, const char*, size_t* body_bytes,
                            void** seen) {
    // The first call is for the headers alone; a body is of no interest.
    static int headers_seen;
    if (*seen == nullptr) {
      *seen = &headers_seen;
      return MHD_YES;
    }
    if (*body_bytes > 0) {
      *body_bytes = 0;
      return MHD_YES;
    }
    return static_cast<HttpServer*>(server)->Answer(connection, method, path) ? MHD_YES : MHD_NO;
  }

  static void Connection(void* server, MHD_Connection* connection, void**,
                         MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      static_cast<HttpServer*>(server)->Opened(connection);
    } else {
      static_cast<HttpServer*>(server)->Closed(connection);
    }
  }
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Create(FileDescriptor socket, Page page,
                                                               Reactor* reactor) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(page), reactor));
  server->library_ = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, nullptr, nullptr, &Callbacks::Request, server.get(),
      MHD_OPTION_EXTERNAL_LOGGER, &Discard, nullptr, MHD_OPTION_LISTEN_SOCKET, socket.get(),
      MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionBytes, MHD_OPTION_CONNECTION_TIMEOUT, kSilentSeconds, MHD_OPTION_NOTIFY_CONNECTION,
      &Callbacks::Connection, server.get(), MHD_OPTION_END);
  if (server->library_ == nullptr) return absl::InternalError("the HTTP server does not start");
  // The library closes it.
  socket.Release();
  const MHD_DaemonInfo* info = MHD_get_daemon_info(server->library_, MHD_DAEMON_INFO_EPOLL_FD);
  if (info == nullptr) return absl::InternalError("the HTTP server has no epoll descriptor");
  server->epoll_ = info->epoll_fd;
  absl::Status watched = reactor->Watch(server->epoll_, EPOLLIN,
                                        [server = server.get()](uint32_t) { server->Turn(); });
  if (!watched.ok()) return watched;
  return server;
}

HttpServer::~HttpServer() {
  if (epoll_ >= 0) reactor_->Forget(epoll_);
  if (next_turn_.has_value()) reactor_->Cancel(*next_turn_);
  if (library_ != nullptr) MHD_stop_daemon(library_);
  if (current_ != nullptr) MHD_destroy_response(current_);
}

void HttpServer::Turn() {
  MHD_run(library_);
  if (next_turn_.has_value()) reactor_->Cancel(*std::exchange(next_turn_, std::nullopt));
  MHD_UNSIGNED_LONG_LONG wait_ms = 0;
  if (MHD_get_timeout(library_, &wait_ms) != MHD_YES) return;
  next_turn_ = reactor_->After(absl::Milliseconds(std::min<uint64_t>(wait_ms, 60'000)), [this] {
    next_turn_.reset();
    Turn();
  });
}

void HttpServer::Opened(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info == nullptr) return;
  // One that sends or reads a byte now and then is never silent.
  ends_[connection] =
      reactor_->After(kLongest, [fd = info->connect_fd] { shutdown(fd, SHUT_RDWR); });
}

void HttpServer::Closed(MHD_Connection* connection) {
  const auto end = ends_.find(connection);
  if (end == ends_.end()) return;
  reactor_->Cancel(end->second);
  ends_.erase(end);
}

MHD_Response* HttpServer::CurrentPage() {
  const int64_t start_ns = MonotonicNow();
  if (current_ != nullptr && start_ns < current_until_ns_) return current_;
  MHD_Response* made = TextResponse(page_.make(), page_.content_type);
  const int64_t end_ns = MonotonicNow();
  current_until_ns_ = end_ns + (kPartOfTime - 1) * (end_ns - start_ns);
  // Who still reads the last one keeps it.
  if (current_ != nullptr) MHD_destroy_response(current_);
  return current_ = made;
}

bool HttpServer::Answer(MHD_Connection* connection, std::string_view method,
                        std::string_view path) {
  const bool reads = method == MHD_HTTP_METHOD_GET || method == MHD_HTTP_METHOD_HEAD;
  if (reads && path == page_.path) {
    MHD_Response* page = CurrentPage();
    return page != nullptr && MHD_queue_response(connection, MHD_HTTP_OK, page) == MHD_YES;
  }
  MHD_Response* refusal =
      TextResponse(reads ? "There is only " + page_.path + " here.\n" : "Only GET is understood.\n",
                   "text/plain; charset=utf-8");
  if (refusal == nullptr) return false;
  if (!reads) MHD_add_response_header(refusal, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(
      connection, reads ? MHD_HTTP_NOT_FOUND : MHD_HTTP_METHOD_NOT_ALLOWED, refusal);
  MHD_destroy_response(refusal);
  return queued == MHD_YES;
}

}  // namespace tp

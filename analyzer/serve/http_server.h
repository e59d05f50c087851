// Answers HTTP requests for one page, on the reactor's thread and without ever blocking it.
//
// Any other path is 404, any method but GET and HEAD 405. Each connection is for one request. There
// are at most kMostConnections, each of at most kConnectionBytes for its request, and none lives
// longer than kLongest; who comes meanwhile waits. The page is made anew when it is asked for, but
// only so often that making it takes a twentieth of the thread's time at most.
#ifndef ANALYZER_SERVE_HTTP_SERVER_H_
#define ANALYZER_SERVE_HTTP_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "analyzer/serve/file_descriptor.h"
#include "analyzer/serve/reactor.h"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

namespace tp {

class HttpServer {
 public:
  static constexpr unsigned kMostConnections = 16;
  static constexpr size_t kConnectionBytes = 16 << 10;
  static constexpr absl::Duration kLongest = absl::Seconds(10);
  static constexpr int64_t kPartOfTime = 20;

  struct Page {
    std::string path;
    std::string content_type;
    std::function<std::string()> make;
  };

  // `socket` listens already. `reactor` outlives the server.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Create(FileDescriptor socket, Page page,
                                                            Reactor* reactor);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  // What the library calls.
  struct Callbacks;

  HttpServer(Page page, Reactor* reactor) : page_(std::move(page)), reactor_(reactor) {}
  // Lets the library do what there is to do.
  void Turn();
  bool Answer(MHD_Connection* connection, std::string_view method, std::string_view path);
  void Opened(MHD_Connection* connection);
  void Closed(MHD_Connection* connection);
  MHD_Response* CurrentPage();

  Page page_;
  Reactor* reactor_;
  MHD_Daemon* library_ = nullptr;
  int epoll_ = -1;  // The library's.
  std::optional<Reactor::TimerId> next_turn_;
  std::map<MHD_Connection*, Reactor::TimerId> ends_;
  MHD_Response* current_ = nullptr;
  int64_t current_until_ns_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_HTTP_SERVER_H_

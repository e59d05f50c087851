// Where to listen for TCP connections, as a user writes it: "127.0.0.1:9400", "[::1]:9400",
// "localhost:9400", or "9400" alone for 127.0.0.1. Port 0: any that is free.
#ifndef ANALYZER_SERVE_TCP_ADDRESS_H_
#define ANALYZER_SERVE_TCP_ADDRESS_H_

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analyzer/serve/file_descriptor.h"

namespace tp {

class TcpAddress {
 public:
  // InvalidArgument, with what is wrong, of anything else. Nothing is looked up by name.
  static absl::StatusOr<TcpAddress> Parse(std::string_view text);
  // The one that a socket is bound to.
  static absl::StatusOr<TcpAddress> Of(int socket);

  // Others on the network do not reach it.
  bool is_loopback() const;
  // "127.0.0.1:9400", "[::1]:9400"
  std::string Text() const;

  // A socket that listens there and does not block. AlreadyExists when the port is in use.
  absl::StatusOr<FileDescriptor> Listen() const;

 private:
  TcpAddress() = default;
  sockaddr_storage address_{};
  socklen_t length_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_TCP_ADDRESS_H_

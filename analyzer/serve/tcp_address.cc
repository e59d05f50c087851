#include "analyzer/serve/tcp_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tp {
namespace {

constexpr int kBacklog = 64;

absl::Status Wrong(std::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", std::string(text),
                   "' is no address: 127.0.0.1:PORT is meant, or another IP address and a port"));
}

bool ParsePort(std::string_view text, uint16_t* port) {
  uint32_t number = 0;
  const bool digits =
      !text.empty() && text.size() <= 5 &&
      std::all_of(text.begin(), text.end(), [](char c) { return '0' <= c && c <= '9'; });
  if (!digits || !absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number) ||
      number > UINT16_MAX) {
    return false;
  }
  *port = htons(static_cast<uint16_t>(number));
  return true;
}

}  // namespace

absl::StatusOr<TcpAddress> TcpAddress::Parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  std::string host = "127.0.0.1";
  if (colon != std::string_view::npos) host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  TcpAddress parsed;
  uint16_t port = 0;
  if (!ParsePort(colon == std::string_view::npos ? text : text.substr(colon + 1), &port)) {
    return Wrong(text);
  }
  auto* v4 = reinterpret_cast<sockaddr_in*>(&parsed.address_);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&parsed.address_);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    if (inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6->sin6_addr) != 1) {
      return Wrong(text);
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = port;
    parsed.length_ = sizeof(*v6);
    return parsed;
  }
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) != 1) return Wrong(text);
  v4->sin_family = AF_INET;
  v4->sin_port = port;
  parsed.length_ = sizeof(*v4);
  return parsed;
}

absl::StatusOr<TcpAddress> TcpAddress::Of(int socket) {
  TcpAddress address;
  address.length_ = sizeof(address.address_);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address.address_), &address.length_) != 0) {
    return absl::ErrnoToStatus(errno, "getsockname");
  }
  return address;
}

bool TcpAddress::is_loopback() const {
  if (address_.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&address_)->sin6_addr);
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address_);
  return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

std::string TcpAddress::Text() const {
  char host[INET6_ADDRSTRLEN] = "";
  if (address_.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address_);
    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
    return absl::StrCat("[", host, "]:", ntohs(v6->sin6_port));
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address_);
  inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
  return absl::StrCat(host, ":", ntohs(v4->sin_port));
}

absl::StatusOr<FileDescriptor> TcpAddress::Listen() const {
  FileDescriptor fd(socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return absl::ErrnoToStatus(errno, "a TCP socket");
  // The port of a daemon that has just ended is free.
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address_.ss_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address_), length_) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return absl::AlreadyExistsError(
          absl::StrCat("cannot listen on ", Text(), ": another program does"));
    }
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot listen on ", Text()));
  }
  return fd;
}

}  // namespace tp

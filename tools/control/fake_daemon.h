// A stand-in for the daemon in tests: listens on a socket of its own (TP_SOCKET names it while this
// lives) and answers as it is told.
#ifndef TOOLS_CONTROL_FAKE_DAEMON_H_
#define TOOLS_CONTROL_FAKE_DAEMON_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proto/query.pb.h"

namespace tp {

class FakeDaemon {
 public:
  // The bytes to send for a request; none: the connection is closed.
  using Answer = std::function<std::string(const query::Request&)>;

  explicit FakeDaemon(Answer answer);
  // As an earlier one, at the same path.
  FakeDaemon(Answer answer, const std::string& path);
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  const std::string& path() const { return path_; }
  std::vector<query::Request> requests() const;

  // A response as it goes over the socket.
  static std::string Framed(const query::Response& response);

 private:
  void Listen();
  void Accept();
  void Serve(int connection);

  const Answer answer_;
  std::string folder_;
  std::string path_;
  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<query::Request> requests_;
  std::vector<int> connections_;
  std::vector<std::thread> servers_;
  std::thread acceptor_;
};

// What a daemon that traces one busy process and one idle one would answer, at some moment:
// `refresh` counts on.
query::Response SampleResponse(const query::Request& request, int refresh = 0);

}  // namespace tp

#endif  // TOOLS_CONTROL_FAKE_DAEMON_H_

// For tests: a daemon of its own (the real program, in a process of its own), and the peers that
// come to it.
//
// Everything gives up after ten seconds, so that a test fails instead of hanging.
#ifndef ANALYZER_SERVE_DAEMON_UNDER_TEST_H_
#define ANALYZER_SERVE_DAEMON_UNDER_TEST_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/serve/file_descriptor.h"
#include "analyzer/wire/framing.h"
#include "proto/query.pb.h"
#include "proto/wire.pb.h"

namespace tp {

// A folder that is short enough for sockets, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Finished {
  int exit_status = -1;  // Negative: the signal that ended it.
  std::string out;
  std::string error;
};

// Runs the daemon's program to its end.
Finished RunDaemonProgram(const std::vector<std::string>& arguments);

// A daemon in the foreground, with its log in a file.
class DaemonProcess {
 public:
  explicit DaemonProcess(std::string socket_path);
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& socket_path() const { return socket_path_; }
  std::string Log() const;
  // Sends the signal and returns the exit status (negative: the signal).
  int End(int signal);

 private:
  std::string socket_path_;
  pid_t pid_ = -1;
};

// A stream socket to the daemon; none if nobody listens.
FileDescriptor ConnectTo(const std::string& socket_path);

class Peer {
 public:
  Peer(const std::string& socket_path, std::string_view greeting);

  bool connected() const { return fd_.is_open(); }
  int fd() const { return fd_.get(); }
  // False when the daemon has closed the connection.
  bool SendBytes(std::string_view bytes);
  bool Send(const google::protobuf::MessageLite& message);
  // False when the connection ends first.
  bool Receive(google::protobuf::MessageLite* message);
  // True once the daemon has closed it; what it still says is thrown away.
  bool WaitUntilClosed();
  void Close() { fd_.Close(); }

 private:
  FileDescriptor fd_;
  FrameReader frames_{size_t{256} << 20};
};

class CollectorClient : public Peer {
 public:
  explicit CollectorClient(const std::string& socket_path) : Peer(socket_path, "TPC1") {}

  // A hello of this process, as collectors send it.
  static wire::Hello UsualHello();

  // Hello and welcome; then the state.
  wire::Welcome Greet(const wire::Hello& hello);
  bool Told(wire::CollectorState state);
  bool SendStrings(uint32_t first_id, const std::vector<std::string>& texts);
  bool SendBatch(const wire::Batch& batch);
  bool SendGoodbye(wire::Goodbye::Reason reason);
  // Waits until the daemon acknowledges this one.
  bool WaitUntilAcknowledged(uint64_t sequence);
  // The next Flush that the daemon sends.
  std::optional<uint64_t> WaitForFlush();
  bool SendFlushDone(uint64_t token);
};

class QueryClient : public Peer {
 public:
  explicit QueryClient(const std::string& socket_path) : Peer(socket_path, "TPQ1") {}

  query::Response Ask(const query::Request& request);
  query::Table Table(query::View view, int64_t pid = 0, bool flush = false);
  query::Processes Processes();
  query::Daemon Daemon();
};

}  // namespace tp

#endif  // ANALYZER_SERVE_DAEMON_UNDER_TEST_H_

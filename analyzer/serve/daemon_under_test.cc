#include "analyzer/serve/daemon_under_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/serve/reactor.h"
#include "analyzer/serve/traced_process.h"

namespace tp {
namespace {

constexpr const char kProgram[] = "tools/tpd";
constexpr int kPatienceMs = 10'000;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// `out` and `error`: files for the standard streams; empty: where this process has them.
pid_t StartProgram(const std::vector<std::string>& arguments, const std::string& out,
                   const std::string& error) {
  std::vector<char*> argv{const_cast<char*>(kProgram)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  for (const auto& [path, stream] :
       {std::pair(&out, STDOUT_FILENO), std::pair(&error, STDERR_FILENO)}) {
    if (path->empty()) continue;
    const int fd = open(path->c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, stream);
    close(fd);
  }
  execv(kProgram, argv.data());
  _exit(127);
}

int WaitFor(pid_t child) {
  int status = 0;
  for (int waited = 0; waited < kPatienceMs; waited += 5) {
    if (waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    usleep(5000);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -SIGKILL;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  char name[] = "/tmp/tpd_test_XXXXXX";
  path_ = mkdtemp(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Finished RunDaemonProgram(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out", error = folder.path() + "/error";
  Finished finished;
  finished.exit_status = WaitFor(StartProgram(arguments, out, error));
  finished.out = ReadFile(out);
  finished.error = ReadFile(error);
  return finished;
}

DaemonProcess::DaemonProcess(std::string socket_path) : socket_path_(std::move(socket_path)) {
  pid_ = StartProgram(
      {"--foreground", "--socket", socket_path_, "--log-file", socket_path_ + ".log"}, "", "");
  for (int waited = 0; waited < kPatienceMs; waited += 5) {
    if (ConnectTo(socket_path_).is_open()) return;
    usleep(5000);
  }
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) End(SIGKILL);
}

std::string DaemonProcess::Log() const { return ReadFile(socket_path_ + ".log"); }

int DaemonProcess::End(int signal) {
  kill(pid_, signal);
  return WaitFor(std::exchange(pid_, -1));
}

FileDescriptor ConnectTo(const std::string& socket_path) {
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, socket_path.c_str(), sizeof(address.sun_path) - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    fd.Close();
    return fd;
  }
  const timeval patience{.tv_sec = kPatienceMs / 1000, .tv_usec = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  return fd;
}

Peer::Peer(const std::string& socket_path, std::string_view greeting)
    : fd_(ConnectTo(socket_path)) {
  SendBytes(greeting);
}

bool Peer::SendBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool Peer::Send(const google::protobuf::MessageLite& message) {
  std::string bytes;
  AppendMessage(message, &bytes);
  return SendBytes(bytes);
}

bool Peer::Receive(google::protobuf::MessageLite* message) {
  for (;;) {
    const absl::StatusOr<std::optional<std::string_view>> next = frames_.Next();
    if (!next.ok()) return false;
    if (next->has_value()) {
      return message->ParseFromArray((*next)->data(), static_cast<int>((*next)->size()));
    }
    const std::span<char> room = frames_.Room(size_t{64} << 10);
    const ssize_t bytes = recv(fd_.get(), room.data(), room.size(), 0);
    if (bytes <= 0) return false;
    frames_.Filled(static_cast<size_t>(bytes));
  }
}

bool Peer::WaitUntilClosed() {
  char thrown_away[4096];
  for (;;) {
    const ssize_t bytes = recv(fd_.get(), thrown_away, sizeof(thrown_away), 0);
    if (bytes == 0) return true;
    if (bytes < 0) return errno == ECONNRESET || errno == EPIPE;
  }
}

wire::Hello CollectorClient::UsualHello() {
  wire::Hello hello;
  hello.set_protocol_version(1);
  hello.set_pid(getpid());
  hello.set_start_time_ticks(FindProcess(getpid()).value_or(TracedProcess()).start_ticks);
  hello.set_command("python train.py");
  hello.set_executable("/usr/bin/python3");
  hello.set_rank(-1);
  hello.set_cupti_version(130001);
  hello.set_driver_version(13000);
  hello.set_oldest_sequence(1);
  const int64_t now_ns = MonotonicNow();
  hello.set_capture_start_ns(now_ns - 1'000'000'000);
  // CUPTI's clock is the host's plus 5 s.
  hello.mutable_clock()->set_host_ns(now_ns);
  hello.mutable_clock()->set_cupti_ns(now_ns + 5'000'000'000);
  hello.mutable_clock()->set_bracket_ns(50);
  return hello;
}

wire::Welcome CollectorClient::Greet(const wire::Hello& hello) {
  wire::FromCollector message;
  *message.mutable_hello() = hello;
  Send(message);
  wire::FromDaemon answer;
  Receive(&answer);
  return answer.welcome();
}

bool CollectorClient::Told(wire::CollectorState state) {
  wire::FromCollector message;
  message.mutable_status()->set_state(state);
  return Send(message);
}

bool CollectorClient::SendStrings(uint32_t first_id, const std::vector<std::string>& texts) {
  wire::FromCollector message;
  message.mutable_strings()->set_first_id(first_id);
  for (const std::string& text : texts) message.mutable_strings()->add_text(text);
  return Send(message);
}

bool CollectorClient::SendBatch(const wire::Batch& batch) {
  wire::FromCollector message;
  *message.mutable_batch() = batch;
  return Send(message);
}

bool CollectorClient::SendGoodbye(wire::Goodbye::Reason reason) {
  wire::FromCollector message;
  message.mutable_goodbye()->set_reason(reason);
  return Send(message);
}

bool CollectorClient::WaitUntilAcknowledged(uint64_t sequence) {
  wire::FromDaemon message;
  while (Receive(&message)) {
    if (message.has_acknowledge() && message.acknowledge().sequence() >= sequence) return true;
  }
  return false;
}

std::optional<uint64_t> CollectorClient::WaitForFlush() {
  wire::FromDaemon message;
  while (Receive(&message)) {
    if (message.has_flush()) return message.flush().token();
  }
  return std::nullopt;
}

bool CollectorClient::SendFlushDone(uint64_t token) {
  wire::FromCollector message;
  message.mutable_flush_done()->set_token(token);
  return Send(message);
}

query::Response QueryClient::Ask(const query::Request& request) {
  query::Response response;
  if (!Send(request) || !Receive(&response)) response.mutable_error()->set_message("no answer");
  return response;
}

query::Table QueryClient::Table(query::View view, int64_t pid, bool flush) {
  query::Request request;
  request.mutable_table()->set_view(view);
  request.mutable_table()->set_pid(pid);
  request.mutable_table()->set_flush(flush);
  return Ask(request).table();
}

query::Processes QueryClient::Processes() {
  query::Request request;
  request.mutable_processes();
  return Ask(request).processes();
}

query::Daemon QueryClient::Daemon() {
  query::Request request;
  request.mutable_daemon();
  return Ask(request).daemon();
}

}  // namespace tp

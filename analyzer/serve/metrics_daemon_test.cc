// The daemon's program serving its metrics over real sockets.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/serve/daemon_under_test.h"
#include "analyzer/serve/reactor.h"
#include "analyzer/serve/tcp_address.h"

namespace tp {
namespace {

// Its log once it serves; its socket listens before.
std::string LogOf(const DaemonProcess& daemon) {
  EXPECT_EQ(QueryClient(daemon.socket_path()).Daemon().pid(), daemon.pid());
  return daemon.Log();
}

constexpr const char* kGetMetrics = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

class MetricsDaemonTest : public testing::Test {
 protected:
  MetricsDaemonTest() : daemon_(folder_.path() + "/tpd.sock", {"--metrics", "127.0.0.1:0"}) {
    const std::string log = LogOf(daemon_), before = "http://127.0.0.1:";
    const size_t place = log.find(before);
    EXPECT_NE(place, std::string::npos) << log;
    if (place != std::string::npos) port_ = std::stoi(log.substr(place + before.size()));
  }

  FileDescriptor Connect() const {
    FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port_));
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  static void Send(const FileDescriptor& fd, const std::string& bytes) {
    send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // All that comes until the daemon closes.
  static std::string Receive(const FileDescriptor& fd) {
    std::string all;
    char buffer[65536];
    for (ssize_t got; (got = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(got));
    }
    return all;
  }

  std::string Ask(const std::string& request) const {
    const FileDescriptor fd = Connect();
    Send(fd, request);
    return Receive(fd);
  }

  void ExpectToServe() const {
    const std::string answer = Ask(kGetMetrics);
    EXPECT_EQ(answer.rfind("HTTP/1.1 200 OK\r\n", 0), 0u) << answer.substr(0, 200);
    EXPECT_NE(answer.find("\ntensorprof_daemon_processes "), std::string::npos);
  }

  // A collector's batch is taken, and a tool gets its answer.
  void ExpectToIngest() const {
    CollectorClient collector(daemon_.socket_path());
    EXPECT_FALSE(collector.Greet(CollectorClient::UsualHello()).refused());
    EXPECT_TRUE(collector.Told(wire::CAPTURING));
    wire::Batch batch;
    batch.set_sequence(1);
    batch.mutable_kernels()->add_start_delta_ns(MonotonicNow() + 5'000'000'000);
    batch.mutable_kernels()->add_duration_ns(2'000);
    EXPECT_TRUE(collector.SendBatch(batch));
    EXPECT_TRUE(collector.WaitUntilAcknowledged(1));
  }

  TemporaryFolder folder_;
  DaemonProcess daemon_;
  int port_ = 0;
};

TEST_F(MetricsDaemonTest, ServesWhatItKnows) {
  ExpectToIngest();
  const std::string answer = Ask(kGetMetrics);
  EXPECT_EQ(answer.rfind("HTTP/1.1 200 OK\r\n", 0), 0u) << answer;
  EXPECT_NE(answer.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
            std::string::npos);
  const std::string who = "{pid=\"" + std::to_string(getpid()) + "\",command=\"python train.py\"";
  EXPECT_NE(answer.find("\ntensorprof_kernels_total" + who + "} 1\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\ntensorprof_kernel_seconds_total" + who + "} 0.000002000\n"),
            std::string::npos);
  EXPECT_NE(
      answer.find("\ntensorprof_device_busy_seconds_total" + who + ",device=\"0\"} 0.000002000\n"),
      std::string::npos);
  EXPECT_NE(answer.find("\ntensorprof_daemon_events_total 1\n"), std::string::npos);
}

TEST_F(MetricsDaemonTest, ThereIsOnlyOnePage) {
  for (const char* path : {"/", "/metric", "/metrics/", "//metrics", "/../metrics"}) {
    const std::string answer =
        Ask("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(answer.rfind("HTTP/1.1 404 ", 0), 0u) << path << ": " << answer;
  }
  EXPECT_EQ(Ask("GET /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n").rfind("HTTP/1.1 200", 0),
            0u);
  for (const char* method : {"POST", "DELETE", "PUT", "BREW"}) {
    const std::string answer =
        Ask(std::string(method) + " /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(answer.rfind("HTTP/1.1 405 ", 0), 0u) << method << ": " << answer;
  }
  const std::string head = Ask("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(head.rfind("HTTP/1.1 200 ", 0), 0u) << head;
  EXPECT_EQ(head.find("tensorprof"), std::string::npos);
}

TEST_F(MetricsDaemonTest, NonsenseDoesNoHarm) {
  for (const std::string& request :
       {std::string("\r\n\r\n\r\n"), std::string("nonsense\r\n\r\n"), std::string(100, '\0'),
        "GET /metrics HTTP/1.1\r\nX: " + std::string(1 << 20, 'x') + "\r\n\r\n",
        "GET /" + std::string(1 << 20, 'x') + " HTTP/1.1\r\n\r\n"}) {
    const FileDescriptor fd = Connect();
    Send(fd, request);
    shutdown(fd.get(), SHUT_WR);
    EXPECT_EQ(Receive(fd).find("tensorprof_"), std::string::npos);
  }
  ExpectToServe();
}

TEST_F(MetricsDaemonTest, SlowClientsHoldUpNothing) {
  std::vector<FileDescriptor> silent, never_read;
  for (int i = 0; i < 5; ++i) {
    silent.push_back(Connect());
    Send(silent.back(), "GET /metr");
    never_read.push_back(Connect());
    Send(never_read.back(), kGetMetrics);
  }
  ExpectToIngest();
  ExpectToServe();
}

TEST_F(MetricsDaemonTest, ManyConnectionsHaveTheirTurn) {
  // More than there may be at a time. They are let go when they say nothing.
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(Connect());
  ExpectToIngest();
  silent.clear();
  ExpectToServe();
  std::vector<FileDescriptor> asking;
  for (int i = 0; i < 50; ++i) {
    asking.push_back(Connect());
    Send(asking.back(), kGetMetrics);
  }
  for (const FileDescriptor& fd : asking) {
    EXPECT_EQ(Receive(fd).rfind("HTTP/1.1 200 OK\r\n", 0), 0u);
  }
  EXPECT_EQ(QueryClient(daemon_.socket_path()).Daemon().connections(), 1u);
}

TEST_F(MetricsDaemonTest, OneThatTricklesIsEnded) {
  const FileDescriptor fd = Connect();
  Send(fd, "GET /metrics HTTP/1.1\r\n");
  // Never silent for long, and never done.
  for (int i = 0; i < 600; ++i) {
    Send(fd, "x");
    pollfd ended{.fd = fd.get(), .events = POLLIN, .revents = 0};
    if (poll(&ended, 1, 50) > 0) return;
  }
  FAIL() << "still open";
}

TEST_F(MetricsDaemonTest, EndsInOrderWhileSomebodyAsks) {
  const FileDescriptor fd = Connect();
  Send(fd, "GET /metr");
  EXPECT_EQ(daemon_.End(SIGTERM), 0);
}

TEST_F(MetricsDaemonTest, APortInUseIsToldInOneLine) {
  for (const std::vector<std::string>& how : {std::vector<std::string>{"--foreground"}, {}}) {
    std::vector<std::string> arguments = {"--socket", folder_.path() + "/other.sock", "--metrics",
                                          "127.0.0.1:" + std::to_string(port_)};
    arguments.insert(arguments.end(), how.begin(), how.end());
    const Finished finished = RunDaemonProgram(arguments);
    EXPECT_EQ(finished.exit_status, 1);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::count(finished.error.begin(), finished.error.end(), '\n'), 1) << finished.error;
    EXPECT_NE(finished.error.find(std::to_string(port_)), std::string::npos) << finished.error;
    EXPECT_FALSE(ConnectTo(folder_.path() + "/other.sock").is_open());
  }
}

TEST(MetricsOption, ABadAddressIsToldInOneLine) {
  for (const char* address : {"", ":9400", "example.org:9400", "127.0.0.1:http", "99999"}) {
    const Finished finished = RunDaemonProgram({"--foreground", "--metrics", address});
    EXPECT_EQ(finished.exit_status, 2) << address;
    EXPECT_EQ(std::count(finished.error.begin(), finished.error.end(), '\n'), 1) << finished.error;
  }
}

TEST(MetricsOption, AnAddressThatOthersReachIsWarnedOf) {
  const TemporaryFolder folder;
  const DaemonProcess open(folder.path() + "/open.sock", {"--metrics", "0.0.0.0:0"});
  EXPECT_NE(LogOf(open).find("no loopback address"), std::string::npos) << open.Log();
  const DaemonProcess local(folder.path() + "/local.sock", {"--metrics", "127.0.0.1:0"});
  EXPECT_EQ(LogOf(local).find("no loopback address"), std::string::npos) << local.Log();
}

}  // namespace
}  // namespace tp

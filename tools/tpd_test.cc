// How the daemon's program starts, stays alone, and ends.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "analyzer/serve/daemon_under_test.h"

namespace tp {
namespace {

mode_t Mode(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// A socket's file without anybody behind it.
void LeaveSocket(const std::string& path) {
  FileDescriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

bool IsOneLine(const std::string& text) {
  return !text.empty() && text.back() == '\n' && std::count(text.begin(), text.end(), '\n') == 1;
}

// Listens in the daemon's place and starts it, as systemd does.
class ServiceManager {
 public:
  explicit ServiceManager(const std::string& path, int type = SOCK_STREAM)
      : socket_(socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    if (type == SOCK_STREAM) {
      EXPECT_EQ(listen(socket_.get(), 8), 0);
    }
  }

  pid_t Start() const {
    const pid_t child = fork();
    if (child != 0) return child;
    // Numbers from 3 on; what dup2 makes survives exec.
    if (socket_.get() == 3) fcntl(3, F_SETFD, 0);
    dup2(socket_.get(), 3);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    execl("tools/tpd", "tpd", "--foreground", "--log-file", "/dev/null", nullptr);
    _exit(127);
  }

  static int Wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  FileDescriptor socket_;
};

class TpdTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string socket_path_ = folder_.path() + "/run/tpd.sock";
};

TEST_F(TpdTest, HelpAndVersionSucceed) {
  const Finished help = RunDaemonProgram({"--help"});
  EXPECT_EQ(help.exit_status, 0);
  for (const char* option : {"--socket", "--foreground", "--memory", "--log-file", "Example"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
  EXPECT_EQ(help.error, "");
  EXPECT_EQ(RunDaemonProgram({"--version"}).out, "tpd 0.1.0\n");
}

TEST_F(TpdTest, BadArgumentsAreToldInOneLine) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--nonsense"},
                                                    {"surplus"},
                                                    {"--memory", "12x"},
                                                    {"--memory", "1"},
                                                    {"--socket"}}) {
    const Finished finished = RunDaemonProgram(arguments);
    EXPECT_EQ(finished.exit_status, 2) << arguments[0];
    EXPECT_TRUE(IsOneLine(finished.error)) << finished.error;
    EXPECT_EQ(finished.out, "");
  }
}

TEST_F(TpdTest, GoesIntoTheBackgroundOnceItListens) {
  const Finished started = RunDaemonProgram({"--socket", socket_path_});
  ASSERT_EQ(started.exit_status, 0) << started.error;
  EXPECT_TRUE(IsOneLine(started.out)) << started.out;
  EXPECT_NE(started.out.find(socket_path_), std::string::npos);
  QueryClient tool(socket_path_);
  ASSERT_TRUE(tool.connected());
  const pid_t pid = static_cast<pid_t>(tool.Daemon().pid());
  EXPECT_NE(started.out.find("pid " + std::to_string(pid)), std::string::npos) << started.out;
  EXPECT_EQ(getsid(pid), pid);
  EXPECT_TRUE(Exists(socket_path_ + ".log"));
  query::Request request;
  request.mutable_stop();
  EXPECT_TRUE(tool.Ask(request).has_stop());
  EXPECT_TRUE(tool.WaitUntilClosed());
  EXPECT_FALSE(Exists(socket_path_));
}

TEST_F(TpdTest, OnlyItsUserReachesTheSocket) {
  const DaemonProcess daemon(socket_path_);
  EXPECT_EQ(Mode(folder_.path() + "/run"), 0700u);
  EXPECT_EQ(Mode(socket_path_), 0600u);
  EXPECT_EQ(Mode(socket_path_ + ".log"), 0600u);
}

TEST_F(TpdTest, ASignalEndsItInOrder) {
  for (const int signal : {SIGTERM, SIGINT}) {
    DaemonProcess daemon(socket_path_);
    ASSERT_TRUE(QueryClient(socket_path_).connected());
    EXPECT_EQ(daemon.End(signal), 0);
    EXPECT_FALSE(Exists(socket_path_));
  }
}

TEST_F(TpdTest, ASecondOneLeavesTheFirstAlone) {
  DaemonProcess daemon(socket_path_);
  const Finished second = RunDaemonProgram({"--foreground", "--socket", socket_path_});
  EXPECT_EQ(second.exit_status, 3);
  EXPECT_TRUE(IsOneLine(second.error)) << second.error;
  EXPECT_NE(second.error.find("running already"), std::string::npos);
  EXPECT_EQ(QueryClient(socket_path_).Daemon().pid(), daemon.pid());
  // Also when somebody removed the lock.
  ASSERT_EQ(unlink((socket_path_ + ".lock").c_str()), 0);
  EXPECT_EQ(RunDaemonProgram({"--foreground", "--socket", socket_path_}).exit_status, 3);
  EXPECT_EQ(QueryClient(socket_path_).Daemon().pid(), daemon.pid());
}

TEST_F(TpdTest, ASocketThatNobodyListensOnIsTakenOver) {
  const std::string path = folder_.path() + "/tpd.sock";
  LeaveSocket(path);
  DaemonProcess daemon(path);
  EXPECT_EQ(QueryClient(path).Daemon().pid(), daemon.pid());
}

TEST_F(TpdTest, AFileThatIsNoSocketIsLeftAsItIs) {
  const std::string path = folder_.path() + "/tpd.sock";
  std::ofstream(path) << "precious";
  const Finished finished = RunDaemonProgram({"--foreground", "--socket", path});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_NE(finished.error.find("is not a socket"), std::string::npos);
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(TpdTest, WhatBelongsToAnotherUserIsRefused) {
  const std::string path = folder_.path() + "/tpd.sock";
  LeaveSocket(path);
  if (lchown(path.c_str(), 4242, 4242) != 0) GTEST_SKIP() << "files cannot be given away here";
  Finished finished = RunDaemonProgram({"--foreground", "--socket", path});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_NE(finished.error.find("belongs to another user"), std::string::npos);
  EXPECT_TRUE(Exists(path));

  const std::string foreign = folder_.path() + "/foreign";
  ASSERT_EQ(mkdir(foreign.c_str(), 0777), 0);
  ASSERT_EQ(lchown(foreign.c_str(), 4242, 4242), 0);
  finished = RunDaemonProgram({"--foreground", "--socket", foreign + "/tpd.sock"});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_NE(finished.error.find("belongs to another user"), std::string::npos);
}

TEST_F(TpdTest, TakesTheSocketOfAServiceManagerAndLeavesIt) {
  const std::string path = folder_.path() + "/tpd.sock";
  const ServiceManager manager(path);
  for (int life = 0; life < 2; ++life) {
    // Who comes before it runs is served.
    QueryClient early(path);
    ASSERT_TRUE(early.connected());
    const pid_t daemon = manager.Start();
    const query::Daemon described = early.Daemon();
    EXPECT_EQ(described.pid(), daemon);
    EXPECT_EQ(described.socket(), path);
    EXPECT_TRUE(described.activated());
    // A second one, by hand or started by mistake, has to go.
    EXPECT_EQ(RunDaemonProgram({"--foreground", "--socket", path}).exit_status, 3);
    EXPECT_EQ(ServiceManager::Wait(manager.Start()), 3);
    EXPECT_EQ(QueryClient(path).Daemon().pid(), daemon);
    query::Request stop;
    stop.mutable_stop();
    EXPECT_TRUE(early.Ask(stop).has_stop());
    EXPECT_EQ(ServiceManager::Wait(daemon), 0);
    EXPECT_TRUE(Exists(path));
  }
}

TEST_F(TpdTest, WithoutAServiceManagerItSaysSo) {
  const DaemonProcess daemon(socket_path_);
  EXPECT_FALSE(QueryClient(socket_path_).Daemon().activated());
}

TEST_F(TpdTest, WhatIsNoSocketOfItsKindIsNotTaken) {
  const std::string path = folder_.path() + "/tpd.sock";
  EXPECT_EQ(ServiceManager::Wait(ServiceManager(path, SOCK_DGRAM).Start()), 1);
  EXPECT_TRUE(Exists(path));
}

TEST_F(TpdTest, APathThatIsTooLongIsRefused) {
  const Finished finished =
      RunDaemonProgram({"--socket", folder_.path() + "/" + std::string(120, 'x')});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_TRUE(IsOneLine(finished.error)) << finished.error;
}

TEST_F(TpdTest, TwoAtOnceLeaveOneRunning) {
  for (int round = 0; round < 5; ++round) {
    const std::string path = folder_.path() + "/" + std::to_string(round) + ".sock";
    const DaemonProcess first(path), second(path);
    EXPECT_TRUE(QueryClient(path).connected());
    const int64_t pid = QueryClient(path).Daemon().pid();
    EXPECT_TRUE(pid == first.pid() || pid == second.pid());
  }
}

}  // namespace
}  // namespace tp

// tpctl with the daemon that it is made for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "analyzer/serve/daemon_lock.h"
#include "tools/control/command_line.h"
#include "tools/control/exit_status.h"

namespace tp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Outcome {
  int status;
  std::string out;
  std::string errors;
};

Outcome Tpctl(std::vector<std::string> arguments) {
  std::ostringstream out, errors;
  const int status = RunCommandLine(std::move(arguments), out, errors);
  return {status, out.str(), errors.str()};
}

class RealDaemon : public ::testing::Test {
 protected:
  RealDaemon() {
    char folder[] = "/tmp/tpctl-test-XXXXXX";
    if (mkdtemp(folder) == nullptr) abort();
    folder_ = folder;
    setenv("TP_SOCKET", (folder_ + "/tpd.sock").c_str(), 1);
    // A test runs in the root of its runfiles.
    setenv("TPD", "tools/tpd", 1);
    setenv("TP_COLLECTOR", "collector/libtpcollect.so", 1);
  }
  ~RealDaemon() override {
    Tpctl({"daemon", "stop"});
    unlink((folder_ + "/tpd.sock.log").c_str());
    unlink((folder_ + "/tpd.sock.lock").c_str());
    rmdir(folder_.c_str());
  }
  std::string folder_;
};

TEST_F(RealDaemon, IsStartedOnceLookedAtAndStopped) {
  EXPECT_EQ(Tpctl({"daemon", "status"}).status, kNoDaemon);
  Outcome outcome = Tpctl({"daemon", "start"});
  ASSERT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("is started"), HasSubstr(folder_ + "/tpd.sock")));
  EXPECT_THAT(Tpctl({"daemon", "start"}).out, HasSubstr("already runs"));
  EXPECT_THAT(Tpctl({"daemon", "status"}).out, HasSubstr(folder_ + "/tpd.sock"));
  EXPECT_EQ(Tpctl({"daemon", "stop"}).status, kDone);
  EXPECT_EQ(Tpctl({"daemon", "status"}).status, kNoDaemon);
  EXPECT_EQ(Tpctl({"daemon", "stop"}).status, kNoDaemon);
}

TEST_F(RealDaemon, IsStartedAtOnceAfterItWasKilled) {
  pid_t before = 0;
  for (int round = 0; round < 20; ++round) {
    const Outcome outcome = Tpctl({"daemon", "start"});
    ASSERT_EQ(outcome.status, kDone) << "round " << round << ": " << outcome.errors;
    EXPECT_THAT(outcome.out, HasSubstr("is started"));
    const pid_t pid = LockHolder(folder_ + "/tpd.sock").value_or(0);
    ASSERT_GT(pid, 1);
    EXPECT_NE(pid, before);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    before = pid;
  }
}

TEST_F(RealDaemon, IsFoundAndStoppedWhenItsSocketWasRemoved) {
  const std::string socket = folder_ + "/tpd.sock";
  ASSERT_EQ(Tpctl({"daemon", "start"}).status, kDone);
  const pid_t pid = LockHolder(socket).value_or(0);
  ASSERT_EQ(unlink(socket.c_str()), 0);
  const Outcome started = Tpctl({"daemon", "start"});
  EXPECT_EQ(started.status, kDone) << started.errors;
  EXPECT_THAT(started.out, HasSubstr(absl::StrCat("already runs, pid ", pid)));
  ASSERT_EQ(unlink(socket.c_str()), 0);
  const Outcome stopped = Tpctl({"daemon", "stop"});
  EXPECT_EQ(stopped.status, kDone) << stopped.errors;
  EXPECT_FALSE(LockHolder(socket).ok());
}

TEST_F(RealDaemon, AnswersWithNothingTraced) {
  ASSERT_EQ(Tpctl({"daemon", "start"}).status, kDone);
  for (const char* view :
       {"operations", "kernels", "copies", "api", "processes", "streams", "spans"}) {
    const Outcome outcome = Tpctl({"table", "--view", view});
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.errors, HasSubstr("tpctl run -- ./app"));
  }
  EXPECT_THAT(Tpctl({"top", "--once"}).out, HasSubstr("LD_PRELOAD="));
  EXPECT_EQ(Tpctl({"ps"}).status, kDone);
}

TEST_F(RealDaemon, AnUnknownProcessIsToldInOneLine) {
  ASSERT_EQ(Tpctl({"daemon", "start"}).status, kDone);
  const Outcome outcome = Tpctl({"table", "--pid", "99"});
  EXPECT_EQ(outcome.status, kWorkFailed);
  EXPECT_THAT(outcome.errors, HasSubstr("no process 99"));
}

TEST_F(RealDaemon, RunStartsItAndLeavesAProgramWithoutCudaAlone) {
  const Outcome outcome = Tpctl({"run", "--", "/bin/sh", "-c", "exit 5"});
  EXPECT_EQ(outcome.status, 5);
  EXPECT_EQ(outcome.errors,
            "tpctl: nothing was captured: the command made no CUDA call, or ended before it could "
            "send any (abort, _exit, a signal)\n");
  EXPECT_EQ(Tpctl({"daemon", "status"}).status, kDone);
}

}  // namespace
}  // namespace tp

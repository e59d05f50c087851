// The live screen on a terminal: a pseudo-terminal, whose other end is the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "tools/control/exit_status.h"
#include "tools/control/fake_daemon.h"

namespace tp {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLeaveScreen[] = "\x1b[?1049l";

class LiveScreen : public ::testing::Test {
 protected:
  LiveScreen()
      : daemon_(std::make_unique<FakeDaemon>(
            [this](const query::Request& request) { return Answer(request); })) {}
  ~LiveScreen() override {
    if (child_ > 0) kill(child_, SIGKILL);
    if (terminal_ >= 0) close(terminal_);
  }

  std::string Answer(const query::Request& request) {
    return FakeDaemon::Framed(SampleResponse(request, ++answers_));
  }

  void Start(const char* term = "xterm") {
    setenv("TERM", term, 1);
    winsize size = {24, 80, 0, 0};
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      execl("tools/tpctl", "tpctl", "top", "--interval", "0.1", nullptr);
      _exit(99);
    }
  }

  void Press(const char* keys) {
    ASSERT_EQ(write(terminal_, keys, strlen(keys)), static_cast<ssize_t>(strlen(keys)));
  }

  // Reads what is drawn until `text` is among it; false if the program ends or half a minute passes
  // before.
  bool WaitFor(const std::string& text) {
    for (int i = 0; i < 300; ++i) {
      const size_t found = drawn_.find(text, seen_);
      if (found != std::string::npos) {
        seen_ = found + text.size();
        return true;
      }
      pollfd polled = {terminal_, POLLIN, 0};
      if (poll(&polled, 1, 100) <= 0) continue;
      char bytes[4096];
      const ssize_t n = read(terminal_, bytes, sizeof(bytes));
      if (n <= 0) return drawn_.find(text, seen_) != std::string::npos;
      drawn_.append(bytes, n);
    }
    return false;
  }

  int Wait() {
    WaitFor("there is no such text: all that is left");
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : kKilledBySignal + WTERMSIG(status);
  }

  std::atomic<int> answers_ = 0;
  std::unique_ptr<FakeDaemon> daemon_;
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string drawn_;
  size_t seen_ = 0;
};

TEST_F(LiveScreen, ShowsTheTableUntilQ) {
  Start();
  ASSERT_TRUE(WaitFor("aten::mm")) << drawn_;
  Press("k");
  ASSERT_TRUE(WaitFor("cutlass")) << drawn_;
  Press("q");
  EXPECT_EQ(Wait(), 0);
  EXPECT_THAT(drawn_, HasSubstr(kLeaveScreen));
}

TEST_F(LiveScreen, ASignalLeavesTheTerminalAsItWas) {
  for (const auto& [signal, status] : {std::pair{SIGTERM, 128 + SIGTERM}, {SIGINT, 0}}) {
    drawn_.clear();
    seen_ = 0;
    Start();
    ASSERT_TRUE(WaitFor("aten::mm")) << drawn_;
    kill(child_, signal);
    EXPECT_EQ(Wait(), status);
    EXPECT_THAT(drawn_, HasSubstr(kLeaveScreen));
    close(terminal_);
    terminal_ = -1;
  }
}

TEST_F(LiveScreen, FollowsTheSizeOfTheWindow) {
  Start();
  ASSERT_TRUE(WaitFor("aten::mm")) << drawn_;
  winsize size = {50, 200, 0, 0};
  ioctl(terminal_, TIOCSWINSZ, &size);
  EXPECT_TRUE(WaitFor("CUDA time avg")) << drawn_;  // A column that 80 columns have no room for.
  Press("q");
  EXPECT_EQ(Wait(), 0);
}

TEST_F(LiveScreen, ADaemonThatGoesAwayIsToldAndFoundAgain) {
  Start();
  ASSERT_TRUE(WaitFor("aten::mm")) << drawn_;
  const std::string path = daemon_->path();
  daemon_.reset();
  EXPECT_TRUE(WaitFor("trying again")) << drawn_;
  daemon_ = std::make_unique<FakeDaemon>(
      [this](const query::Request& request) {
        query::Response response = SampleResponse(request, ++answers_);
        if (response.has_daemon()) response.mutable_daemon()->set_version("9.9.9");
        return FakeDaemon::Framed(response);
      },
      path);
  EXPECT_TRUE(WaitFor("9.9.9")) << drawn_;
  Press("q");
  EXPECT_EQ(Wait(), 0);
}

TEST_F(LiveScreen, ATerminalThatCannotShowItIsAClearError) {
  Start("dumb");
  EXPECT_EQ(Wait(), kWorkFailed);
  EXPECT_THAT(drawn_, HasSubstr("--once"));
  EXPECT_THAT(drawn_, Not(HasSubstr("\x1b")));
  close(terminal_);
  drawn_.clear();
  seen_ = 0;
  Start("there-is-no-such-terminal");
  EXPECT_EQ(Wait(), kWorkFailed);
  EXPECT_THAT(drawn_, HasSubstr("--once"));
}

TEST_F(LiveScreen, WithoutADaemonEndsAtOnce) {
  daemon_.reset();
  Start();
  EXPECT_EQ(Wait(), kNoDaemon);
  EXPECT_THAT(drawn_, HasSubstr("tpctl daemon start"));
}

TEST_F(LiveScreen, HasColours) {
  Start();
  ASSERT_TRUE(WaitFor("aten::mm")) << drawn_;
  Press("q");
  EXPECT_EQ(Wait(), 0);
  EXPECT_THAT(drawn_, ContainsRegex("\x1b\\[([0-9]*;)*[34][0-7]m"));
}

TEST_F(LiveScreen, HonoursNoColor) {
  setenv("NO_COLOR", "1", 1);
  Start();
  unsetenv("NO_COLOR");
  ASSERT_TRUE(WaitFor("aten::mm")) << drawn_;
  Press("q");
  EXPECT_EQ(Wait(), 0);
  EXPECT_THAT(drawn_, Not(ContainsRegex("\x1b\\[([0-9]*;)*[34][0-7]m")));
}

}  // namespace
}  // namespace tp

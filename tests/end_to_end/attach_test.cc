// Attaching to a program that was started without us, and leaving it: what it does and returns is
// as if nobody had come, what was captured in between is counted exactly, and nothing of ours runs
// on.

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

size_t EntriesOf(const std::string& folder) {
  size_t entries = 0;
  DIR* directory = opendir(folder.c_str());
  while (directory != nullptr && readdir(directory) != nullptr) ++entries;
  if (directory != nullptr) closedir(directory);
  return entries;
}

// tests/programs/on_command, which waits in a read for what it is told.
class Attach : public testing::Test {
 protected:
  void Run(Environment more = {}) {
    sandbox_.StartDaemon();
    const std::string commands = sandbox_.folder() + "/commands";
    ASSERT_EQ(mkfifo(commands.c_str(), 0600), 0);
    Environment environment = sandbox_.Untraced();
    environment.insert(environment.end(), more.begin(), more.end());
    program_ = std::make_unique<Program>(
        sandbox_.Start({Sandbox::Built("tests/programs/on_command"), commands}, environment));
    commands_.open(commands);
    Tell("work 1");  // NVTX has looked for a tool by then, and found none.
    if (const Result result = TpctlAttach(); result.status != 0) {
      if (result.err.find("may not be traced") != std::string::npos) {
        may_trace_ = false;
        return;
      }
      ADD_FAILURE() << result.err;
    }
    ASSERT_EQ(sandbox_.Tpctl({"detach", Pid()}).status, 0);
  }

  void Tell(const std::string& line) {
    commands_ << line << std::endl;
    told_ += "done " + line + "\n";
    ASSERT_TRUE(program_->WaitForOut(told_)) << program_->Out() << program_->Err();
  }

  void Quit() {
    commands_ << "quit" << std::endl;
    const Result result = program_->Wait();
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(result.out, told_);
  }

  std::string Pid() const { return std::to_string(program_->pid()); }
  Result TpctlAttach(Arguments more = {}) {
    more.insert(more.begin(), {"attach", Pid()});
    return sandbox_.Tpctl(more);
  }
  std::map<std::string, long> Work() {
    std::map<std::string, long> counts;
    const Json table = sandbox_.Table({"--view", "kernels", "--pid", Pid()});
    for (const Json& row : table["rows"]) counts[row["name"]] = row["count"];
    return counts;
  }

  Sandbox sandbox_;
  std::unique_ptr<Program> program_;
  std::ofstream commands_;
  std::string told_;
  bool may_trace_ = true;
};

#define TP_NEEDS_PTRACE() \
  if (!may_trace_) GTEST_SKIP() << "processes may not be traced here"

std::map<std::string, long> Steps(long steps) {
  return {{"plain(int*)", steps},
          {"other(int*)", steps},
          {"Memcpy HtoD (Pinned -> Device)", steps},
          {"Memset (Device)", steps}};
}

TEST_F(Attach, EachAttachmentCountsExactlyWhatWasDoneInItAndLeavesNothingBehind) {
  Run();
  TP_NEEDS_PTRACE();
  const std::string folder = "/proc/" + Pid();
  const size_t threads = EntriesOf(folder + "/task"), files = EntriesOf(folder + "/fd");
  for (long i = 1; i <= 10; ++i) {
    const Result attached = TpctlAttach();
    ASSERT_EQ(attached.status, 0) << attached.err;
    EXPECT_TRUE(sandbox_.ProcessOf(program_->pid())["attached"]);
    Tell("work " + std::to_string(i));
    EXPECT_EQ(Work(), Steps(i));
    const Json ranges = RowsByName(sandbox_.Table({"--pid", Pid()}))["step"];
    EXPECT_EQ(ranges["count"], i) << "ranges of an NVTX that had looked for its tool before";
    EXPECT_EQ(ranges["kernel_count"], 2 * i);
    const Result left = sandbox_.Tpctl({"detach", Pid()});
    ASSERT_EQ(left.status, 0) << left.err;
    EXPECT_EQ(EntriesOf(folder + "/task"), threads);
    EXPECT_EQ(EntriesOf(folder + "/fd"), files);
    Tell("work 1");
    EXPECT_EQ(Work(), Steps(i));
    const Json process = sandbox_.ProcessOf(program_->pid());
    EXPECT_EQ(process["state"], "detached");
    EXPECT_TRUE(process["losses"].empty()) << process["losses"];
  }
  Quit();
}

TEST_F(Attach, ThreadsInFullSwingAreNotInTheWay) {
  Run();
  TP_NEEDS_PTRACE();
  Tell("spin 16");
  for (int i = 0; i < 5; ++i) {
    const Result attached = TpctlAttach();
    ASSERT_EQ(attached.status, 0) << attached.err;
    const Result left = sandbox_.Tpctl({"detach", Pid()});
    ASSERT_EQ(left.status, 0) << left.err;
    EXPECT_TRUE(sandbox_.ProcessOf(program_->pid())["losses"].empty());
  }
  Tell("rest");
  Quit();
}

TEST_F(Attach, ItLeavesByItselfAlsoWhenTheDaemonIsGone) {
  Run();
  TP_NEEDS_PTRACE();
  const size_t threads = EntriesOf("/proc/" + Pid() + "/task");
  ASSERT_EQ(TpctlAttach({"--duration", "500ms"}).status, 0);
  EXPECT_TRUE(sandbox_.WaitForState(program_->pid(), "detached"));
  ASSERT_EQ(TpctlAttach({"--duration", "1s"}).status, 0);
  sandbox_.KillDaemon();
  for (int i = 0; i < 300 && EntriesOf("/proc/" + Pid() + "/task") > threads; ++i) usleep(100'000);
  EXPECT_EQ(EntriesOf("/proc/" + Pid() + "/task"), threads);
  Tell("work 1");
  Quit();
}

TEST_F(Attach, OneThatDiesAtAnyStepDoesNoHarm) {
  Run();
  TP_NEEDS_PTRACE();
  Environment environment = sandbox_.Untraced();
  for (const char* step : {"seized", "stopped", "framed", "library", "sockets", "written", "mapped",
                           "prepared", "called", "made", "restored", "detached", "greeted"}) {
    Environment dying = environment;
    dying.emplace_back("TP_INJECT_DIE_AT", step);
    EXPECT_EQ(sandbox_.Run({Sandbox::Built("tools/tpctl"), "attach", Pid()}, dying).status, 128 + 9)
        << step;
    Tell("work 1");
    // The collector, where one has begun by itself, finds the daemon.
    const Result attached = TpctlAttach();
    EXPECT_EQ(attached.status, 0) << step << ": " << attached.err;
    Tell("work 1");
    EXPECT_EQ(sandbox_.Tpctl({"detach", Pid()}).status, 0) << step;
  }
  Quit();
}

TEST_F(Attach, ACollectorThatIsThereIsToldByItsDaemon) {
  sandbox_.StartDaemon();
  const std::string commands = sandbox_.folder() + "/commands";
  ASSERT_EQ(mkfifo(commands.c_str(), 0600), 0);
  Environment environment = sandbox_.Traced();
  environment.emplace_back("TP_COLLECT", "dormant");
  program_ = std::make_unique<Program>(
      sandbox_.Start({Sandbox::Built("tests/programs/on_command"), commands}, environment));
  commands_.open(commands);
  ASSERT_TRUE(sandbox_.WaitForProcess(program_->pid()));
  const Result attached = TpctlAttach({"--duration", "300ms"});
  EXPECT_EQ(attached.status, 0) << attached.err;
  EXPECT_NE(attached.out.find("the collector was in it already"), std::string::npos);
  EXPECT_FALSE(sandbox_.ProcessOf(program_->pid())["attached"]);
  EXPECT_TRUE(sandbox_.WaitForState(program_->pid(), "dormant"));
  Tell("work 1");
  Quit();
}

TEST_F(Attach, WhatCannotBeAttachedToIsRefusedInALine) {
  sandbox_.StartDaemon();
  Program sleeper = sandbox_.Start({"/bin/sleep", "60"}, sandbox_.Untraced());
  Result result = sandbox_.Tpctl({"attach", std::to_string(sleeper.pid())});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("has not loaded the CUDA driver"), std::string::npos) << result.err;
  sleeper.Signal(SIGKILL);
  // Not asked for its end yet.
  for (int i = 0; i < 100 && result.err.find("zombie") == std::string::npos; ++i) {
    usleep(10'000);
    result = sandbox_.Tpctl({"attach", std::to_string(sleeper.pid())});
  }
  EXPECT_NE(result.err.find("zombie"), std::string::npos) << result.err;
  result = sandbox_.Tpctl({"attach", std::to_string(sleeper.pid()), "--duration", "soon"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--duration is 'soon'"), std::string::npos) << result.err;
  sleeper.Wait();
  result = sandbox_.Tpctl({"attach", std::to_string(sleeper.pid())});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("does not run"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

}  // namespace
}  // namespace tp::test

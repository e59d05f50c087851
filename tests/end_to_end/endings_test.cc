// However a traced process ends or goes on: its status, signal and output are those of the process
// without us, it does not hang, and what can be kept is kept.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

const std::string kProgram = "tests/programs/endings";

// Processes that run at the same time may write in any order.
std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

class Endings : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  Environment Traced(const Environment& more) const {
    Environment environment = sandbox_.Traced();
    environment.insert(environment.end(), more.begin(), more.end());
    return environment;
  }

  // Runs it with and without us: the same is to be seen. Returns the traced process's pid.
  pid_t RunBothWays(const Arguments& words, const Environment& more = {}) {
    Arguments command = {Sandbox::Built(kProgram)};
    command.insert(command.end(), words.begin(), words.end());
    Environment untraced = sandbox_.Untraced();
    untraced.insert(untraced.end(), more.begin(), more.end());
    Result without = sandbox_.Run(command, untraced);
    Program program = sandbox_.Start(command, Traced(more));
    Result with = program.Wait();
    EXPECT_EQ(with.status, without.status);
    EXPECT_EQ(Lines(with.out), Lines(without.out));
    EXPECT_EQ(with.err, without.err);
    EXPECT_NE(with.status, 64) << with.out;
    return program.pid();
  }

  long Count(pid_t pid, const std::string& view, const std::string& name) {
    Arguments options = {"--view", view};
    if (pid != 0) options.insert(options.end(), {"--pid", std::to_string(pid)});
    std::map<std::string, Json> rows = RowsByName(sandbox_.Table(options));
    return rows.count(name) == 0 ? 0 : rows[name]["count"].get<long>();
  }
  long Kernels(pid_t pid) { return Count(pid, "kernels", "step(int*)"); }
  Json Rows() { return sandbox_.Processes()["rows"]; }

  // All that it did has arrived, and nothing was lost.
  void ExpectWhole(pid_t pid, long kernels) {
    EXPECT_TRUE(sandbox_.WaitForState(pid, "gone"));
    EXPECT_EQ(Kernels(pid), kernels);
    EXPECT_EQ(Count(pid, "operations", "step"), kernels);
    EXPECT_EQ(Count(pid, "operations", "open"), 1);
    EXPECT_EQ(sandbox_.ProcessOf(pid)["losses"], Json::object());
    EXPECT_EQ(sandbox_.ProcessOf(pid)["more_may_be_lost"], false);
    EXPECT_EQ(sandbox_.NotesOf(pid), "");
  }

  Sandbox sandbox_;
};

TEST_F(Endings, InGoodOrderLoseNothing) {
  for (const std::string how :
       {"return", "exit", "exit_on_a_thread", "quick_exit", "sigterm_handled", "sigint_ignored"}) {
    SCOPED_TRACE(how);
    ExpectWhole(RunBothWays({how}), 20);
  }
}

TEST_F(Endings, OfTheMainThreadAloneIsFollowedByThatOfTheProcess) {
  ExpectWhole(RunBothWays({"pthread_exit"}), 25);
}

// Nobody can tell us then, and we interpose nothing: what was read or on its way before is there,
// the rest is said to be missing.
TEST_F(Endings, WithoutAWordKeepWhatWasReadAndSaySo) {
  for (const std::string how : {"_exit", "abort", "segv", "sigterm", "sigint", "sigkill", "exec"}) {
    SCOPED_TRACE(how);
    RunBothWays({how});
    std::string release = sandbox_.folder() + "/release-" + how;
    Program program =
        sandbox_.Start({Sandbox::Built(kProgram), how, "20", release}, sandbox_.Traced());
    ASSERT_TRUE(program.WaitForOut("holding"));
    ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
    // Kernels and ranges travel in batches of their own time.
    while (Kernels(program.pid()) < 20 || Count(program.pid(), "operations", "step") < 20 ||
           Count(program.pid(), "operations", "open") < 1) {
      usleep(10'000);
    }
    std::ofstream(release) << "go on\n";
    program.Wait();
    ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "gone"));
    EXPECT_EQ(Kernels(program.pid()), 20);
    EXPECT_EQ(Count(program.pid(), "operations", "step"), 20);
    EXPECT_EQ(Count(program.pid(), "operations", "open"), 1);
    EXPECT_EQ(sandbox_.ProcessOf(program.pid())["more_may_be_lost"], true);
    std::string notes = sandbox_.NotesOf(program.pid());
    EXPECT_NE(notes.find("ended without a goodbye"), std::string::npos) << notes;
    Result table = sandbox_.Tpctl({"table", "--pid", std::to_string(program.pid())});
    EXPECT_NE(table.err.find("ended without a goodbye"), std::string::npos) << table.err;
  }
}

TEST_F(Endings, ByExecAreToldFromAProcessThatRunsOn) {
  std::string release = sandbox_.folder() + "/release";
  Program program =
      sandbox_.Start({Sandbox::Built(kProgram), "exec_and_stay", "20", release}, sandbox_.Traced());
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
  std::ofstream(release) << "go on\n";
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "gone"));
  EXPECT_TRUE(program.running());
  EXPECT_EQ(sandbox_.ProcessOf(program.pid())["reason"],
            "the process has executed another program");
}

TEST_F(Endings, ByExecOfACudaProgramBeginAnotherInTheSameProcess) {
  ExpectWhole(RunBothWays({"exec_itself"}), 7);
  std::string release = sandbox_.folder() + "/release";
  size_t before = Rows().size();
  Program program =
      sandbox_.Start({Sandbox::Built(kProgram), "exec_itself", "20", release}, sandbox_.Traced());
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
  std::ofstream(release) << "go on\n";
  EXPECT_EQ(program.Wait().status, 3);
  EXPECT_EQ(Rows().size(), before + 2);
  EXPECT_EQ(Kernels(program.pid()), 7) << "of the second alone: it has the number now";
}

TEST_F(Endings, OfChildrenThatDoWithoutCudaAreNoneOfOurs) {
  for (const std::string how :
       {"fork_and_exit", "fork_without_handlers", "fork_and_cuda", "fork_and_die"}) {
    SCOPED_TRACE(how);
    size_t before = Rows().size();
    ExpectWhole(RunBothWays({how}), 20);
    EXPECT_EQ(Rows().size(), before + 1);
  }
}

TEST_F(Endings, OfChildrenThatExecuteACudaProgramAreTheirOwn) {
  long kernels = 0;
  for (const std::string how : {"fork_and_exec", "vfork_and_exec"}) {
    SCOPED_TRACE(how);
    size_t before = Rows().size();
    ExpectWhole(RunBothWays({how}), 20);
    EXPECT_EQ(Rows().size(), before + 2);
    EXPECT_EQ(Kernels(0), kernels += 29);
  }
}

TEST_F(Endings, OfBothHalvesOfAForkBeforeCudaLoseNothing) {
  pid_t parent = RunBothWays({"fork_before"});
  Json rows = Rows();
  ASSERT_EQ(rows.size(), 2u);
  for (const Json& row : rows) ExpectWhole(row["pid"].get<pid_t>(), 20);
  EXPECT_NE(rows[0]["pid"], rows[1]["pid"]);
  EXPECT_TRUE(rows[0]["pid"] == parent || rows[1]["pid"] == parent);
}

TEST_F(Endings, OfADaemonAreThoseOfAnyProgram) {
  Result first = sandbox_.Run({Sandbox::Built(kProgram), "daemonize"}, sandbox_.Traced());
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.err, "");
  while (Rows().empty()) usleep(10'000);
  pid_t pid = Rows()[0]["pid"];
  ASSERT_TRUE(sandbox_.WaitForState(pid, "gone"));
  ExpectWhole(pid, 20);
}

TEST_F(Endings, OfAConnectionThatTheProgramClosesLoseNothing) {
  ExpectWhole(RunBothWays({"close_all"}), 25);
}

TEST_F(Endings, OfADevicesContextLoseNothing) { ExpectWhole(RunBothWays({"reset"}), 25); }

TEST_F(Endings, OfThousandsOfThreadsWithOpenRangesAreCountedToTheLast) {
  pid_t pid = RunBothWays({"threads"});
  Json losses = sandbox_.ProcessOf(pid)["losses"];
  // As a rule none; but threads may come faster than a busy machine lets anybody read.
  long lost =
      losses.contains("operations") ? losses["operations"]["operation buffer full"].get<long>() : 0;
  EXPECT_EQ(Count(pid, "operations", "left open") + Count(pid, "operations", "step") + lost,
            2000 + 2020);
  EXPECT_EQ(Count(pid, "operations", "open"), 1);
  if (losses.empty()) {
    EXPECT_EQ(Kernels(pid), 2020);
  }
  EXPECT_GT(Kernels(pid), 0);
}

TEST_F(Endings, OfAHandleOnTheLibraryLeaveItInPlace) {
  ExpectWhole(
      RunBothWays({"dlclose"}, {{"ENDINGS_LIBRARY", Sandbox::Built("collector/libtpcollect.so")}}),
      25);
}

TEST_F(Endings, CudaBeforeMainIsSeenAndAfterItDoesNoHarm) {
  pid_t pid = RunBothWays({"return"}, {{"ENDINGS_AROUND_MAIN", "1"}});
  EXPECT_EQ(Count(pid, "operations", "before main"), 1);
  EXPECT_GE(Kernels(pid), 21);
  EXPECT_LE(Kernels(pid), 22);
}

}  // namespace
}  // namespace tp::test

// Another profiler in the traced process: by default it comes first and works, `ps` says so, and
// capturing begins or goes on when it is done; TP_PRIORITY=us turns that round.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

class OtherProfiler : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  Program Start(Arguments words, Environment more = {}) {
    words.insert(words.begin(), Sandbox::Built("tests/programs/two_profilers"));
    Environment environment = sandbox_.Traced();
    environment.insert(environment.end(), more.begin(), more.end());
    return sandbox_.Start(words, environment);
  }
  std::string File(const std::string& name) const { return sandbox_.folder() + "/" + name; }
  void Create(const std::string& name) const { std::ofstream(File(name)) << "go on\n"; }

  std::string Reason(const Program& program) { return sandbox_.ProcessOf(program.pid())["reason"]; }
  long Kernels(const Program& program) {
    Json table = sandbox_.Table({"--view", "kernels", "--pid", std::to_string(program.pid())});
    long count = 0;
    for (const Json& row : table["rows"]) count += row["count"].get<long>();
    return count;
  }
  // Until something has come of it: then the collector is under way.
  void WaitForKernels(const Program& program) {
    ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
    while (Kernels(program) == 0) usleep(20'000);
  }
  Json Done(Program& program) {
    Result result = program.Wait();
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    return Json::parse(result.out.substr(result.out.rfind('{')));
  }

  Sandbox sandbox_;
};

TEST_F(OtherProfiler, ThatWasThereBeforeIsWaitedForByName) {
  Program program = Start({"subscribe", "hold", File("1"), "unsubscribe", "hold", File("2")});
  ASSERT_TRUE(program.WaitForOut("holding"));
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "waiting"));
  EXPECT_EQ(Reason(program),
            "another profiler holds CUPTI in this process (CUPTI for the other one): capturing "
            "begins when it lets go");
  EXPECT_EQ(Kernels(program), 0);
  Create("1");
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
  EXPECT_EQ(Reason(program), "");
  Create("2");
  EXPECT_EQ(Done(program)["subscribed"], 0);
  EXPECT_GT(Kernels(program), 0);
  EXPECT_NE(sandbox_.NotesOf(program.pid()).find("capturing had to wait for "), std::string::npos)
      << sandbox_.NotesOf(program.pid());
}

TEST_F(OtherProfiler, ThatComesLaterGetsAllItAsksForAndCapturingGoesOnAfterIt) {
  Program program = Start({"hold", File("0"), "subscribe", "take", "hold", File("1"), "leave",
                           "unsubscribe", "hold", File("2"), "work", "500"});
  WaitForKernels(program);
  Create("0");
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "waiting"));
  EXPECT_NE(Reason(program).find("another profiler has taken CUPTI's buffers over"),
            std::string::npos)
      << Reason(program);
  Create("1");
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
  long before = Kernels(program);
  Create("2");
  Json done = Done(program);
  EXPECT_EQ(done["subscribed"], 0);
  EXPECT_GT(done["kernels_taken"], 0);
  EXPECT_EQ(done["kernels_seen"], done["kernels_taken"]);
  EXPECT_GE(Kernels(program), before + 500);
  EXPECT_NE(sandbox_.NotesOf(program.pid()).find("capturing had to wait for "), std::string::npos)
      << sandbox_.NotesOf(program.pid());
}

// As PyTorch's does since 2026.
TEST_F(OtherProfiler, ThatNeverSubscribesIsRecognizedByTheSignThatItLeaves) {
  Program program = Start({"hold", File("0"), "take", "hold", File("1"), "leave", "hold", File("2"),
                           "attribute", "hold", File("3"), "work", "500"});
  WaitForKernels(program);
  Create("0");
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "waiting"));
  Create("1");
  ASSERT_TRUE(program.WaitForOut("holding " + File("2")));
  sleep(3);  // Longer than it takes to try again.
  EXPECT_EQ(sandbox_.ProcessOf(program.pid())["state"], "waiting") << "it may still be at work";
  Create("2");
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
  long before = Kernels(program);
  Create("3");
  Json done = Done(program);
  EXPECT_EQ(done["kernels_seen"], done["kernels_taken"]);
  EXPECT_GE(Kernels(program), before + 500);
}

TEST_F(OtherProfiler, WhoseLibraryIsKnownIsNamedAndTakenForDoneWhenItHasNoSubscription) {
  Program program =
      Start({"load", Sandbox::Built("tests/programs/xla_extension.so"), "hold", File("0"), "take",
             "work", "10", "leave", "hold", File("1"), "work", "500"});
  WaitForKernels(program);
  Create("0");
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "waiting"));
  EXPECT_NE(Reason(program).find("perhaps JAX's profiler (xla_extension.so)"), std::string::npos)
      << Reason(program);
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
  long before = Kernels(program);
  Create("1");
  Done(program);
  EXPECT_GE(Kernels(program), before + 500);
}

TEST_F(OtherProfiler, ComesSecondWithPriorityUs) {
  Program program =
      Start({"hold", File("0"), "subscribe", "take", "hold", File("1"), "work", "500"},
            {{"TP_PRIORITY", "us"}});
  WaitForKernels(program);
  Create("0");
  while (sandbox_.NotesOf(program.pid()).find("taken back") == std::string::npos) usleep(20'000);
  EXPECT_EQ(sandbox_.ProcessOf(program.pid())["state"], "capturing");
  long before = Kernels(program);
  Create("1");
  Json done = Done(program);
  EXPECT_EQ(done["subscribed"], 39) << "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
  EXPECT_GE(Kernels(program), before + 500);
}

TEST_F(OtherProfiler, ThatNeverComesIsNotSeenInAnIdleProcess) {
  Program program = Start({"work", "10", "idle", File("1"), "work", "10"});
  ASSERT_TRUE(program.WaitForOut("idle"));
  sleep(4);  // Longer than it takes to be sure.
  EXPECT_EQ(sandbox_.ProcessOf(program.pid())["state"], "capturing");
  EXPECT_EQ(sandbox_.NotesOf(program.pid()), "");
  Create("1");
  Done(program);
  EXPECT_EQ(Kernels(program), 20);
  // And what it takes to find out is nobody's work.
  Json calls = sandbox_.Table({"--view", "api", "--pid", std::to_string(program.pid())});
  EXPECT_EQ(RowsByName(calls).count("cuDriverGetVersion"), 0u) << calls;
}

TEST_F(OtherProfiler, InItsPlaceInTheDriversVariableIsKeptAndSaid) {
  std::string other = Sandbox::Built("tests/programs/empty_injection.so");
  Program program = Start({"hold", File("1"), "work", "500"}, {{"CUDA_INJECTION64_PATH", other}});
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "capturing"));
  EXPECT_NE(sandbox_.NotesOf(program.pid())
                .find("CUDA_INJECTION64_PATH names " + other + " and was kept"),
            std::string::npos)
      << sandbox_.NotesOf(program.pid());
  EXPECT_EQ(sandbox_.ProcessOf(program.pid())["cupti_version"], 130001);
  long before = Kernels(program);
  Create("1");
  Done(program);
  EXPECT_GE(Kernels(program), before + 500);
}

}  // namespace
}  // namespace tp::test

// Programs of other kinds, traced: every form of NVTX, graphs, the driver API alone, the per-thread
// default stream. What each prints must be what it prints without us, and what it did must arrive.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

class Programs : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  // Runs it without and with us; the outputs must be the same. Returns the traced process's pid.
  pid_t RunBoth(const Arguments& command, const Environment& more = {}) {
    Environment untraced = sandbox_.Untraced(), traced = sandbox_.Traced();
    untraced.insert(untraced.end(), more.begin(), more.end());
    traced.insert(traced.end(), more.begin(), more.end());
    Result before = sandbox_.Run(command, untraced);
    Program program = sandbox_.Start(command, traced);
    Result with = program.Wait();
    EXPECT_EQ(with.status, before.status);
    EXPECT_EQ(with.out, before.out);
    EXPECT_EQ(with.err, before.err);
    return program.pid();
  }

  std::map<std::string, Json> Rows(pid_t pid, const std::string& view) {
    return RowsByName(sandbox_.Table({"--pid", std::to_string(pid), "--view", view}));
  }

  Sandbox sandbox_;
};

TEST_F(Programs, EveryFormOfNvtxIsAnOperation) {
  pid_t pid = RunBoth({Sandbox::Built("tests/programs/nvtx_forms")});
  std::map<std::string, Json> rows = Rows(pid, "operations");
  for (const char* name : {"push", "weit ä€", "größe 寸法", "push_ex", "registered"}) {
    ASSERT_EQ(rows.count(name), 1u) << name;
    EXPECT_EQ(rows[name]["count"], 1) << name;
    EXPECT_EQ(rows[name]["kernel_count"], 1) << name;
    EXPECT_GT(rows[name]["self_device_time_total_ns"], 0) << name;
  }
  // Asynchronous ranges have no place in a thread's nesting: nothing is launched in them.
  for (const char* name : {"across threads", "wide start", "domain start"}) {
    ASSERT_EQ(rows.count(name), 1u) << name;
    EXPECT_EQ(rows[name]["count"], 1) << name;
    EXPECT_EQ(rows[name]["kernel_count"], 0) << name;
  }
  EXPECT_EQ(rows.size(), 8u) << "marks are no ranges";
  EXPECT_EQ(sandbox_.ProcessOf(pid)["unattributed_count"], 3);
}

TEST_F(Programs, EachNodeOfAGraphCountsAtEachLaunch) {
  pid_t pid =
      RunBoth({Sandbox::Built("tests/programs/graphs"), "--kernels", "3", "--launches", "10"});
  std::map<std::string, Json> kernels = Rows(pid, "kernels");
  EXPECT_EQ(kernels["captured(int*)"]["count"], 30);
  std::map<std::string, Json> calls = Rows(pid, "api");
  EXPECT_GE(calls["cudaGraphLaunch"]["count"].get<int>(), 10);
}

TEST_F(Programs, GraphsMadeInAllWaysAreSeen) {
  pid_t pid = RunBoth({Sandbox::Built("tests/programs/graph_building")});
  std::map<std::string, Json> kernels = Rows(pid, "kernels");
  EXPECT_EQ(kernels["second(int*, int)"]["count"], 2);
  EXPECT_EQ(kernels["first(int*)"]["count"], 3 + 2 + 1);
}

TEST_F(Programs, LessCommonCallsAreSeenAndDoWhatTheyDo) {
  pid_t pid = RunBoth({Sandbox::Built("tests/programs/less_common_calls")},
                      {{"TP_ACTIVITIES", "all,-graphs"}});
  std::map<std::string, Json> kernels = Rows(pid, "kernels");
  EXPECT_EQ(kernels["together(float*)"]["cooperative_count"], 1);
  EXPECT_EQ(kernels["linked"]["count"], 1);
  std::map<std::string, Json> calls = Rows(pid, "api");
  EXPECT_EQ(calls["cudaMemcpy3D"]["count"], 1);
  EXPECT_EQ(calls["cuTexObjectCreate"]["count"].get<int>() > 0, true);
  EXPECT_TRUE(sandbox_.ProcessOf(pid)["losses"].empty());
}

TEST_F(Programs, TheDriverApiAloneIsSeen) {
  pid_t pid = RunBoth({Sandbox::Built("tests/programs/driver_api")},
                      {{"SIMCUDA_KERNEL_COST", "step=100000000"}});
  Json process = sandbox_.ProcessOf(pid);
  EXPECT_GT(process["events"]["kernels"], 0);
  EXPECT_GT(process["events"]["driver_calls"], 0);
  EXPECT_EQ(process["events"]["runtime_calls"], 0);
  EXPECT_EQ(Rows(pid, "api").count("cuLaunchKernel"), 1u);
}

TEST_F(Programs, ThePerThreadDefaultStreamHasTheSameNames) {
  pid_t pid = RunBoth({Sandbox::Built("tests/programs/default_streams_per_thread")},
                      {{"SIMCUDA_KERNEL_COST", "lengthy=400000000"}});
  EXPECT_EQ(Rows(pid, "api").count("cudaLaunchKernel"), 1u);
  EXPECT_GT(sandbox_.ProcessOf(pid)["events"]["kernels"], 0);
}

TEST_F(Programs, WrongCallsFailAsEver) {
  pid_t pid =
      RunBoth({Sandbox::Built("tests/programs/errors")}, {{"SIMCUDA_KERNEL_FAULT", "faulty"}});
  int errors = 0;
  for (const auto& [name, row] : Rows(pid, "api")) errors += row["errors"].get<int>();
  EXPECT_GT(errors, 0);
}

TEST_F(Programs, RunGivesTheCommandsOutputAndStatusAndSumsUp) {
  Environment environment = sandbox_.Untraced();
  Result result = sandbox_.Run({Sandbox::Built("tools/tpctl"), "run", "--",
                                Sandbox::Built("tests/programs/known_work"), "--exit-status", "5"},
                               environment);
  EXPECT_EQ(result.status, 5);
  EXPECT_EQ(Json::parse(result.out)["fills"], 10);
  EXPECT_NE(result.err.find("iteration"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("plain(int*)"), std::string::npos) << result.err;
  result =
      sandbox_.Run({Sandbox::Built("tools/tpctl"), "run", "--", "/no/such/program"}, environment);
  EXPECT_EQ(result.status, 127);
}

TEST_F(Programs, OneScreenfulShowsTheRunningProgram) {
  Program program = sandbox_.Start({Sandbox::Built("tests/programs/sample"), "--seconds", "20"},
                                   sandbox_.Traced());
  ASSERT_TRUE(sandbox_.WaitForProcess(program.pid()));
  std::string screen;
  for (int i = 0; i < 100 && screen.find("optimizer") == std::string::npos; ++i) {
    screen = sandbox_.Tpctl({"top", "--once"}).out;
  }
  for (const char* text : {"capturing", "sample --seconds 20", "GPU 0", "epoch", "optimizer"}) {
    EXPECT_NE(screen.find(text), std::string::npos) << text << " in\n" << screen;
  }
}

TEST(CommandLine, MistakesAreOneLineAndTwoAndNoDaemonIsThreeWithTheRemedy) {
  Sandbox sandbox;
  for (const Arguments& wrong : std::vector<Arguments>{{"table", "--no-such-option"},
                                                       {"table", "--view", "nonsense"},
                                                       {"table", "--row-limit", "many"},
                                                       {"no-such-command"}}) {
    Result result = sandbox.Tpctl(wrong);
    EXPECT_EQ(result.status, 2) << wrong.back();
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  for (const Arguments& command :
       std::vector<Arguments>{{"table"}, {"ps"}, {"top", "--once"}, {"daemon", "status"}}) {
    Result result = sandbox.Tpctl(command);
    EXPECT_EQ(result.status, 3) << command[0];
    EXPECT_NE(result.err.find("tpctl daemon start"), std::string::npos) << result.err;
  }
}

TEST(CommandLine, WithNothingRunningTopSaysWhatToDo) {
  Sandbox sandbox;
  sandbox.StartDaemon();
  Result result = sandbox.Tpctl({"top", "--once"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("LD_PRELOAD"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace tp::test

// Capturing begun and stopped from outside, in a program that does what the test says: what
// happened in captured time is counted exactly, and nothing else is.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

// tests/programs/on_command under a daemon of its own.
class Control : public testing::Test {
 protected:
  void Run(const std::string& collect, Environment more = {}) {
    sandbox_.StartDaemon();
    const std::string commands = sandbox_.folder() + "/commands";
    ASSERT_EQ(mkfifo(commands.c_str(), 0600), 0);
    Environment environment = sandbox_.Traced();
    environment.emplace_back("TP_COLLECT", collect);
    environment.insert(environment.end(), more.begin(), more.end());
    program_ = std::make_unique<Program>(
        sandbox_.Start({Sandbox::Built("tests/programs/on_command"), commands}, environment));
    commands_.open(commands);
    ASSERT_TRUE(sandbox_.WaitForProcess(program_->pid()));
  }

  // Tells the program something, and waits until it has done it.
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
  }

  std::string Pid() const { return std::to_string(program_->pid()); }
  void Start() { Switch("start"); }
  void Stop() { Switch("stop"); }
  void Switch(const std::string& command) {
    const Result result = sandbox_.Tpctl({command, Pid()});
    ASSERT_EQ(result.status, 0) << result.err;
  }

  std::string State() { return sandbox_.ProcessOf(program_->pid())["state"]; }
  Json Losses() { return sandbox_.ProcessOf(program_->pid())["losses"]; }

  // Of the kernels' view: how many of each name.
  std::map<std::string, long> Work() {
    std::map<std::string, long> counts;
    const Json table = sandbox_.Table({"--view", "kernels"});
    for (const Json& row : table["rows"]) {
      counts[row["name"]] = row["count"];
    }
    return counts;
  }
  Json Row(const std::string& operation) {
    return RowsByName(sandbox_.Table({"--view", "operations"}))[operation];
  }

  Sandbox sandbox_;
  std::unique_ptr<Program> program_;
  std::ofstream commands_;
  std::string told_;
};

std::map<std::string, long> Steps(long steps) {
  return {{"plain(int*)", steps},
          {"other(int*)", steps},
          {"Memcpy HtoD (Pinned -> Device)", steps},
          {"Memset (Device)", steps}};
}

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// Whether libcupti is in the process.
bool HasCupti(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libcupti") != line.npos) return true;
  }
  return false;
}

// Memory that the process uses.
long ResidentKb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

TEST_F(Control, ADormantProcessIsKnownAndNothingOfCuptiIsThere) {
  Run("dormant");
  Tell("work 5");
  EXPECT_EQ(State(), "dormant");
  EXPECT_TRUE(Work().empty());
  EXPECT_TRUE(sandbox_.Table({})["rows"].empty());
  EXPECT_FALSE(HasCupti(program_->pid()));
  Start();
  EXPECT_TRUE(HasCupti(program_->pid()));
  EXPECT_EQ(State(), "capturing");
  EXPECT_NE(sandbox_.ProcessOf(program_->pid())["cupti_version"], 0);
  EXPECT_GE(sandbox_.ProcessOf(program_->pid())["driver_version"], 11000);
  Quit();
}

TEST_F(Control, AHundredTimesStartedAndStoppedCountsExactlyWhatWasCaptured) {
  Run("dormant");
  constexpr long kTimes = 100, kSteps = 3, kTimesOfAPhase = 10;
  Tell("work 2");
  Tell("push epoch");
  // A busy machine makes a program touch a few more pages now and then; what is kept of each
  // capture grows in every phase.
  long resident_kb = 0, least_growth_kb = LONG_MAX;
  for (long i = 1; i <= kTimes; ++i) {
    Start();
    Tell("work " + std::to_string(kSteps));
    Stop();
    Tell("work 1");
    if (i % kTimesOfAPhase != 0) continue;
    const long now_kb = ResidentKb(program_->pid());
    if (resident_kb != 0) least_growth_kb = std::min(least_growth_kb, now_kb - resident_kb);
    resident_kb = now_kb;
  }
  EXPECT_EQ(Work(), Steps(kTimes * kSteps));
  const std::map<std::string, Json> rows = RowsByName(sandbox_.Table({}));
  EXPECT_EQ(rows.at("step")["count"], kTimes * kSteps);
  EXPECT_EQ(rows.at("step")["kernel_count"], 2 * kTimes * kSteps);
  // The range around all counts with each of its captured parts, and has the device time of each.
  EXPECT_EQ(rows.at("epoch")["count"], kTimes);
  EXPECT_EQ(rows.at("epoch")["device_time_total_ns"], rows.at("step")["device_time_total_ns"]);
  EXPECT_EQ(rows.at("epoch")["self_device_time_total_ns"], 0);
  EXPECT_TRUE(Losses().empty()) << Losses();
  EXPECT_EQ(sandbox_.ProcessOf(program_->pid())["unattributed_count"], 0);
  EXPECT_LE(least_growth_kb, 16) << "something is kept of each capture";
  Quit();
  EXPECT_EQ(Work(), Steps(kTimes * kSteps)) << "the end brings nothing more";
}

TEST_F(Control, LaunchesInFullSwingAreExactWithinEachCapture) {
  Run("on");
  Stop();
  Tell("spin 4");
  struct Window {
    int64_t from_ns, to_ns;
  };
  std::vector<Window> windows;
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    Start();
    const int64_t from_ns = NowNs();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // For some work to be done.
    windows.push_back({from_ns, NowNs()});
    Stop();
  }
  Tell("rest");
  const Json spans = sandbox_.Table({"--view", "spans"});
  std::vector<long> whole(kTimes);
  long kernels_of_spans = 0, cut = 0;
  for (const Json& span : spans["rows"]) {
    const int64_t start_ns = span["start_ns"];
    const int64_t end_ns = start_ns + span["cpu_time_total_ns"].get<int64_t>();
    const long kernels = span["kernel_count"];
    kernels_of_spans += kernels;
    if (kernels != 2) ++cut;
    for (int i = 0; i < kTimes; ++i) {
      if (start_ns < windows[i].from_ns || end_ns > windows[i].to_ns) continue;
      ++whole[i];
      EXPECT_EQ(kernels, 2) << "in the middle of a capture";
    }
  }
  for (int i = 0; i < kTimes; ++i) EXPECT_GT(whole[i], 0) << i;
  EXPECT_LE(cut, 2 * 4 * kTimes) << "at the ends, one of each thread";
  const Json process = sandbox_.ProcessOf(program_->pid());
  EXPECT_TRUE(process["losses"].empty()) << process["losses"];
  EXPECT_EQ(Work()["plain(int*)"], kernels_of_spans + process["unattributed_count"].get<long>());
  EXPECT_LE(process["unattributed_count"], 4 * kTimes) << "calls that were under way at a start";
  Quit();
}

TEST_F(Control, WorkThatStillRunsAtAStopIsCountedAndWhatRanBeforeAStartIsNot) {
  Run("dormant", {{"SIMCUDA_KERNEL_COST", "lengthy=300000000"}});
  Tell("launch 1");
  Start();  // While it runs.
  Tell("push outer");
  Tell("launch 2");
  Stop();  // While they wait for it.
  Tell("pop");
  Tell("launch 1");
  Tell("sync");
  std::map<std::string, long> work;
  for (int i = 0; i < 100 && work["lengthy(int*)"] < 2; ++i) work = Work();
  EXPECT_EQ(work["lengthy(int*)"], 2);
  EXPECT_EQ(Row("outer")["kernel_count"], 2);
  EXPECT_TRUE(Losses().empty()) << Losses();
  Quit();
  EXPECT_EQ(Work()["lengthy(int*)"], 2);
}

TEST_F(Control, WorkThatRunsLongAfterAStopComesWhenATableIsAskedFor) {
  Run("on", {{"SIMCUDA_KERNEL_COST", "lengthy=3000000000"}});
  Tell("launch 1");
  Stop();
  Tell("sync");
  EXPECT_EQ(Work()["lengthy(int*)"], 1);
  EXPECT_EQ(State(), "dormant");
  Quit();
  EXPECT_EQ(Work()["lengthy(int*)"], 1);
}

TEST_F(Control, ARangeCountsWithItsCapturedPart) {
  Run("dormant");
  Tell("push outer");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const int64_t before_ns = NowNs();
  Start();
  Tell("work 1");
  Stop();
  const int64_t captured_ns = NowNs() - before_ns;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Json outer = Row("outer");
  EXPECT_EQ(outer["count"], 1);
  EXPECT_LE(outer["cpu_time_total_ns"], captured_ns);
  EXPECT_EQ(outer["device_time_total_ns"], Row("step")["device_time_total_ns"]);
  EXPECT_GT(outer["device_time_total_ns"], 0);
  Tell("pop");
  EXPECT_EQ(Row("outer"), outer) << "what follows the stop changes nothing";
  bool is_told = false;
  const Json table = sandbox_.Table({});
  for (const Json& note : table["notes"]) {
    is_told |= note.get<std::string>().find("2 ranges were open") == 0;
  }
  EXPECT_TRUE(is_told);
  Quit();
}

TEST_F(Control, ATableShowsWorkThatHasJustEnded) {
  Run("on");
  for (long i = 1; i <= 10; ++i) {
    Tell("work 1");
    EXPECT_EQ(Work(), Steps(i));
  }
  EXPECT_EQ(Row("step")["count"], 10);
  Quit();
}

TEST_F(Control, WhatIsCollectedChangesWhileItIsCaptured) {
  Run("on");
  Tell("work 2");
  Result result = sandbox_.Tpctl({"start", Pid(), "--activities", "kernels,runtime"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find(") is captured: kernels, runtime\n"), std::string::npos) << result.out;
  Tell("work 3");
  EXPECT_EQ(Work(), (std::map<std::string, long>{{"plain(int*)", 5},
                                                 {"other(int*)", 5},
                                                 {"Memcpy HtoD (Pinned -> Device)", 2},
                                                 {"Memset (Device)", 2}}));
  Stop();
  Tell("work 1");
  // While it is stopped; and words of the default.
  result = sandbox_.Tpctl({"start", Pid(), "--activities", "-kernels"});
  EXPECT_EQ(result.status, 0) << result.err;
  Tell("work 4");
  auto work = Work();
  EXPECT_EQ(work["plain(int*)"], 5);
  EXPECT_EQ(work["Memset (Device)"], 6);
  EXPECT_TRUE(Losses().empty()) << Losses();
  Quit();

  result = sandbox_.Tpctl({"start", Pid(), "--activities", "kernels,kopies"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err.find("tpctl: 'kopies': not to be collected; there are kernels, copies"), 0u)
      << result.err;
}

TEST_F(Control, TheDoctorTellsWhyAProcessIsNotCaptured) {
  Run("dormant");
  Tell("work 1");
  Result result = sandbox_.Tpctl({"doctor", Pid()});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_NE(result.out.find("dormant"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("-> tpctl start " + Pid()), std::string::npos) << result.out;
  Start();
  result = sandbox_.Tpctl({"doctor", Pid()});
  EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_NE(result.out.find("libcupti.so"), std::string::npos) << result.out;
  sandbox_.KillDaemon();
  result = sandbox_.Tpctl({"doctor", Pid()});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.out.find("problem  daemon"), std::string::npos) << result.out;
  Quit();
}

TEST_F(Control, OnesThatCannotCaptureSayWhy) {
  Run("dormant", {{"SIMCUPTI_FAULTS", "error=cuptiActivityEnable:7"}});
  Result result = sandbox_.Tpctl({"start", Pid()});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("disabled: cuptiActivityEnable failed"), std::string::npos)
      << result.err;
  Tell("work 1");
  EXPECT_EQ(sandbox_.Tpctl({"stop", Pid()}).status, 0);
  Quit();
  result = sandbox_.Tpctl({"start", Pid()});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("has ended"), std::string::npos) << result.err;
}

TEST_F(Control, AProgramIsMeantByItsCommandOrAllOfThemAtOnce) {
  Run("dormant");
  Result result = sandbox_.Tpctl({"start", "on_command"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(State(), "capturing");
  EXPECT_EQ(sandbox_.Tpctl({"stop", "--all"}).status, 0);
  EXPECT_EQ(State(), "dormant");
  for (const char* other : {"no_such_program", "1"}) {
    result = sandbox_.Tpctl({"start", other});
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find(Pid() + " (on_command"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("dormant"), std::string::npos) << result.err;
  }
  Quit();
}

TEST_F(Control, AStopOutlastsTheDaemon) {
  Run("on");
  Tell("work 2");
  Stop();
  Tell("work 2");
  sandbox_.KillDaemon();
  sandbox_.StartDaemon();
  ASSERT_TRUE(sandbox_.WaitForProcess(program_->pid()));
  EXPECT_EQ(State(), "dormant");
  Start();
  Tell("work 1");
  // The daemon that is gone may not have acknowledged the first two steps: then they come again.
  const auto work = Work();
  EXPECT_TRUE(work == Steps(1) || work == Steps(3)) << testing::PrintToString(work);
  Quit();
}

}  // namespace
}  // namespace tp::test

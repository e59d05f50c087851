// What is collected, by TP_ACTIVITIES: each kind arrives with exact counts where it is shown, what
// is not asked for does not come, and the program never notices.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

constexpr int kRounds = 6;

class Activities : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  // Runs the program untraced and traced with these activities; the outputs must be the same.
  pid_t Run(const std::string& activities, const Environment& more = {}) {
    const Arguments command = {Sandbox::Built("tests/programs/activities"), "--rounds",
                               std::to_string(kRounds)};
    Environment traced = sandbox_.Traced();
    if (!activities.empty()) traced.emplace_back("TP_ACTIVITIES", activities);
    traced.insert(traced.end(), more.begin(), more.end());
    traced.emplace_back("TP_LOG_FILE", sandbox_.folder() + "/collector.log");
    const Result before = sandbox_.Run(command, sandbox_.Untraced());
    Program program = sandbox_.Start(command, traced);
    const Result with = program.Wait();
    EXPECT_EQ(before.status, 0) << before.out;
    EXPECT_EQ(with.status, 0);
    EXPECT_EQ(with.out, before.out);
    EXPECT_EQ(with.err, before.err);
    return program.pid();
  }
  Json Table(pid_t pid, const std::string& view) {
    return sandbox_.Table({"--pid", std::to_string(pid), "--view", view});
  }
  std::map<std::string, Json> Rows(pid_t pid, const std::string& view) {
    return RowsByName(Table(pid, view));
  }
  std::set<std::string> Domains(pid_t pid) {
    std::set<std::string> domains;
    for (const auto& [name, row] : Rows(pid, "api")) domains.insert(row["domain"]);
    return domains;
  }

  Sandbox sandbox_;
};

TEST_F(Activities, ByDefaultKernelsTellHowTheyWereLaunchedAndChattyCallsAreLeftOut) {
  const pid_t pid = Run("");
  const Json process = sandbox_.ProcessOf(pid);
  EXPECT_EQ(process["activities"],
            (Json{"kernels", "copies", "fills", "runtime", "driver", "compilations", "overhead"}));
  EXPECT_TRUE(process["losses"].empty()) << process["losses"];

  const Json shaped = Rows(pid, "kernels")["shaped(int*)"];
  EXPECT_EQ(shaped["count"], 2 * kRounds);
  EXPECT_TRUE(shaped["grid"].is_null()) << "half of the grids are larger";
  EXPECT_EQ(shaped["block"], (Json{256, 1, 1}));
  EXPECT_EQ(shaped["avg_blocks"], 3.0);
  EXPECT_EQ(shaped["avg_threads_per_block"], 256.0);
  EXPECT_EQ(shaped["avg_dynamic_shared_bytes"], 2048.0);
  EXPECT_GT(shaped["avg_registers_per_thread"], 0);
  EXPECT_TRUE(shaped["avg_queued_to_start_ns"].is_null()) << "was not asked for";

  const Json api = Table(pid, "api");
  std::map<std::string, Json> calls = RowsByName(api);
  EXPECT_EQ(calls.count("cudaGetLastError"), 0u);
  EXPECT_EQ(calls.count("cudaGetDevice"), 0u);
  EXPECT_EQ(calls["cudaEventSynchronize"]["count"], kRounds);
  ASSERT_EQ(api["notes"].size(), 1u) << api["notes"];
  EXPECT_NE(api["notes"][0].get<std::string>().find("+chatty"), std::string::npos);
  const std::set<std::string> domains = Domains(pid);
  EXPECT_EQ(domains.count("synchronization"), 0u);
  EXPECT_EQ(domains.count("overhead"), 1u);
}

TEST_F(Activities, WithoutCallsItIsSaidWhyNoWorkHasAnOperation) {
  for (const auto& [activities, is_said] :
       {std::pair("kernels", true), {"kernels,runtime", false}, {"kernels,driver", false}}) {
    const pid_t pid = Run(activities);
    EXPECT_EQ(sandbox_.ProcessOf(pid)["unattributed_count"] > 0, is_said) << activities;
    const std::string notes = Table(pid, "operations")["notes"].dump();
    EXPECT_EQ(notes.find("(TP_ACTIVITIES), no device work has an operation") != notes.npos, is_said)
        << notes;
  }
}

TEST_F(Activities, AGraphsKernelsBelongToItsLaunchAndShowTheirCapture) {
  const pid_t pid = Run("+captures", {{"TP_PRIORITY", "us"}});
  std::map<std::string, Json> rows = Rows(pid, "operations");
  const Json kernel = Rows(pid, "kernels")["captured(int*)"];
  EXPECT_EQ(kernel["count"], 3 * kRounds);
  EXPECT_EQ(rows["replay"]["kernel_count"], 3 * kRounds);
  EXPECT_EQ(rows["replay"]["self_device_time_total_ns"], kernel["total_ns"]);
  EXPECT_EQ(rows["replay"]["captured_kernel_count"], 0);
  EXPECT_EQ(rows["capture"]["kernel_count"], 0);
  EXPECT_EQ(rows["capture"]["captured_kernel_count"], 3 * kRounds);
  EXPECT_EQ(rows["capture"]["captured_device_time_ns"], kernel["total_ns"]);
  EXPECT_EQ(rows["instantiate"]["captured_kernel_count"], 0);
  EXPECT_EQ(sandbox_.ProcessOf(pid)["unattributed_count"], 0);
}

TEST_F(Activities, CapturesNeedTheOneSubscriberAndSaySo) {
  const pid_t pid = Run("+captures");
  std::map<std::string, Json> rows = Rows(pid, "operations");
  EXPECT_EQ(rows["replay"]["kernel_count"], 3 * kRounds);
  EXPECT_EQ(rows["capture"]["captured_kernel_count"], 0);
  const Json words = sandbox_.ProcessOf(pid)["activities"];
  EXPECT_EQ(std::count(words.begin(), words.end(), "captures"), 0);
  const Result ps = sandbox_.Tpctl({"ps"});
  EXPECT_NE(ps.err.find("TP_PRIORITY=us"), std::string::npos) << ps.err;
}

TEST_F(Activities, GraphsAsAWholeTakeThePlaceOfTheirNodes) {
  const pid_t pid = Run("+graphs");
  std::map<std::string, Json> kernels = Rows(pid, "kernels");
  EXPECT_EQ(kernels.count("captured(int*)"), 0u);
  EXPECT_EQ(kernels["shaped(int*)"]["count"], 2 * kRounds);
  int64_t graphs = 0, graphs_ns = 0;
  for (const auto& [name, row] : kernels) {
    if (row["kind"] != "g") continue;
    EXPECT_EQ(name.rfind("CUDA graph ", 0), 0u) << name;
    graphs += row["count"].get<int64_t>();
    graphs_ns += row["total_ns"].get<int64_t>();
  }
  EXPECT_EQ(graphs, kRounds);
  const Json replay = Rows(pid, "operations")["replay"];
  EXPECT_EQ(replay["self_device_time_total_ns"], graphs_ns);
  EXPECT_EQ(sandbox_.ProcessOf(pid)["events"]["graphs"], kRounds);
}

TEST_F(Activities, WaitsTellWhatWasWaitedFor) {
  const pid_t pid = Run("+synchronization");
  std::map<std::string, Json> calls = Rows(pid, "api");
  EXPECT_EQ(calls["stream synchronize"]["count"], kRounds + 1);
  EXPECT_EQ(calls["stream synchronize"]["domain"], "synchronization");
  EXPECT_EQ(calls["event synchronize"]["count"], kRounds);
  EXPECT_EQ(calls["stream wait event"]["count"], kRounds);
  EXPECT_EQ(calls["context synchronize"]["count"], kRounds);
  // The program's one stream: its synchronizations, and the waits that it was made to do.
  const Json streams = Table(pid, "streams");
  int64_t waits = 0;
  for (const Json& row : streams["rows"]) waits += row["wait_count"].get<int64_t>();
  EXPECT_GE(waits, 2 * kRounds + 1);
  // They are no device time.
  const Json kernels = Table(pid, "kernels");
  int64_t device_ns = 0;
  for (const Json& row : kernels["rows"]) device_ns += row["total_ns"].get<int64_t>();
  EXPECT_EQ(kernels["totals"]["device_time_total_ns"], device_ns);
}

TEST_F(Activities, MemoryIsExactByKind) {
  const pid_t pid = Run("+memory");
  constexpr int64_t kBytes = 1 << 20;
  std::map<std::string, Json> rows;
  const Json memory = Table(pid, "memory");
  for (const Json& row : memory["rows"]) {
    rows[row["kind"].get<std::string>() + (row["from_pool"] ? " pool" : "")] = row;
  }
  for (const char* kind : {"pinned", "managed"}) {
    EXPECT_EQ(rows[kind]["allocations"], kRounds) << kind;
    EXPECT_EQ(rows[kind]["releases"], kRounds - 1) << kind;
    EXPECT_EQ(rows[kind]["allocated_bytes"], kRounds * kBytes) << kind;
    EXPECT_EQ(rows[kind]["live_bytes"], kBytes) << kind;
    EXPECT_EQ(rows[kind]["peak_bytes"], kBytes) << kind;
    EXPECT_EQ(rows[kind]["unknown_releases"], 0) << kind;
  }
  EXPECT_EQ(rows["device"]["allocations"], kRounds + 1);
  EXPECT_EQ(rows["device"]["live_bytes"], 2 * kBytes);
  EXPECT_EQ(rows["device pool"]["allocations"], kRounds);
  EXPECT_EQ(rows["device pool"]["releases"], kRounds - 1);
  EXPECT_EQ(rows["device pool"]["live_bytes"], kBytes);
  EXPECT_EQ(rows["pool"]["allocations"], kRounds);
  EXPECT_EQ(rows["pool"]["releases"], kRounds);
  EXPECT_EQ(rows["pool"]["live_bytes"], 0);
  const Result text = sandbox_.Tpctl({"table", "--view", "memory", "--pid", std::to_string(pid)});
  EXPECT_NE(text.out.find("device, from a pool"), std::string::npos) << text.out << text.err;
}

TEST_F(Activities, MemoryThatIsNotCollectedIsSaidToBe) {
  const pid_t pid = Run("");
  const Json memory = Table(pid, "memory");
  EXPECT_TRUE(memory["rows"].empty());
  ASSERT_EQ(memory["notes"].size(), 1u);
  EXPECT_NE(memory["notes"][0].get<std::string>().find("+memory"), std::string::npos);
}

TEST_F(Activities, ChattyCallsAndTimesInTheQueueComeWhenAskedFor) {
  const pid_t pid = Run("+chatty,+latency");
  std::map<std::string, Json> calls = Rows(pid, "api");
  EXPECT_EQ(calls["cudaGetLastError"]["count"], 2 * kRounds);
  EXPECT_EQ(calls["cudaGetDevice"]["count"], 2 * kRounds);
  EXPECT_TRUE(Table(pid, "api")["notes"].empty());
  const Json shaped = Rows(pid, "kernels")["shaped(int*)"];
  EXPECT_GT(shaped["avg_queued_to_start_ns"], 0);
  EXPECT_GE(shaped["avg_queued_to_start_ns"], shaped["avg_submitted_to_start_ns"]);
}

TEST_F(Activities, OnlyWhatIsNamedIsCollected) {
  const pid_t pid = Run("kernels,runtime");
  const Json process = sandbox_.ProcessOf(pid);
  EXPECT_EQ(process["activities"], (Json{"kernels", "runtime"}));
  EXPECT_EQ(process["events"]["driver_calls"], 0);
  EXPECT_EQ(process["events"].count("overhead"), 0u);
  EXPECT_EQ(process["events"]["kernels"], 5 * kRounds);
  EXPECT_EQ(Domains(pid), (std::set<std::string>{"runtime"}));
}

TEST_F(Activities, AWordThatIsNoneIsNamedAndChangesNothingElse) {
  const pid_t pid = Run("+memroy");
  const Json process = sandbox_.ProcessOf(pid);
  EXPECT_EQ(process["state"], "gone");
  EXPECT_EQ(process["events"]["kernels"], 5 * kRounds);
  const Result ps = sandbox_.Tpctl({"ps"});
  EXPECT_NE(ps.err.find("+memroy"), std::string::npos) << ps.err;
}

}  // namespace
}  // namespace tp::test

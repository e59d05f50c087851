// Names and properties of things: what the program, the system and CUPTI say of streams, threads
// and devices is shown where they are, and each daemon is told.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

class Names : public testing::Test {
 protected:
  // Until the program has named all.
  void Start(const Environment& more = {}) {
    sandbox_.StartDaemon();
    fifo_ = sandbox_.folder() + "/go";
    ASSERT_EQ(mkfifo(fifo_.c_str(), 0600), 0);
    Environment environment = sandbox_.Traced();
    environment.insert(environment.end(), more.begin(), more.end());
    program_ = std::make_unique<Program>(
        sandbox_.Start({Sandbox::Built("tests/programs/names"), fifo_}, environment));
    ASSERT_TRUE(program_->WaitForOut("named\n")) << program_->Out() << program_->Err();
    ASSERT_TRUE(sandbox_.WaitForProcess(program_->pid()));
  }
  void Finish() {
    std::ofstream(fifo_) << "go" << std::endl;
    const Result result = program_->Wait();
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.out, "named\n10 kernels\n");
    EXPECT_EQ(result.err, "");
  }

  Json Table(const std::string& view) {
    return sandbox_.Table({"--view", view, "--pid", std::to_string(program_->pid())});
  }
  // By name; what has none under "".
  std::map<std::string, Json> Streams() {
    std::map<std::string, Json> streams;
    const Json table = Table("streams");
    EXPECT_EQ(table["rows"].size(), 4u) << table;
    for (const Json& row : table["rows"]) {
      streams[row["name"].is_null() ? "" : row["name"].get<std::string>()] = row;
    }
    return streams;
  }
  void ExpectNamedStreams() {
    std::map<std::string, Json> streams = Streams();
    ASSERT_EQ(streams.size(), 4u);
    EXPECT_EQ(streams["default"]["kind"], "default");
    EXPECT_EQ(streams["copies"]["kind"], "non-blocking");
    EXPECT_EQ(streams["copies"]["priority"], -1);
    EXPECT_EQ(streams["compute"]["kind"], "blocking");
    EXPECT_EQ(streams["compute"]["priority"], 0);
    EXPECT_EQ(streams[""]["kind"], "blocking");
  }

  Sandbox sandbox_;
  std::string fifo_;
  std::unique_ptr<Program> program_;
};

TEST_F(Names, AreShownBesideStreamsThreadsAndDevices) {
  Start();
  ExpectNamedStreams();
  std::map<std::string, std::string> thread_of_range;
  const Json spans = Table("spans");
  for (const Json& row : spans["rows"]) {
    thread_of_range[row["name"]] =
        row["thread_name"].is_null() ? "" : row["thread_name"].get<std::string>();
  }
  EXPECT_EQ(thread_of_range["by the chief"], "chief");
  EXPECT_EQ(thread_of_range["by the worker"], "worker (1)");
  EXPECT_EQ(thread_of_range["by the loader"], "lädt") << "the program's word wins";

  const Json process = sandbox_.ProcessOf(program_->pid());
  ASSERT_EQ(process["devices"].size(), 1u) << process;
  const Json device = process["devices"][0];
  EXPECT_EQ(device["device"], 0);
  EXPECT_EQ(device["given_name"], "the only one");
  EXPECT_EQ(device["contexts"], 1);
  const std::string name = device["name"];
  EXPECT_FALSE(name.empty());
  EXPECT_FALSE(device["compute_capability"].is_null());
  EXPECT_GT(device["memory_bytes"], 1 << 20);
  EXPECT_GT(device["multiprocessors"], 0);

  const Result text = sandbox_.Tpctl({"table", "--view", "streams"});
  EXPECT_NE(text.out.find("copies"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("Device 0 (the only one, " + name + "): busy"), std::string::npos)
      << text.out;
  EXPECT_NE(sandbox_.Tpctl({"ps"}).out.find(name), std::string::npos);
  const Result top = sandbox_.Tpctl({"top", "--once", "--view", "streams"});
  EXPECT_NE(top.out.find("(compute)"), std::string::npos) << top.out;
  EXPECT_NE(top.out.find(name), std::string::npos) << top.out;
  Finish();
  EXPECT_TRUE(sandbox_.ProcessOf(program_->pid())["losses"].empty());
}

TEST_F(Names, ANewDaemonIsToldAllOfThem) {
  Start();
  ExpectNamedStreams();  // Asks the collector for all that it has.
  const Json before = sandbox_.ProcessOf(program_->pid())["devices"];
  sandbox_.KillDaemon();
  sandbox_.StartDaemon();
  ASSERT_TRUE(sandbox_.WaitForProcess(program_->pid()));
  Finish();
  ExpectNamedStreams();
  EXPECT_EQ(sandbox_.ProcessOf(program_->pid())["devices"], before);
}

TEST_F(Names, OfWhatWasThereBeforeCapturingBeganArePropertiesKnown) {
  Start({{"TP_COLLECT", "dormant"}});
  ASSERT_EQ(sandbox_.Tpctl({"start", std::to_string(program_->pid())}).status, 0);
  Finish();
  std::map<std::string, int> kinds;
  const Json table = Table("streams");
  for (const Json& row : table["rows"]) ++kinds[row["kind"]];
  EXPECT_EQ(kinds,
            (std::map<std::string, int>{{"default", 1}, {"blocking", 2}, {"non-blocking", 1}}));
  EXPECT_EQ(sandbox_.ProcessOf(program_->pid())["devices"][0]["given_name"], "the only one");
}

class NamesOfVersion : public Names, public testing::WithParamInterface<const char*> {};

TEST_P(NamesOfVersion, AreTheSame) {
  Start({{"SIMCUPTI_VERSION", GetParam()}});
  ExpectNamedStreams();
  const Json process = sandbox_.ProcessOf(program_->pid());
  ASSERT_EQ(process["devices"].size(), 1u);
  EXPECT_FALSE(process["devices"][0]["name"].is_null());
  Finish();
}
INSTANTIATE_TEST_SUITE_P(Cupti, NamesOfVersion,
                         testing::Values("11.0", "11.8", "12.0", "12.9", "13.0", "13.3", "13.5"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

}  // namespace
}  // namespace tp::test

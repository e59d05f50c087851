// Capture files: what `tpctl record` and `tpctl run -o` write gives the tables that the daemon
// gives of the same time, whatever happens on the way.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kViews = {"operations", "kernels", "copies",   "api",  "processes",
                                         "streams",    "memory",  "counters", "spans"};

// A traced program that does what it is told (tests/programs/on_command).
class Commanded {
 public:
  Commanded(Sandbox* sandbox, const std::string& name, const Environment& more = {}) {
    const std::string commands = sandbox->folder() + "/" + name;
    EXPECT_EQ(mkfifo(commands.c_str(), 0600), 0);
    Environment environment = sandbox->Traced();
    environment.insert(environment.end(), more.begin(), more.end());
    program_ = std::make_unique<Program>(
        sandbox->Start({Sandbox::Built("tests/programs/on_command"), commands}, environment));
    commands_.open(commands);
  }

  void Tell(const std::string& line) {
    commands_ << line << std::endl;
    told_ += "done " + line + "\n";
    ASSERT_TRUE(program_->WaitForOut(told_)) << program_->Out() << program_->Err();
  }
  void Quit() {
    commands_ << "quit" << std::endl;
    EXPECT_EQ(program_->Wait().status, 0);
  }
  Program& program() { return *program_; }
  pid_t pid() const { return program_->pid(); }

 private:
  std::unique_ptr<Program> program_;
  std::ofstream commands_;
  std::string told_;
};

class Record : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  std::string Path(const std::string& name) const { return sandbox_.folder() + "/" + name; }

  // Begins a recording and waits until it has begun.
  Program Begin(const std::string& path, Arguments options = {}) {
    Arguments arguments = {Sandbox::Built("tools/tpctl"), "record", "-o", path};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Program recorder = sandbox_.Start(arguments, sandbox_.Untraced());
    // The first block is written within a second.
    while (recorder.running() &&
           (!std::filesystem::exists(path) || std::filesystem::file_size(path) < 30)) {
      usleep(10'000);
    }
    return recorder;
  }

  std::string EndInOrder(Program* recorder, int signal = SIGINT) {
    recorder->Signal(signal);
    const Result result = recorder->Wait();
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  Json TableOf(const std::string& path, Arguments options = {}) {
    options.insert(options.end(), {"--input", path});
    return sandbox_.Table(options);
  }

  // All views, to the last digit.
  void ExpectSameTables(const std::string& path, const Arguments& options = {}) {
    for (const std::string& view : kViews) {
      SCOPED_TRACE(view);
      Arguments arguments = {"--view", view};
      arguments.insert(arguments.end(), options.begin(), options.end());
      EXPECT_EQ(TableOf(path, arguments), sandbox_.Table(arguments));
    }
  }

  Sandbox sandbox_;
};

std::map<std::string, long> Counts(const Json& table) {
  std::map<std::string, long> counts;
  for (const Json& row : table["rows"]) counts[row["name"]] = row["count"];
  return counts;
}

std::map<std::string, long> Steps(long steps) {
  return {{"plain(int*)", steps},
          {"other(int*)", steps},
          {"Memcpy HtoD (Pinned -> Device)", steps},
          {"Memset (Device)", steps}};
}

TEST_F(Record, OfProcessesThatComeLaterHasTheTablesOfTheDaemon) {
  Program recorder = Begin(Path("all.tpcap"));
  Commanded first(&sandbox_, "first", {{"TP_ACTIVITIES", "+memory,synchronization,latency"}});
  Commanded second(&sandbox_, "second");
  first.Tell("push outer");
  first.Tell("work 30");
  second.Tell("work 20");
  first.Tell("pop");
  first.Quit();
  second.Quit();
  ASSERT_TRUE(sandbox_.WaitForState(first.pid(), "gone"));
  ASSERT_TRUE(sandbox_.WaitForState(second.pid(), "gone"));
  EXPECT_THAT(EndInOrder(&recorder), HasSubstr("of 2 processes"));
  ExpectSameTables(Path("all.tpcap"));
  ExpectSameTables(Path("all.tpcap"), {"--pid", std::to_string(second.pid())});
  EXPECT_EQ(Counts(TableOf(Path("all.tpcap"), {"--view", "kernels"})), Steps(50));
}

TEST_F(Record, ThatBeginsInTheMiddleHoldsWhatCameSince) {
  Commanded program(&sandbox_, "commands");
  program.Tell("push outer");
  program.Tell("work 40");
  Program recorder = Begin(Path("middle.tpcap"), {"--pid", std::to_string(program.pid())});
  program.Tell("work 7");
  EndInOrder(&recorder, SIGTERM);
  program.Tell("work 5");
  program.Tell("pop");

  const Json kernels = TableOf(Path("middle.tpcap"), {"--view", "kernels"});
  EXPECT_EQ(Counts(kernels), Steps(7));
  const std::map<std::string, Json> rows = RowsByName(TableOf(Path("middle.tpcap")));
  ASSERT_EQ(rows.count("step"), 1u);
  ASSERT_EQ(rows.count("outer"), 1u);
  EXPECT_EQ(rows.at("step")["count"], 7);
  EXPECT_EQ(rows.at("outer")["count"], 1);
  // It was open already: it counts from when the recording began, and what it contains is known
  // from then on.
  const int64_t outer = rows.at("outer")["cpu_time_total_ns"];
  EXPECT_EQ(rows.at("outer")["self_cpu_time_total_ns"].get<int64_t>(),
            outer - rows.at("step")["cpu_time_total_ns"].get<int64_t>());
  EXPECT_GE(rows.at("outer")["device_time_total_ns"], rows.at("step")["device_time_total_ns"]);
  bool told = false;
  for (const std::string note : kernels["notes"]) {
    told |= note.find("1 operation was open when the recording began") != note.npos;
  }
  EXPECT_TRUE(told) << kernels["notes"];
  program.Quit();
}

TEST_F(Record, TwiceAtTheSameTimeGivesTheSame) {
  Program one = Begin(Path("one.tpcap"));
  Program two = Begin(Path("two.tpcap"));
  Commanded program(&sandbox_, "commands");
  program.Tell("work 25");
  program.Quit();
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "gone"));
  EndInOrder(&one);
  EndInOrder(&two);
  ExpectSameTables(Path("one.tpcap"));
  ExpectSameTables(Path("two.tpcap"));
}

TEST_F(Record, EndsByItselfAfterItsTime) {
  const Result result =
      sandbox_.Tpctl({"record", "--duration", "300ms", "-o", Path("short.tpcap")});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("recorded 0 events of 0 processes"));
  EXPECT_EQ(result.err.find('\r'), std::string::npos) << "progress is for terminals";
  const Result table = sandbox_.Tpctl({"table", "--input", Path("short.tpcap")});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(table.out, "");
}

TEST_F(Record, OfACommandHasAllThatItStartsAndNothingElse) {
  Commanded other(&sandbox_, "other");
  other.Tell("work 3");
  const std::string commands = Path("commands");
  std::ofstream(commands) << "work 11\nquit\n";
  const std::string program = Sandbox::Built("tests/programs/on_command");
  const Result result = sandbox_.Run(
      {Sandbox::Built("tools/tpctl"), "run", "-o", Path("run.tpcap"), "--", "/bin/sh", "-c",
       program + " " + commands + "; (" + program + " " + commands + " &); sleep 2; exit 5"},
      sandbox_.Untraced());
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("of 2 processes"));
  other.Tell("work 3");
  const Json table = TableOf(Path("run.tpcap"), {"--view", "kernels"});
  EXPECT_EQ(Counts(table), Steps(22));
  EXPECT_EQ(table["losses"], Json::object());
  other.Quit();
}

TEST_F(Record, HasNamesOfFramesThatOnlyTheDaemonCouldTell) {
  Program recorder = Begin(Path("stacks.tpcap"));
  const Result program = sandbox_.Run(
      {Sandbox::Built("tests/programs/stacks"), Sandbox::Built("tests/programs/stack_plugin.so")},
      [&] {
        Environment environment = sandbox_.Traced();
        environment.emplace_back("TP_STACKS", "16");
        return environment;
      }());
  ASSERT_EQ(program.status, 0) << program.err;
  EndInOrder(&recorder);
  const Json live = sandbox_.Table({"--group-by-stack", "16"});
  EXPECT_EQ(TableOf(Path("stacks.tpcap"), {"--group-by-stack", "16"})["rows"], live["rows"]);
}

TEST_F(Record, KilledLeavesAFileThatCanBeRead) {
  Program recorder = Begin(Path("killed.tpcap"));
  Commanded program(&sandbox_, "commands");
  program.Tell("work 12");
  ASSERT_TRUE(sandbox_.WaitForProcess(program.pid()));
  // Blocks are written once a second.
  while (Counts(TableOf(Path("killed.tpcap"), {"--view", "kernels"})) != Steps(12)) usleep(50'000);
  recorder.Signal(SIGKILL);
  EXPECT_EQ(recorder.Wait().status, 128 + SIGKILL);
  const Json table = TableOf(Path("killed.tpcap"), {"--view", "kernels"});
  EXPECT_EQ(Counts(table), Steps(12));
  EXPECT_THAT(table["notes"].dump(), HasSubstr("the recording has no end"));
  program.Quit();
}

TEST_F(Record, EndsWithTheDaemonAndSaysSo) {
  Program recorder = Begin(Path("daemon.tpcap"));
  Commanded program(&sandbox_, "commands");
  program.Tell("work 12");
  while (Counts(TableOf(Path("daemon.tpcap"), {"--view", "kernels"})) != Steps(12)) usleep(50'000);
  sandbox_.KillDaemon();
  const Result result = recorder.Wait();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("the daemon has ended"));
  const Json table = TableOf(Path("daemon.tpcap"), {"--view", "kernels"});
  EXPECT_EQ(Counts(table), Steps(12));
  EXPECT_THAT(table["notes"].dump(), HasSubstr("the recording ended early: the daemon has ended"));
  program.Quit();
}

TEST_F(Record, WithoutADaemonSaysSoAndWritesNothing) {
  sandbox_.StopDaemon();
  const Result result = sandbox_.Tpctl({"record", "-o", Path("none.tpcap")});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.err, HasSubstr("no daemon at"));
  EXPECT_FALSE(std::filesystem::exists(Path("none.tpcap")));
}

TEST_F(Record, OfAProcessEndsWithIt) {
  Commanded program(&sandbox_, "commands");
  program.Tell("work 2");
  const std::string pid = std::to_string(program.pid());
  Program recorder = Begin(Path("ends.tpcap"), {"--pid", pid});
  program.Tell("work 4");
  program.Quit();
  const Result result = recorder.Wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Counts(TableOf(Path("ends.tpcap"), {"--view", "kernels"})), Steps(4));
  const Result again = sandbox_.Tpctl({"record", "--pid", pid, "-o", Path("none.tpcap")});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("has ended: nothing more comes of it"));
}

TEST_F(Record, OfAnUnknownProcessNamesThoseThatThereAre) {
  const Result result = sandbox_.Tpctl({"record", "--pid", "1", "-o", Path("none.tpcap")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("no process 1 is traced here"));
  EXPECT_FALSE(std::filesystem::exists(Path("none.tpcap")));
}

TEST_F(Record, IsReadByExportAndMerge) {
  Program recorder = Begin(Path("step.tpcap"));
  Commanded program(&sandbox_, "commands");
  program.Tell("work 9");
  program.Quit();
  ASSERT_TRUE(sandbox_.WaitForState(program.pid(), "gone"));
  EndInOrder(&recorder);
  const Json captured = TableOf(Path("step.tpcap"));

  Result result = sandbox_.Tpctl({"export", "--input", Path("step.tpcap"), "--format",
                                  "chrome-torch", "-o", Path("trace.json.gz")});
  EXPECT_EQ(result.status, 0) << result.err;
  const std::map<std::string, Json> rows = RowsByName(TableOf(Path("trace.json.gz")));
  ASSERT_EQ(rows.count("step"), 1u);
  for (const Json& row : captured["rows"]) {
    for (const char* number : {"count", "cpu_time_total_ns", "self_cpu_time_total_ns",
                               "device_time_total_ns", "self_device_time_total_ns"}) {
      EXPECT_EQ(rows.at(row["name"])[number], row[number]) << row["name"] << " " << number;
    }
  }
  EXPECT_EQ(Counts(TableOf(Path("trace.json.gz"), {"--view", "kernels"})), Steps(9));
  EXPECT_EQ(Counts(TableOf(Path("trace.json.gz"), {"--view", "api"})),
            Counts(TableOf(Path("step.tpcap"), {"--view", "api"})));

  result = sandbox_.Tpctl(
      {"merge", Path("step.tpcap"), Path("trace.json.gz"), "-o", Path("merged.json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Counts(TableOf(Path("merged.json"), {"--view", "kernels"})), Steps(18));
  std::ostringstream merged;
  merged << std::ifstream(Path("merged.json")).rdbuf();
  EXPECT_NE(merged.str().find("\"file\": \"step.tpcap\""), std::string::npos);
}

long ResidentKilobytes(pid_t pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  long pages = 0;
  statm >> pages >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// Stopped, it reads nothing; the daemon goes on, keeps what the queue may hold and no more, and
// what found no room is counted in the file.
TEST_F(Record, ThatHangsCostsABoundedAmountAndKnowsWhatItLacks) {
  Commanded program(&sandbox_, "commands", {{"TP_ACTIVITIES", "+latency"}});
  program.Tell("work 1");
  sandbox_.Table({});  // All of that comes before the recording.
  Program recorder = Begin(Path("hung.tpcap"));
  recorder.Signal(SIGSTOP);
  const long before = ResidentKilobytes(sandbox_.daemon_pid());
  const auto events = [&] {
    long count = 0;
    const Json process = sandbox_.ProcessOf(program.pid());
    for (const auto& [kind, number] : process["events"].items()) {
      count += number.get<long>();
    }
    return count;
  };
  // More than the queue holds: an event takes some nine bytes.
  const long begun = events();
  program.Tell("spin 2");
  while (events() < begun + 1'300'000) usleep(100'000);
  program.Tell("rest");
  EXPECT_LT(ResidentKilobytes(sandbox_.daemon_pid()) - before, 100 << 10);
  recorder.Signal(SIGCONT);
  // It catches up, and records what comes then.
  while (RowsByName(TableOf(Path("hung.tpcap"))).count("after") == 0) {
    program.Tell("push after");
    program.Tell("work 1");
    program.Tell("pop");
    usleep(100'000);
  }
  EXPECT_THAT(EndInOrder(&recorder), HasSubstr("because this recorder was slow"));
  program.Quit();

  const Json table = TableOf(Path("hung.tpcap"), {"--view", "processes"});
  ASSERT_EQ(table["rows"].size(), 1u);
  // What it has, and what it knows that it lacks, is what the daemon has had since.
  const long had = sandbox_.ProcessOf(program.pid())["events"]["kernels"];
  EXPECT_EQ(table["rows"][0]["events"]["kernels"].get<long>() +
                table["losses"]["kernels"]["recorder was slow"].get<long>() + 2,
            had);
}

}  // namespace
}  // namespace tp::test

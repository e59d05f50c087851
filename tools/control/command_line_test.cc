#include "tools/control/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "proto/version.h"
#include "tools/control/exit_status.h"
#include "tools/control/fake_daemon.h"

namespace tp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

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

int LinesIn(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

std::string Answered(const query::Request& request) {
  return FakeDaemon::Framed(SampleResponse(request));
}

// A daemon that traces nothing.
std::string AnsweredWithNothing(const query::Request& request) {
  query::Response response;
  if (request.has_table()) {
    response.mutable_table()->set_view(request.table().view());
  } else if (request.has_processes()) {
    response.mutable_processes();
  } else {
    response = SampleResponse(request);
  }
  return FakeDaemon::Framed(response);
}

TEST(CommandLine, EveryCommandHasHelpWithAnExample) {
  for (std::vector<std::string> command :
       std::vector<std::vector<std::string>>{{},
                                             {"run"},
                                             {"top"},
                                             {"table"},
                                             {"export"},
                                             {"merge"},
                                             {"ps"},
                                             {"daemon"},
                                             {"daemon", "start"},
                                             {"daemon", "stop"},
                                             {"daemon", "status"},
                                             {"completion"},
                                             {"completion", "bash"}}) {
    for (const char* option : {"--help", "-h"}) {
      std::vector<std::string> arguments = command;
      arguments.push_back(option);
      const Outcome outcome = Tpctl(arguments);
      EXPECT_EQ(outcome.status, kDone);
      EXPECT_THAT(outcome.out, HasSubstr("tpctl"));
      EXPECT_THAT(outcome.out, HasSubstr("Examples:\n"));
      EXPECT_THAT(outcome.errors, IsEmpty());
    }
  }
}

TEST(CommandLine, SaysItsVersion) {
  EXPECT_EQ(Tpctl({"--version"}).out, std::string("tpctl ") + kVersion + "\n");
}

TEST(CommandLine, AMistakeIsOneLineAndExitStatus2) {
  const std::vector<std::vector<std::string>> mistakes = {
      {},
      {"bogus"},
      {"table", "--bogus"},
      {"table", "extra"},
      {"table", "--view", "bogus"},
      {"table", "--view"},
      {"table", "--pid", "0"},
      {"table", "--pid", "abc"},
      {"table", "--pid", "2147483648"},
      {"table", "--pid", "12x"},
      {"table", "--row-limit", "many"},
      {"table", "--group-by-stack", "-1"},
      {"table", "--time-unit", "h"},
      {"table", "--max-name-width", "2"},
      {"table", "--format", "xml"},
      {"table", "--input", "/no/such/file"},
      {"table", "--input", ""},
      {"top", "--once", "--input", ""},
      {"export", "--format", "stacks", "--input", "", "-o", "/no/such/file"},
      {"export", "--format", "stacks", "-o", ""},
      {"merge", "/no/such/file", "-o", ""},
      {"merge", "", "-o", "/no/such/file"},
      {"table", "--window", "10s"},
      {"top", "--view", "spans"},
      {"top", "--interval", "0"},
      {"top", "--interval", "nan"},
      {"top", "--format", "json"},
      {"ps", "--format", ""},
      {"daemon"},
      {"daemon", "restart"},
      {"completion", "tcsh"},
      {"run"},
      {"run", "--"},
      {"run", "-o", "file", "--", "true"},
      {"table", "--view", "a\nb\x1b[31m"},
  };
  for (const std::vector<std::string>& arguments : mistakes) {
    const Outcome outcome = Tpctl(arguments);
    EXPECT_EQ(outcome.status, kBadInput) << ::testing::PrintToString(arguments);
    EXPECT_EQ(LinesIn(outcome.errors), 1) << outcome.errors;
    EXPECT_THAT(outcome.errors, StartsWith("tpctl: "));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(CommandLine, AWrongValueIsToldWithTheRightOnes) {
  EXPECT_THAT(Tpctl({"table", "--view", "kernel"}).errors,
              AllOf(HasSubstr("'kernel'"), HasSubstr("kernels"), HasSubstr("streams"),
                    HasSubstr("tpctl table --help")));
}

TEST(CommandLine, AMisspeltCommandIsToldWithTheRightOnes) {
  EXPECT_EQ(Tpctl({"tabel"}).errors,
            "tpctl: 'tabel' is no command; there are run, top, table, export, merge, ps, attach, "
            "detach, start, stop, doctor, daemon, completion; did you mean table? (see `tpctl "
            "--help`)\n");
  EXPECT_EQ(Tpctl({"daemon", "restart"}).errors,
            "tpctl: 'restart' is no command; there are start, stop, status; did you mean start? "
            "(see `tpctl daemon --help`)\n");
  EXPECT_THAT(Tpctl({"table", "--sortby", "count"}).errors,
              HasSubstr("'--sortby' is no option; did you mean --sort-by?"));
  EXPECT_THAT(Tpctl({"table", "--limit=4"}).errors, Not(HasSubstr("did you mean")));
  EXPECT_THAT(Tpctl({}).errors, HasSubstr("a command is missing, one of run, top"));
}

TEST(CommandLine, WithoutADaemonTheExitStatusIs3) {
  setenv("TP_SOCKET", "/tmp/there-is-no-such-daemon.sock", 1);
  for (std::vector<std::string> arguments : std::vector<std::vector<std::string>>{
           {"ps"}, {"table"}, {"top", "--once"}, {"daemon", "status"}, {"daemon", "stop"}}) {
    const Outcome outcome = Tpctl(arguments);
    EXPECT_EQ(outcome.status, kNoDaemon) << arguments[0];
    EXPECT_EQ(LinesIn(outcome.errors), 1) << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("tpctl daemon start"));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Table, AsksForWhatTheOptionsSay) {
  FakeDaemon daemon(Answered);
  EXPECT_EQ(Tpctl({"table", "--pid", "4242", "--view", "kernels", "--group-by-shape",
                   "--group-by-stack", "3", "--top-level"})
                .status,
            kDone);
  ASSERT_EQ(daemon.requests().size(), 1u);
  const query::TableRequest request = daemon.requests()[0].table();
  EXPECT_EQ(request.pid(), 4242);
  EXPECT_EQ(request.view(), query::KERNELS);
  EXPECT_TRUE(request.group_by_shape());
  EXPECT_EQ(request.group_by_stack(), 3u);
  EXPECT_TRUE(request.top_level());
  EXPECT_TRUE(request.flush());
}

TEST(Table, StdoutHasTheTableAloneAndStderrTheLosses) {
  FakeDaemon daemon(Answered);
  const Outcome outcome = Tpctl({"table"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("aten::mm"), Not(HasSubstr("lost"))));
  EXPECT_EQ(outcome.errors, "lost: 120 kernels (dropped by CUPTI)\n");
}

TEST(Table, JsonIsOneObjectWithTheLossesInside) {
  FakeDaemon daemon(Answered);
  const Outcome outcome = Tpctl({"table", "--format", "json"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.errors, IsEmpty());
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("view"), "operations");
  EXPECT_EQ(json.at("rows").size(), 4u);
  EXPECT_TRUE(json.contains("losses"));
}

TEST(Table, CsvHasATitleLineAndALineForEachRow) {
  FakeDaemon daemon(Answered);
  const Outcome outcome = Tpctl({"table", "--view", "kernels", "--format", "csv"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_EQ(LinesIn(outcome.out), 4);
  EXPECT_THAT(outcome.out, StartsWith("name,"));
}

TEST(Table, RowLimitHoldsAndNoneMeansAll) {
  FakeDaemon daemon(Answered);
  EXPECT_THAT(Tpctl({"table", "--row-limit", "1", "--sort-by", "name"}).out,
              AllOf(HasSubstr("aten::add_"), Not(HasSubstr("aten::mm"))));
  for (const char* all : {"none", "-1"}) {
    EXPECT_THAT(Tpctl({"table", "--row-limit", all}).out, HasSubstr("train step"));
  }
}

TEST(Table, AnUnknownSortKeyListsTheKeys) {
  FakeDaemon daemon(Answered);
  for (std::vector<std::string> arguments : std::vector<std::vector<std::string>>{
           {"table", "--sort-by", "bogus"}, {"top", "--once", "--sort-by", "bogus"}}) {
    const Outcome outcome = Tpctl(arguments);
    EXPECT_EQ(outcome.status, kBadInput);
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr("self_cpu_time"), HasSubstr("count")));
    EXPECT_EQ(LinesIn(outcome.errors), 1);
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Table, NamesCannotReachTheTerminal) {
  FakeDaemon daemon([](const query::Request& request) {
    query::Response response = SampleResponse(request);
    if (response.has_table()) {
      response.mutable_table()->mutable_operations(0)->set_name("\x1b[2Jevil\nname");
      response.mutable_table()->mutable_losses(0)->set_cause("\x1b[2J");
      response.mutable_table()->add_notes("\x1b[2J");
    }
    return FakeDaemon::Framed(response);
  });
  for (std::vector<std::string> arguments :
       std::vector<std::vector<std::string>>{{"table"}, {"top", "--once"}}) {
    const Outcome outcome = Tpctl(arguments);
    EXPECT_THAT(outcome.out, AllOf(Not(HasSubstr("\x1b")), HasSubstr("\\x1b[2Jevil\\nname")));
    EXPECT_THAT(outcome.errors, Not(HasSubstr("\x1b")));
  }
}

TEST(Table, SpansLeftOutByTheUsualLimitAreTold) {
  FakeDaemon daemon([](const query::Request& request) {
    query::Response response = SampleResponse(request);
    while (response.has_table() && response.table().operations_size() < 150) {
      response.mutable_table()->add_operations()->set_name("span");
    }
    return FakeDaemon::Framed(response);
  });
  EXPECT_THAT(Tpctl({"table", "--view", "spans"}).errors,
              HasSubstr("100 of 150 spans: --row-limit none shows all"));
  EXPECT_THAT(Tpctl({"table", "--view", "spans", "--row-limit", "9"}).errors,
              Not(HasSubstr("of 150")));
}

TEST(Table, AFileWithoutRowsIsNamed) {
  const std::string path = ::testing::TempDir() + "/trace.json";
  std::ofstream(path) << R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "mm",)"
                      << R"("pid": 1, "tid": 1, "ts": 1, "dur": 1}]})";
  EXPECT_THAT(Tpctl({"table", "--input", path, "--view", "copies"}).errors,
              HasSubstr(path + " has nothing for the view `copies`"));
  EXPECT_THAT(Tpctl({"top", "--once", "--input", path, "--view", "copies"}).out,
              HasSubstr("has nothing for the view `copies`"));
  unlink(path.c_str());
}

TEST(Table, AnEmptyTableIsExplained) {
  FakeDaemon daemon(AnsweredWithNothing);
  const Outcome outcome = Tpctl({"table"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.errors, HasSubstr("tpctl run -- ./app"));
  EXPECT_EQ(nlohmann::json::parse(Tpctl({"table", "--format", "json"}).out).at("rows").size(), 0u);
}

TEST(Processes, ListsStateReasonEventsAndVersion) {
  FakeDaemon daemon(Answered);
  const Outcome outcome = Tpctl({"ps"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("4242"), HasSubstr("python train.py"), HasSubstr("capturing"),
                    HasSubstr("dormant"), HasSubstr("it has made no CUDA call yet")));
  const nlohmann::json json = nlohmann::json::parse(Tpctl({"ps", "--format", "json"}).out);
  ASSERT_EQ(json.at("rows").size(), 2u);
  EXPECT_EQ(json.at("rows").at(0).at("pid"), 4242);
}

TEST(Processes, NoneIsExplained) {
  FakeDaemon daemon(AnsweredWithNothing);
  const Outcome outcome = Tpctl({"ps"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.errors, HasSubstr("tpctl run -- ./app"));
}

TEST(TopOnce, IsOneScreenfulAsText) {
  setenv("COLUMNS", "100", 1);
  FakeDaemon daemon(Answered);
  const Outcome outcome = Tpctl({"top", "--once"});
  unsetenv("COLUMNS");
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.errors, IsEmpty());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("4242"), HasSubstr("GPU 0"), HasSubstr("aten::mm"),
                                 HasSubstr("LOST 120 kernels"), Not(HasSubstr("\x1b"))));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u);
}

TEST(TopOnce, WithNothingTracedSaysWhatToDo) {
  FakeDaemon daemon(AnsweredWithNothing);
  const Outcome outcome = Tpctl({"top", "--once"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("tpctl run -- ./app"), HasSubstr("LD_PRELOAD=")));
}

TEST(TopOnce, HasTheOtherFormatsToo) {
  FakeDaemon daemon(Answered);
  EXPECT_EQ(
      nlohmann::json::parse(Tpctl({"top", "--once", "--view", "kernels", "--format", "json"}).out)
          .at("view"),
      "kernels");
}

TEST(Top, WithoutATerminalNamesOnce) {
  const Outcome outcome = Tpctl({"top"});
  EXPECT_EQ(outcome.status, kWorkFailed);
  EXPECT_EQ(LinesIn(outcome.errors), 1);
  EXPECT_THAT(outcome.errors, HasSubstr("--once"));
}

TEST(Daemon, StatusHasEveryFormat) {
  FakeDaemon daemon(Answered);
  EXPECT_THAT(Tpctl({"daemon", "status"}).out,
              AllOf(HasSubstr("77"), HasSubstr("3m 12s"), HasSubstr("1,234,567"),
                    HasSubstr("/run/tp/tpd.sock")));
  const nlohmann::json json =
      nlohmann::json::parse(Tpctl({"daemon", "status", "--format", "json"}).out);
  EXPECT_EQ(json.at("uptime_ns"), 192'000'000'000);
  EXPECT_EQ(LinesIn(Tpctl({"daemon", "status", "--format", "csv"}).out), 2);
}

TEST(Daemon, StartingOneThatRunsSaysSo) {
  FakeDaemon daemon(Answered);
  const Outcome outcome = Tpctl({"daemon", "start"});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("already runs"), HasSubstr("77")));
}

TEST(Daemon, AProgramThatDoesNotStartIsToldWithItsOwnWords) {
  setenv("TP_SOCKET", "/tmp/there-is-no-such-daemon.sock", 1);
  setenv("TPD", "/bin/false", 1);
  Outcome outcome = Tpctl({"daemon", "start"});
  EXPECT_EQ(outcome.status, kWorkFailed);
  EXPECT_THAT(outcome.errors, HasSubstr("exit status 1"));
  setenv("TPD", "/no/such/tpd", 1);
  outcome = Tpctl({"daemon", "start"});
  EXPECT_EQ(outcome.status, kWorkFailed);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("/no/such/tpd"), HasSubstr("TPD")));
  unsetenv("TPD");
}

TEST(Failures, AreOneLineAndExitStatus1) {
  for (const std::string& answer : {std::string(), std::string("\x02\x08\x01"), [] {
                                      query::Response response;
                                      response.mutable_error()->set_message("no\nsuch\x1b view");
                                      return FakeDaemon::Framed(response);
                                    }()}) {
    FakeDaemon daemon([&](const query::Request&) { return answer; });
    for (std::vector<std::string> arguments : std::vector<std::vector<std::string>>{
             {"ps"}, {"table"}, {"top", "--once"}, {"daemon", "status"}}) {
      const Outcome outcome = Tpctl(arguments);
      EXPECT_EQ(outcome.status, kWorkFailed) << arguments[0];
      EXPECT_EQ(LinesIn(outcome.errors), 1) << outcome.errors;
      EXPECT_THAT(outcome.errors, Not(HasSubstr("\x1b")));
      EXPECT_THAT(outcome.out, IsEmpty());
    }
  }
}

TEST(Completion, KnowsCommandsOptionsAndValues) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome outcome = Tpctl({"completion", shell});
    EXPECT_EQ(outcome.status, kDone);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("table"), HasSubstr("group-by-shape"),
                                   HasSubstr("kernels"), HasSubstr("status")));
  }
}

// A command under `run`, with a daemon that knows no process of it.
class Run : public ::testing::Test {
 protected:
  Run() : daemon_(AnsweredWithNothing) { setenv("TP_COLLECTOR", "/bin/true", 1); }
  ~Run() override { unsetenv("TP_COLLECTOR"); }
  FakeDaemon daemon_;
};

// The loader ignores what it cannot preload, with a complaint: the environment is what these tests
// look at.
TEST_F(Run, HasTheCommandsExitStatus) {
  EXPECT_EQ(Tpctl({"run", "--", "/bin/sh", "-c", "exit 7"}).status, 7);
  EXPECT_EQ(Tpctl({"run", "/bin/sh", "-c", "exit 0"}).status, 0);
  EXPECT_EQ(Tpctl({"run", "--", "/bin/sh", "-c", "kill -9 $$"}).status, 128 + 9);
  EXPECT_EQ(Tpctl({"run", "--", "/bin/sh", "-c", "kill -TERM $$"}).status, 128 + 15);
}

TEST_F(Run, ACommandThatCannotBeRunIsToldAsShellsDo) {
  Outcome outcome = Tpctl({"run", "--", "/no/such/command"});
  EXPECT_EQ(outcome.status, kCommandNotFound);
  EXPECT_EQ(outcome.errors, "tpctl: cannot run /no/such/command: No such file or directory\n");
  EXPECT_EQ(Tpctl({"run", "--", "/etc/passwd"}).status, kCommandNotExecutable);
}

TEST_F(Run, PreloadsInFrontOfWhatIsSetAndKeepsTheUsersInjection) {
  const char* check =
      "test \"$LD_PRELOAD\" = \"$EXPECTED\" -a \"$CUDA_INJECTION64_PATH\" = /mine.so -a "
      "\"$NVTX_INJECTION64_PATH\" = \"$COLLECTOR\"";
  char* real = realpath("/bin/true", nullptr);
  setenv("COLLECTOR", real, 1);
  setenv("EXPECTED", (std::string(real) + ":/lib/other.so").c_str(), 1);
  setenv("LD_PRELOAD", "/lib/other.so", 1);
  setenv("CUDA_INJECTION64_PATH", "/mine.so", 1);
  const Outcome outcome = Tpctl({"run", "--", "/bin/sh", "-c", check});
  unsetenv("LD_PRELOAD");
  unsetenv("CUDA_INJECTION64_PATH");
  free(real);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("CUDA_INJECTION64_PATH=/mine.so is kept"));
}

TEST_F(Run, WithCublasPreloadsItsLibraryBehindTheCollector) {
  char folder[] = "/tmp/tp-cublas-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string collector = std::string(folder) + "/libtpcollect.so";
  const std::string shim = std::string(folder) + "/libtpcollect_cublas.so";
  std::ofstream(collector) << "no library";
  setenv("TP_COLLECTOR", collector.c_str(), 1);
  Outcome outcome = Tpctl({"run", "--cublas", "--", "/bin/true"});
  EXPECT_EQ(outcome.status, kWorkFailed);
  EXPECT_THAT(outcome.errors, HasSubstr(shim));
  EXPECT_EQ(LinesIn(outcome.errors), 1) << outcome.errors;

  std::ofstream(shim) << "no library";
  setenv("EXPECTED", (collector + ":" + shim + ":/lib/other.so").c_str(), 1);
  setenv("LD_PRELOAD", ("/lib/other.so:" + shim).c_str(), 1);
  outcome =
      Tpctl({"run", "--cublas", "--", "/bin/sh", "-c", "test \"$LD_PRELOAD\" = \"$EXPECTED\""});
  unsetenv("LD_PRELOAD");
  EXPECT_EQ(outcome.status, 0);
  unlink(shim.c_str());
  unlink(collector.c_str());
  rmdir(folder);
}

TEST_F(Run, OptionsOfTheCommandAreItsOwn) {
  EXPECT_EQ(Tpctl({"run", "--", "/bin/sh", "-c", "test \"$1\" = --help -a \"$2\" = --", "sh",
                   "--help", "--"})
                .status,
            0);
  EXPECT_EQ(Tpctl({"run", "/bin/sh", "-c", "test \"$1\" = -o", "sh", "-o"}).status, 0);
}

TEST_F(Run, SaysWhenNothingWasCaptured) {
  const Outcome outcome = Tpctl({"run", "--", "/bin/true"});
  EXPECT_THAT(outcome.errors, HasSubstr("made no CUDA call"));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST_F(Run, WithoutTheCollectorRunsNothing) {
  setenv("TP_COLLECTOR", "/no/such/library.so", 1);
  const Outcome outcome = Tpctl({"run", "--", "/bin/sh", "-c", "exit 7"});
  EXPECT_EQ(outcome.status, kWorkFailed);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("/no/such/library.so"), HasSubstr("TP_COLLECTOR")));
}

TEST(RunSummary, PrintsTheTablesOfTheProcess) {
  // The daemon has first seen it after the start, and it is gone.
  FakeDaemon daemon([](const query::Request& request) {
    query::Response response = SampleResponse(request);
    if (response.has_processes()) {
      query::Process* process = response.mutable_processes()->mutable_processes(0);
      process->set_state(query::GONE);
      process->set_connected_ns(INT64_MAX);
    }
    return FakeDaemon::Framed(response);
  });
  setenv("TP_COLLECTOR", "/bin/true", 1);
  const Outcome outcome = Tpctl({"run", "--", "/bin/true"});
  unsetenv("TP_COLLECTOR");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("process 4242, python train.py"),
                                    HasSubstr("aten::mm"), HasSubstr("cutlass"),
                                    HasSubstr("lost: 120 kernels"), Not(HasSubstr("loader.py"))));
}

}  // namespace
}  // namespace tp

// `tpctl export` and `tpctl merge`: the program itself, with files as users have them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tools/control/exit_status.h"

namespace tp {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kTrace[] = R"({"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 50, "tid": 50, "ts": 10, "dur": 20.5,
 "args": {"Call stack": "mm.py(3): mm;train.py(9): step"}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 50, "tid": 50, "ts": 12, "dur": 3,
 "args": {"correlation": 7}},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 5.25,
 "args": {"correlation": 7, "device": 0, "stream": 7}}
]})";

struct Outcome {
  int status = -1;  // As a shell says it.
  std::string out, errors;
};

class FileCommands : public ::testing::Test {
 protected:
  FileCommands() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    trace_ = Write("trace.json", kTrace);
  }
  ~FileCommands() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  static std::string Contents(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (name != "out" && name != "errors") files.push_back(name);
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  pid_t Start(std::vector<std::string> arguments, std::string out = "") const {
    const pid_t child = fork();
    if (child != 0) return child;
    if (out.empty()) out = Path("out");
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(Path("errors").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    Become(std::move(arguments));
  }
  [[noreturn]] static void Become(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tpctl");
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    execv("tools/tpctl", words.data());
    _exit(99);
  }
  Outcome Wait(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFSIGNALED(status) ? kKilledBySignal + WTERMSIG(status) : WEXITSTATUS(status),
            Contents(Path("out")), Contents(Path("errors"))};
  }
  Outcome Tpctl(std::vector<std::string> arguments) const {
    return Wait(Start(std::move(arguments)));
  }

  // Enough events to be met in the middle of them.
  std::string LargeTrace() const {
    std::string events;
    for (int i = 0; i < 1000; ++i) {
      if (i > 0) events += ',';
      events +=
          R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1})";
    }
    const gzFile file = gzopen(Path("large.json.gz").c_str(), "wb1");
    gzputs(file, "[");
    for (int i = 0; i < 200; ++i) {
      if (i > 0) gzputs(file, ",");
      gzwrite(file, events.data(), static_cast<unsigned>(events.size()));
    }
    gzputs(file, "]");
    gzclose(file);
    return Path("large.json.gz");
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("file_commands_" + std::to_string(getpid()));
  std::string trace_;
};

TEST_F(FileCommands, ExportWritesTracesOfBothFlavours) {
  for (const char* format : {"chrome", "chrome-torch"}) {
    const Outcome outcome =
        Tpctl({"export", "--input", trace_, "--format", format, "-o", Path("new.json")});
    EXPECT_EQ(outcome.status, kDone) << outcome.errors;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.errors, IsEmpty());
    const auto trace = nlohmann::json::parse(Contents(Path("new.json")));
    EXPECT_EQ(trace.contains("schemaVersion"), format == std::string("chrome-torch"));
    EXPECT_THAT(Files(), ElementsAre("new.json", "trace.json"));
  }
}

TEST_F(FileCommands, ExportWritesStacksToStandardOutput) {
  EXPECT_EQ(Tpctl({"export", "--input", trace_, "--format", "stacks", "-o", "-"}).out,
            "train.py(9): step;mm.py(3): mm 20\n");
  EXPECT_EQ(Tpctl({"export", "--input", trace_, "--format", "stacks", "--metric",
                   "self_cuda_time_total", "-o", "-"})
                .out,
            "train.py(9): step;mm.py(3): mm 5\n");
}

TEST_F(FileCommands, AnExportWithoutStacksSaysWhyItIsEmpty) {
  Write("none.json", R"({"traceEvents": []})");
  const Outcome outcome =
      Tpctl({"export", "--input", Path("none.json"), "--format", "stacks", "-o", Path("s.txt")});
  EXPECT_EQ(outcome.status, kDone);
  EXPECT_THAT(outcome.errors, HasSubstr("no span has both a stack and self_cpu_time"));
  EXPECT_EQ(Contents(Path("s.txt")), "");
}

TEST_F(FileCommands, AWrongExportIsOneLineAndLeavesNoFile) {
  const std::string new_file = Path("new.json");
  const std::string none = Write("none.txt", "no trace");
  struct Case {
    std::vector<std::string> arguments;
    int status;
    std::string complaint;
  };
  const std::vector<Case> cases = {
      {{"--format", "chrome", "-o", new_file}, kBadInput, "--input FILE"},
      {{"--input", trace_, "-o", new_file}, kBadInput, "--format"},
      {{"--input", trace_, "--format", "chrome"}, kBadInput, "--output"},
      {{"--input", trace_, "--format", "svg", "-o", new_file},
       kBadInput,
       "'svg' is none of chrome, chrome-torch, stacks"},
      {{"--input", trace_, "--format", "stacks", "--metric", "wall", "-o", new_file},
       kBadInput,
       "unsupported stack metric: wall (supported: self_cpu_time, "},
      {{"--input", trace_, "--format", "chrome", "--metric", "self_cpu_time", "-o", new_file},
       kBadInput,
       "--metric is for --format stacks"},
      {{"--input", none, "--format", "chrome", "-o", new_file}, kBadInput, none},
      {{"--input", Path("missing"), "--format", "chrome", "-o", new_file}, kBadInput, "missing"},
      {{"--input", trace_, "--pid", "5", "--format", "chrome", "-o", new_file},
       kBadInput,
       "either --pid"},
      {{"--pid", "5", "--format", "chrome", "-o", new_file},
       kWorkFailed,
       "process 5 has nothing to export"},
      {{"--input", trace_, "--format", "chrome", "-o", Path("no/folder.json")},
       kWorkFailed,
       "cannot write " + Path("no/folder.json") + ": No such file or directory"},
      {{"--input", trace_, "--format", "chrome", "-o", "/dev/full"},
       kWorkFailed,
       "cannot write /dev/full: No space left on device"},
  };
  for (const Case& one : cases) {
    std::vector<std::string> arguments = one.arguments;
    arguments.insert(arguments.begin(), "export");
    const Outcome outcome = Tpctl(arguments);
    EXPECT_EQ(outcome.status, one.status) << ::testing::PrintToString(arguments);
    EXPECT_THAT(outcome.errors, AllOf(StartsWith("tpctl: "), HasSubstr(one.complaint)));
    EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
    EXPECT_THAT(Files(), ElementsAre("none.txt", "trace.json"));
  }
}

TEST_F(FileCommands, MergeWritesOneTraceOfTheRanks) {
  const Outcome outcome = Tpctl({"merge", trace_, trace_, "-o", Path("job.json.gz")});
  EXPECT_EQ(outcome.status, kDone) << outcome.errors;
  EXPECT_THAT(outcome.errors, IsEmpty());
  const Outcome table =
      Tpctl({"table", "--input", Path("job.json.gz"), "--view", "kernels", "--format", "csv"});
  EXPECT_THAT(table.out, HasSubstr("gemm,k,2,10500,"));
}

TEST_F(FileCommands, AnInputThatCannotBeReadIsOneLineThatNamesIt) {
  fs::create_directory(Path("folder"));
  const std::string secret = Write("secret.json", kTrace);
  fs::permissions(secret, fs::perms::none);
  std::vector<std::pair<std::string, std::string>> inputs = {
      {Path("missing.json"), "cannot open " + Path("missing.json") + ": No such file or directory"},
      {Path("folder"), Path("folder") + " is a folder"},
      {Write("empty.json", ""), Path("empty.json") + " is no trace: the file is empty"},
      {Write("empty.sqlite", ""), Path("empty.sqlite") + " is no trace: the file is empty"},
      {"/dev/null", "/dev/null is no file (a pipe, or a device)"}};
  // Root may read everything.
  if (geteuid() != 0) inputs.emplace_back(secret, "cannot open " + secret + ": Permission denied");
  const std::string output = Path("new.json");
  for (const auto& [input, complaint] : inputs) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"table", "--input", input},
          {"export", "--input", input, "--format", "chrome", "-o", output},
          {"export", "--input", input, "--format", "stacks", "-o", output},
          {"merge", input, "-o", output}}) {
      const Outcome outcome = Tpctl(arguments);
      EXPECT_EQ(outcome.status, kBadInput) << ::testing::PrintToString(arguments);
      EXPECT_EQ(outcome.errors, "tpctl: " + complaint + "\n");
      EXPECT_EQ(outcome.out, "");
      EXPECT_FALSE(fs::exists(output));
    }
  }
}

TEST_F(FileCommands, AWrongMergeIsOneLineAndLeavesNoFile) {
  const std::string none = Write("none.txt", "no trace");
  const Outcome outcome = Tpctl({"merge", trace_, none, "-o", Path("job.json")});
  EXPECT_EQ(outcome.status, kBadInput);
  EXPECT_EQ(outcome.errors, "tpctl: " + none + " is no trace: the file is no JSON\n");
  EXPECT_EQ(Tpctl({"merge", "-o", Path("job.json")}).status, kBadInput);
  EXPECT_EQ(Tpctl({"merge", trace_}).status, kBadInput);
  EXPECT_THAT(Files(), ElementsAre("none.txt", "trace.json"));
}

TEST_F(FileCommands, AnInterruptLeavesNoHalfFileAndEndsTheProgram) {
  const std::string large = LargeTrace();
  for (int signal : {SIGINT, SIGTERM}) {
    const pid_t child = Start({"merge", large, large, "-o", Path("job.json")});
    // From the moment that there is something to leave behind.
    while (Files().size() < 3 && waitpid(child, nullptr, WNOHANG) == 0) poll(nullptr, 0, 1);
    kill(child, signal);
    EXPECT_EQ(Wait(child).status, kKilledBySignal + signal);
    EXPECT_THAT(Files(), ElementsAre("large.json.gz", "trace.json"));
  }
}

TEST_F(FileCommands, ATerminalSeesHowFarItIs) {
  int terminal = -1;
  const std::string large = LargeTrace();
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) Become({"merge", large, "-o", Path("job.json")});
  std::string shown;
  char bytes[4096];
  for (ssize_t got; (got = read(terminal, bytes, sizeof(bytes))) > 0;) shown.append(bytes, got);
  close(terminal);
  EXPECT_EQ(Wait(child).status, kDone);
  EXPECT_THAT(shown, AllOf(StartsWith("\rwriting: "), HasSubstr("\rwriting: 100%")));
  EXPECT_TRUE(shown.ends_with("\r\x1b[K")) << shown;
}

TEST_F(FileCommands, AFullDiskBehindStandardOutputIsAnError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"},
        {"--version"},
        {"table", "--help"},
        {"table", "--input", trace_},
        {"table", "--input", trace_, "--format", "json"},
        {"top", "--once", "--input", trace_},
        {"completion", "bash"},
        {"doctor"}}) {
    const Outcome outcome = Wait(Start(arguments, "/dev/full"));
    EXPECT_EQ(outcome.status, kWorkFailed) << ::testing::PrintToString(arguments);
    EXPECT_THAT(outcome.errors, HasSubstr("tpctl: cannot write to standard output"));
  }
}

TEST_F(FileCommands, ATraceThatIsDamagedOrNoneIsNamed) {
  const std::string lines = Write("lines.json", "{\"a\": 1}\n{\"a\": 2}\n");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"table", "--input", lines},
        {"merge", lines, lines, "-o", Path("new.json")}}) {
    const Outcome outcome = Tpctl(arguments);
    EXPECT_EQ(outcome.status, kBadInput);
    EXPECT_THAT(outcome.errors,
                AllOf(HasSubstr("lines.json is no trace"), HasSubstr("JSON Lines")));
  }
  const std::string cut = Path("cut.json.gz");
  fs::copy(LargeTrace(), cut);
  fs::resize_file(cut, fs::file_size(cut) / 2);
  EXPECT_THAT(Tpctl({"table", "--input", cut}).errors,
              HasSubstr("cut.json.gz: the gzipped data end in the middle"));
}

}  // namespace
}  // namespace tp

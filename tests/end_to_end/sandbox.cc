#include "tests/end_to_end/sandbox.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace tp::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_init();

// The sanitizer that this test, and with it the collector and the simulated CUDA, was built with:
// it has to be the first library of a program that nvcc compiled without it. Signals and leaks are
// the program's own business.
Environment Sanitizer() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&__asan_init), &info) == 0) return {};
  return {{"LD_PRELOAD", info.dli_fname},
          {"ASAN_OPTIONS",
           "detect_leaks=0:quarantine_size_mb=1:handle_segv=0:handle_abort=0:handle_sigbus=0:"
           "handle_sigfpe=0:allow_user_segv_handler=1:use_sigaltstack=0"}};
}
#else
Environment Sanitizer() { return {}; }
#endif

int StatusOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Until `done` says so, half a minute at most.
template <typename Done>
bool WaitUntil(Done&& done) {
  auto until = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace

Program::Program(const Arguments& arguments, const Environment& environment,
                 const std::string& folder) {
  static int count = 0;
  std::string base =
      folder + "/program-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  out_path_ = base + ".out";
  err_path_ = base + ".err";
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    int null = open("/dev/null", O_RDONLY);
    int out = open(out_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open(err_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(null, 0);
    dup2(out, 1);
    dup2(err, 2);
    for (int fd : {null, out, err}) {
      if (fd > 2) close(fd);
    }
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
}

Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      reaped_(other.reaped_),
      status_(other.status_),
      out_path_(std::move(other.out_path_)),
      err_path_(std::move(other.err_path_)) {}

Program::~Program() {
  if (pid_ < 0 || reaped_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Program::running() {
  if (!reaped_ && waitpid(pid_, &status_, WNOHANG) == pid_) reaped_ = true;
  return !reaped_;
}

void Program::Signal(int signal) const { kill(pid_, signal); }
std::string Program::Out() const { return ReadFile(out_path_); }
std::string Program::Err() const { return ReadFile(err_path_); }

bool Program::WaitForOut(const std::string& text) {
  auto there = [&] { return Out().find(text) != std::string::npos; };
  WaitUntil([&] { return there() || !running(); });
  return there();
}

Result Program::Wait() {
  if (!reaped_) waitpid(pid_, &status_, 0);
  reaped_ = true;
  return {StatusOf(status_), Out(), Err()};
}

Sandbox::Sandbox() {
  char folder[] = "/tmp/tp-e2e-XXXXXX";
  folder_ = mkdtemp(folder);
}

Sandbox::~Sandbox() {
  StopDaemon();
  if (testing::Test::HasFailure()) printf("the daemon's log:\n%s\n", DaemonLog().c_str());
  std::filesystem::remove_all(folder_);
}

void Sandbox::StartDaemon(const Arguments& options) {
  Arguments arguments = {Built("tools/tpd"), "--foreground", "--socket", socket()};
  arguments.insert(arguments.end(), options.begin(), options.end());
  daemon_ = new Program(arguments, Untraced(), folder_);
  ASSERT_TRUE(WaitUntil([&] {
    return !daemon_->running() || Tpctl({"daemon", "status"}).status == 0;
  }));
  ASSERT_TRUE(daemon_->running()) << daemon_->Err();
}

void Sandbox::KillDaemon() {
  ASSERT_NE(daemon_, nullptr);
  daemon_->Signal(SIGKILL);
  daemon_->Wait();
  delete daemon_;
  daemon_ = nullptr;
}

void Sandbox::StopDaemon() {
  if (daemon_ == nullptr) return;
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->Wait().status, 0) << DaemonLog();
  std::ofstream(folder_ + "/tpd.log", std::ios::app) << daemon_->Err();
  delete daemon_;
  daemon_ = nullptr;
}

std::string Sandbox::DaemonLog() const {
  return ReadFile(folder_ + "/tpd.log") + (daemon_ != nullptr ? daemon_->Err() : "");
}

std::string Sandbox::Built(const std::string& path) {
  return (std::filesystem::current_path() / path).string();
}

Environment Sandbox::Untraced() const {
  const char* libraries = getenv("TP_TEST_CUDA_LIBRARIES");
  Environment environment = {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"},
      {"HOME", folder_},
      {"LC_ALL", "C.UTF-8"},
      {"TP_SOCKET", socket()},
      {"LD_LIBRARY_PATH", libraries != nullptr ? libraries : Built("tests/simcuda")}};
  for (auto& variable : Sanitizer()) environment.push_back(std::move(variable));
  return environment;
}

void Preload(const std::string& library, Environment* environment) {
  for (auto& [name, value] : *environment) {
    if (name != "LD_PRELOAD") continue;
    value += ":" + library;
    return;
  }
  environment->emplace_back("LD_PRELOAD", library);
}

Environment Sandbox::Traced() const {
  Environment environment = Untraced();
  Preload(Built("collector/libtpcollect.so"), &environment);
  return environment;
}

Program Sandbox::Start(const Arguments& arguments, const Environment& environment) {
  return Program(arguments, environment, folder_);
}

Result Sandbox::Run(const Arguments& arguments, const Environment& environment) {
  return Start(arguments, environment).Wait();
}

Result Sandbox::Tpctl(const Arguments& arguments) {
  Arguments all = {Built("tools/tpctl")};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return Run(all, Untraced());
}

nlohmann::json Sandbox::Table(const Arguments& options) {
  Arguments arguments = {"table", "--format", "json", "--row-limit", "-1"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  Result result = Tpctl(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  nlohmann::json table = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_FALSE(table.is_discarded()) << result.out;
  return table;
}

nlohmann::json Sandbox::Processes() {
  Result result = Tpctl({"ps", "--format", "json"});
  EXPECT_EQ(result.status, 0) << result.err;
  nlohmann::json processes = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_FALSE(processes.is_discarded()) << result.out;
  return processes;
}

bool Sandbox::WaitForProcess(pid_t pid) {
  return WaitUntil([&] { return !ProcessOf(pid).is_null(); });
}

bool Sandbox::WaitForState(pid_t pid, const std::string& state) {
  return WaitUntil([&] {
    nlohmann::json process = ProcessOf(pid);
    return !process.is_null() && process["state"] == state;
  });
}

std::string Sandbox::NotesOf(pid_t pid) {
  std::string prefix = "pid " + std::to_string(pid) + ": ", notes;
  nlohmann::json processes = Processes();
  for (const std::string note : processes["notes"]) {
    if (note.rfind(prefix, 0) == 0) notes += note.substr(prefix.size()) + "\n";
  }
  return notes;
}

nlohmann::json Sandbox::ProcessOf(pid_t pid) {
  nlohmann::json processes = Processes();
  const nlohmann::json& rows =
      processes.contains("rows") ? processes["rows"] : processes["processes"];
  for (const nlohmann::json& row : rows) {
    if (row["pid"] == pid) return row;
  }
  return nullptr;
}

std::map<std::string, nlohmann::json> RowsByName(const nlohmann::json& table) {
  std::map<std::string, nlohmann::json> rows;
  for (const nlohmann::json& row : table["rows"]) rows[row["name"]] = row;
  return rows;
}

}  // namespace tp::test

// A place of its own for an end-to-end test: a folder, a socket, the built daemon, tools and
// collector, and programs run under them on the simulated CUDA (or, with TP_TEST_CUDA_LIBRARIES set
// to a folder, on the CUDA there).
#ifndef TESTS_END_TO_END_SANDBOX_H_
#define TESTS_END_TO_END_SANDBOX_H_

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tp::test {

using Arguments = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

struct Result {
  int status = 0;  // Exit status; 128 + signal if one ended it.
  std::string out, err;
};

// Adds to the environment's LD_PRELOAD.
void Preload(const std::string& library, Environment* environment);

// A running program with its outputs going to files. Killed and reaped at the latest when it goes
// out of scope.
class Program {
 public:
  Program(const Arguments& arguments, const Environment& environment, const std::string& folder);
  ~Program();
  Program(Program&& other) noexcept;
  Program& operator=(Program&&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void Signal(int signal) const;
  std::string Out() const;  // So far.
  std::string Err() const;
  // Waits for `text` on its stdout; false if it ends or half a minute passes before.
  bool WaitForOut(const std::string& text);
  Result Wait();

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  std::string out_path_, err_path_;
};

class Sandbox {
 public:
  Sandbox();
  ~Sandbox();

  // Starts tpd in the foreground and waits until it listens.
  void StartDaemon(const Arguments& options = {});
  // SIGKILL, or SIGTERM and a clean end.
  void KillDaemon();
  void StopDaemon();
  std::string DaemonLog() const;
  pid_t daemon_pid() const { return daemon_ == nullptr ? -1 : daemon_->pid(); }

  // Where a built file is: "tests/programs/known_work".
  static std::string Built(const std::string& path);

  // The environment that a traced program has (LD_PRELOAD, libraries), and that of the same program
  // without us.
  Environment Traced() const;
  Environment Untraced() const;

  Program Start(const Arguments& arguments, const Environment& environment);
  Result Run(const Arguments& arguments, const Environment& environment);

  Result Tpctl(const Arguments& arguments);
  // `tpctl table --format json` with these options, once it holds (the processes' own flush takes a
  // moment after their end).
  nlohmann::json Table(const Arguments& options);
  nlohmann::json Processes();
  // Until the daemon knows the process; false if half a minute passes.
  bool WaitForProcess(pid_t pid);
  // The process's entry of `ps`; null if it is not there.
  nlohmann::json ProcessOf(pid_t pid);
  // What `ps` says beside the table on the process, a line each.
  std::string NotesOf(pid_t pid);
  // Until `ps` shows the process in this state; false if half a minute passes.
  bool WaitForState(pid_t pid, const std::string& state);

  const std::string& folder() const { return folder_; }
  std::string socket() const { return folder_ + "/tpd.sock"; }

 private:
  std::string folder_;
  Program* daemon_ = nullptr;
};

// Rows of a table by name.
std::map<std::string, nlohmann::json> RowsByName(const nlohmann::json& table);

}  // namespace tp::test

#endif  // TESTS_END_TO_END_SANDBOX_H_

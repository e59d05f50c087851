// `tpctl record`: writes what the traced processes send into a capture file.
#include <signal.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/control/command.h"
#include "tools/control/exit_status.h"
#include "tools/control/progress_line.h"
#include "tools/control/quantity.h"
#include "tools/control/recording.h"
#include "tools/control/terminal_text.h"

namespace tp {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::milliseconds kBetweenLooks{100};

volatile sig_atomic_t end_is_wanted = 0;

// While it lives, signals that would end the program end the recording.
class EndingSignals {
 public:
  EndingSignals() {
    struct sigaction remember = {};
    remember.sa_handler = [](int) { end_is_wanted = 1; };
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      // What is ignored (nohup) stays so.
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &remember, nullptr);
    }
  }
  ~EndingSignals() {
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_;
};

struct RecordArguments {
  std::vector<int64_t> pids;
  nanoseconds duration = nanoseconds::max();
  std::string output;
};

int Record(const RecordArguments& arguments, std::ostream& errors) {
  const EndingSignals signals;
  query::RecordRequest request;
  for (const int64_t pid : arguments.pids) request.add_pids(pid);
  const absl::StatusOr<std::unique_ptr<Recording>> begun =
      Recording::Begin(arguments.output, request);
  if (!begun.ok()) return Fail(begun.status(), errors);
  Recording& recording = **begun;
  absl::Status status;
  {
    ProgressLine line(errors);
    while (status.ok() && end_is_wanted == 0 && !recording.is_over() &&
           recording.Elapsed() < arguments.duration) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(arguments.duration -
                                                                              recording.Elapsed());
      status = recording.Take(std::min(left, kBetweenLooks));
      line.Show(absl::StrCat("recording: ", recording.ProgressText(), " (Ctrl-C ends it)"));
    }
  }
  if (status.ok()) status = recording.End();
  errors << EscapeForTerminal(recording.Summary()) << "\n";
  return status.ok() ? kDone : Fail(status, errors);
}

}  // namespace

void AddRecordCommand(CLI::App* app, Action* action) {
  const auto arguments = std::make_shared<RecordArguments>();
  CLI::App* command = AddCommand(
      app, "record", "Write what traced processes do into a capture file",
      "  tpctl record -o job.tpcap                       all processes, until Ctrl-C\n"
      "  tpctl record --pid 4242 --duration 10s -o step.tpcap\n"
      "  tpctl table --input step.tpcap --view kernels\n"
      "\n"
      "Processes that come later are recorded too, unless --pid is given. Ends in good order at\n"
      "Ctrl-C, SIGTERM, after --duration, and with the processes that --pid names. `tpctl run -o "
      "FILE` records a command from its "
      "start.\n");
  command
      ->add_option("--pid", arguments->pids,
                   "Only this process; several times for several (default: all)")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("PID");
  command
      ->add_option_function<std::string>(
          "--duration",
          [arguments](const std::string& text) {
            const std::optional<int64_t> duration_ns = ParseDuration(text);
            if (!duration_ns.has_value()) {
              throw CLI::ValidationError(
                  "--duration",
                  absl::StrCat("'", text, "' is no time such as 500ms, 10s, 5m or 2h"));
            }
            arguments->duration = nanoseconds(*duration_ns);
          },
          "How long, as in 500ms, 10s, 5m or 2h (default: until Ctrl-C)")
      ->type_name("TIME");
  AddFileOption(command, "-o,--output", &arguments->output,
                "The capture file to write; -: standard output")
      ->required();
  command->callback([=] {
    *action = [arguments](std::ostream& out, std::ostream& errors) {
      out.flush();
      return Record(*arguments, errors);
    };
  });
}

}  // namespace tp

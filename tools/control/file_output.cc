#include "tools/control/file_output.h"

#include <signal.h>

#include <array>
#include <memory>

namespace tp {
namespace {

constexpr std::array<int, 4> kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

volatile sig_atomic_t ending_signal = 0;

void Remember(int signal) { ending_signal = signal; }

// While it lives, signals that would end the program are only remembered; afterwards they do.
class EndingPutOff {
 public:
  EndingPutOff() {
    struct sigaction remember = {};
    remember.sa_handler = Remember;  // Without SA_RESTART: a write that hangs is to return.
    for (size_t i = 0; i < kEndingSignals.size(); ++i) {
      sigaction(kEndingSignals[i], nullptr, &before_[i]);
      // What is ignored (nohup) stays so.
      if (before_[i].sa_handler != SIG_IGN) sigaction(kEndingSignals[i], &remember, nullptr);
    }
  }
  ~EndingPutOff() {
    for (size_t i = 0; i < kEndingSignals.size(); ++i) {
      sigaction(kEndingSignals[i], &before_[i], nullptr);
    }
    if (const int signal = ending_signal; signal != 0) raise(signal);
    ending_signal = 0;
  }
  static bool IsWanted() { return ending_signal != 0; }

 private:
  std::array<struct sigaction, kEndingSignals.size()> before_;
};

}  // namespace

absl::Status WriteFile(const std::string& path, std::ostream& errors,
                       const std::function<absl::Status(OutputFile*, const Progress&)>& write) {
  const EndingPutOff put_off;
  absl::StatusOr<std::unique_ptr<OutputFile>> file =
      OutputFile::Create(path, EndingPutOff::IsWanted);
  if (!file.ok()) return file.status();
  ProgressLine line(errors);
  absl::Status status = write(file->get(), line.Percent("writing"));
  return status.ok() ? (*file)->Finish() : status;
}

}  // namespace tp

#include "tools/inject/borrowed_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/inject/steps.h"

namespace tp {
namespace {

constexpr std::chrono::milliseconds kOneCall{200};
// A signal's handler needs as much; the call of pthread_create somewhat more.
constexpr uint64_t kStackBytes = 16 << 10;
// How the kernel says within itself that a call was interrupted.
constexpr long kRestart = -512, kRestartAlways = -513, kRestartNoHandler = -514,
               kRestartBlock = -516;

absl::Status Ended(pid_t process) {
  return absl::NotFoundError(absl::StrCat("process ", process, " has ended"));
}

absl::Status PtraceError(pid_t process, const char* what) {
  if (errno == ESRCH) return Ended(process);
  return absl::ErrnoToStatus(errno, what);
}

bool IsOneOf(long number, std::initializer_list<long> numbers) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// Calls that are made without a lock of the allocator's or the loader's, and that begin again, or
// go on, exactly where they were when they are interrupted.
bool IsExact(long number) {
  return IsOneOf(number, {SYS_read,      SYS_readv,           SYS_write,  SYS_writev,
                          SYS_recvfrom,  SYS_recvmsg,         SYS_sendto, SYS_sendmsg,
                          SYS_accept,    SYS_accept4,         SYS_wait4,  SYS_waitid,
                          SYS_poll,      SYS_ppoll,           SYS_select, SYS_pselect6,
                          SYS_nanosleep, SYS_clock_nanosleep, SYS_pause,  SYS_rt_sigsuspend,
                          SYS_flock,     SYS_restart_syscall});
}
// The kernel ends these with EINTR when they are interrupted, whoever does it: they are made again,
// with their whole time limit.
bool EndsWhenInterrupted(long number) {
  return IsOneOf(number,
                 {SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait,
                  SYS_semtimedop, SYS_semop, SYS_msgrcv, SYS_msgsnd, SYS_io_getevents, SYS_recvfrom,
                  SYS_recvmsg, SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg});
}
// Only before they have begun.
bool IsGoodAtEntry(long number) {
  return IsOneOf(
      number, {SYS_ioctl,        SYS_sched_yield, SYS_getpid,    SYS_gettid,   SYS_clock_gettime,
               SYS_gettimeofday, SYS_time,        SYS_futex,     SYS_lseek,    SYS_getcpu,
               SYS_kill,         SYS_tgkill,      SYS_getrusage, SYS_times,    SYS_sync_file_range,
               SYS_fsync,        SYS_fdatasync,   SYS_pread64,   SYS_pwrite64, SYS_connect});
}

bool IsGood(long number) { return RankOfCall(number) >= 0 && number >= 0; }

}  // namespace

int RankOfCall(long number) {
  if (IsExact(number)) return 0;
  // A lock may be what it waits for, but hardly holds one.
  if (number == SYS_futex) return 1;
  if (number == -1) return 2;
  if (EndsWhenInterrupted(number)) return 3;
  return -1;
}

BorrowedThread::BorrowedThread(pid_t process, pid_t thread)
    : process_(process), thread_(thread), memory_(std::make_unique<RemoteMemory>(process)) {}

BorrowedThread::BorrowedThread(BorrowedThread&& other) noexcept
    : process_(other.process_),
      thread_(other.thread_),
      places_(other.places_),
      memory_(std::move(other.memory_)),
      is_seized_(std::exchange(other.is_seized_, false)),
      is_stopped_(std::exchange(other.is_stopped_, false)),
      stop_status_(other.stop_status_),
      stopped_at_(other.stopped_at_),
      original_(other.original_),
      resumed_(other.resumed_),
      is_exact_needed_(other.is_exact_needed_),
      vectors_(std::move(other.vectors_)),
      signal_mask_(other.signal_mask_),
      frame_(std::move(other.frame_)),
      has_frame_(other.has_frame_),
      last_call_(other.last_call_),
      has_made_thread_(other.has_made_thread_) {}

BorrowedThread::~BorrowedThread() { GiveBack(); }

absl::StatusOr<BorrowedThread> BorrowedThread::Stop(pid_t process, pid_t thread,
                                                    const Surroundings& surroundings, Place place,
                                                    std::chrono::milliseconds patience) {
  BorrowedThread borrowed(process, thread);
  borrowed.places_ = surroundings.places;
  if (absl::Status seized = borrowed.Seize(); !seized.ok()) return seized;
  Step("seized");
  absl::Status found = borrowed.FindPlace(surroundings, place, Clock::now() + patience);
  if (found.ok()) {
    Step("stopped");
    found = borrowed.PrepareFrame(surroundings);
  }
  if (!found.ok()) return found;
  Step("framed");
  return borrowed;
}

absl::Status BorrowedThread::Seize() {
  if (ptrace(PTRACE_SEIZE, thread_, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
    return PtraceError(process_, "ptrace");
  }
  is_seized_ = true;
  return absl::OkStatus();
}

absl::Status BorrowedThread::WaitForStop(Clock::time_point end) {
  while (true) {
    const pid_t got = waitpid(thread_, &stop_status_, __WALL | WNOHANG);
    if (got == thread_) {
      if (!WIFSTOPPED(stop_status_)) {
        is_seized_ = is_stopped_ = false;
        return Ended(process_);
      }
      is_stopped_ = true;
      return absl::OkStatus();
    }
    if (got < 0 && errno != EINTR) {
      is_seized_ = is_stopped_ = false;
      return Ended(process_);
    }
    if (Clock::now() >= end) return absl::DeadlineExceededError("it did not stop");
    constexpr timespec kMoment = {0, 20'000};
    nanosleep(&kMoment, nullptr);
  }
}

absl::Status BorrowedThread::Run(int how, Clock::time_point end) {
  while (true) {
    // A signal on its way to the thread goes on its way; others are no signals.
    const int event = stop_status_ >> 16;
    const int number = WSTOPSIG(stop_status_);
    const bool is_signal = is_stopped_ && event == 0 && number != (SIGTRAP | 0x80);
    if (is_stopped_) {
      if (ptrace(static_cast<__ptrace_request>(how), thread_, nullptr, is_signal ? number : 0) !=
          0) {
        return PtraceError(process_, "ptrace");
      }
      is_stopped_ = false;
    }
    if (absl::Status stopped = WaitForStop(end); !stopped.ok()) return stopped;
    const bool is_call = WSTOPSIG(stop_status_) == (SIGTRAP | 0x80);
    if (is_call || stop_status_ >> 16 == PTRACE_EVENT_STOP) return absl::OkStatus();
  }
}

absl::Status BorrowedThread::Interrupt(Clock::time_point end) {
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) {
    return PtraceError(process_, "ptrace");
  }
  do {
    if (absl::Status stopped = Run(PTRACE_CONT, end); !stopped.ok()) return stopped;
  } while (stop_status_ >> 16 != PTRACE_EVENT_STOP);
  return absl::OkStatus();
}

absl::Status BorrowedThread::FindPlace(const Surroundings& surroundings, Place place,
                                       Clock::time_point end) {
  // While it is not stopped it must not be taken for it: an interrupt that comes to nothing is
  // withdrawn by the destructor's detaching.
  if (absl::Status stopped = Interrupt(end); !stopped.ok()) return stopped;
  stopped_at_ = Clock::now();
  const auto read = [&] { return ReadRegisters(thread_, &original_); };
  if (!read()) return PtraceError(process_, "reading registers");
  long number = SystemCallOf(original_);
  if (number >= 0) {
    const long result = ResultOf(original_);
    const bool is_interrupted = result == kRestart || result == kRestartAlways ||
                                result == kRestartNoHandler || result == kRestartBlock;
    const bool is_ended = result == -EINTR && EndsWhenInterrupted(number);
    if (IsGood(number) && (is_interrupted || is_ended)) {
      resumed_ = WithCallAgain(original_);
      is_exact_needed_ = result == kRestartBlock;
      return absl::OkStatus();
    }
  } else if (place == Place::kAnywhere) {
    const bool in_library =
        std::any_of(surroundings.library_code.begin(), surroundings.library_code.end(),
                    [&](const Mapping& code) { return code.Holds(Instruction(original_)); });
    if (in_library) return absl::UnavailableError("it is in the C library's code");
    resumed_ = original_;
    return absl::OkStatus();
  }
  if (place == Place::kAnywhere) return absl::UnavailableError("it is in a system call");
  // On to the next good call.
  while (true) {
    if (absl::Status stopped = Run(PTRACE_SYSCALL, end); !stopped.ok()) {
      return absl::IsDeadlineExceeded(stopped) ? absl::UnavailableError("it makes no system call")
                                               : stopped;
    }
    stopped_at_ = Clock::now();
    __ptrace_syscall_info info = {};
    if (WSTOPSIG(stop_status_) != (SIGTRAP | 0x80)) continue;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread_, sizeof(info), &info) <= 0) {
      return PtraceError(process_, "PTRACE_GET_SYSCALL_INFO");
    }
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    if (!read()) return PtraceError(process_, "reading registers");
    number = SystemCallOf(original_);
    if (!IsGood(number) && !IsGoodAtEntry(number)) continue;
    resumed_ = WithCallAgain(original_);
    return absl::OkStatus();
  }
}

absl::Status BorrowedThread::PrepareFrame(const Surroundings& surroundings) {
  if (!ReadVectors(thread_, &vectors_) ||
      ptrace(PTRACE_GETSIGMASK, thread_, sizeof(signal_mask_), &signal_mask_) != 0) {
    return PtraceError(process_, "reading registers");
  }
  const Mapping* stack = MappingAt(surroundings.mappings, StackPointer(original_));
  if (stack == nullptr || !stack->is_writable) {
    return absl::UnavailableError("its stack is not known");
  }
  frame_ = MakeFrame(resumed_, vectors_, signal_mask_, places_);
  if (frame_.address < stack->begin + kStackBytes) {
    return absl::UnavailableError("its stack has too little room");
  }
  if (!memory_->Write(frame_.address, frame_.bytes.data(), frame_.bytes.size())) {
    return absl::UnavailableError("its stack cannot be written to");
  }
  // Handlers would run in the middle of what we do; the frame brings the mask back as well.
  const uint64_t all = ~uint64_t{0};
  Registers end = ForHandlerEnd(original_, frame_, places_);
  if (!WriteRegisters(thread_, end) || ptrace(PTRACE_SETSIGMASK, thread_, sizeof(all), &all) != 0) {
    return PtraceError(process_, "writing registers");
  }
  has_frame_ = true;
  return absl::OkStatus();
}

absl::Status BorrowedThread::RunToEntry(long number, Clock::time_point end) {
  while (true) {
    if (absl::Status stopped = Run(PTRACE_SYSCALL, end); !stopped.ok()) return stopped;
    if (WSTOPSIG(stop_status_) != (SIGTRAP | 0x80)) continue;
    __ptrace_syscall_info info = {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread_, sizeof(info), &info) <= 0) {
      return PtraceError(process_, "PTRACE_GET_SYSCALL_INFO");
    }
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      has_made_thread_ |=
          (last_call_ == SYS_clone || last_call_ == SYS_clone3) && info.exit.rval > 0;
    } else if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      last_call_ = static_cast<long>(info.entry.nr);
      if (last_call_ == number) return absl::OkStatus();
    }
  }
}

absl::StatusOr<long> BorrowedThread::SystemCall(long number,
                                                const std::vector<uint64_t>& arguments) {
  const Clock::time_point end = Clock::now() + kOneCall;
  const Registers call = ForSystemCall(original_, frame_, places_, number, arguments);
  if (!WriteRegisters(thread_, call)) return PtraceError(process_, "writing registers");
  if (absl::Status entered = RunToEntry(number, end); !entered.ok()) return entered;
  __ptrace_syscall_info info = {};
  do {
    if (absl::Status stopped = Run(PTRACE_SYSCALL, end); !stopped.ok()) return stopped;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread_, sizeof(info), &info) <= 0) {
      return PtraceError(process_, "PTRACE_GET_SYSCALL_INFO");
    }
  } while (info.op != PTRACE_SYSCALL_INFO_EXIT);
  return static_cast<long>(info.exit.rval);
}

absl::Status BorrowedThread::Call(uint64_t function, uint64_t argument,
                                  std::chrono::milliseconds patience) {
  if (!WriteRegisters(thread_, ForCall(original_, frame_, function, argument))) {
    return PtraceError(process_, "writing registers");
  }
  const Clock::time_point end = Clock::now() + patience;
  Registers now = {};
  do {
    absl::Status entered = RunToEntry(SYS_rt_sigreturn, end);
    if (!entered.ok()) return entered;
    if (!ReadRegisters(thread_, &now)) return PtraceError(process_, "reading registers");
  } while (!IsAtHandlerEnd(now, frame_));
  return absl::OkStatus();
}

// Puts it back to where it was; it is stopped.
void BorrowedThread::Restore() {
  const Clock::time_point end = Clock::now() + kOneCall;
  // First to where the frame brings it back by itself.
  const Registers handler_end = ForHandlerEnd(original_, frame_, places_);
  if (!WriteRegisters(thread_, handler_end) || !is_exact_needed_) return;
  // The kernel takes an interrupted call up again only for a thread that it has stopped on its way
  // out of the kernel: not at a system call.
  if (stop_status_ >> 16 != PTRACE_EVENT_STOP && !Interrupt(end).ok()) return;
  if (!WriteVectors(thread_, vectors_) ||
      ptrace(PTRACE_SETSIGMASK, thread_, sizeof(signal_mask_), &signal_mask_) != 0) {
    return;
  }
  WriteRegisters(thread_, original_);
}

std::chrono::nanoseconds BorrowedThread::GiveBack() {
  if (!is_seized_) return {};
  const Clock::time_point end = Clock::now() + kOneCall;
  // What was called may not have come back: it is given up where it waits.
  if (!is_stopped_ && !Interrupt(end).ok() && !is_seized_) return {};
  if (has_frame_ && is_stopped_) Restore();
  if (is_seized_ && is_stopped_) {
    Step("restored");
    const bool is_signal = stop_status_ >> 16 == 0 && WSTOPSIG(stop_status_) != (SIGTRAP | 0x80);
    ptrace(PTRACE_DETACH, thread_, nullptr, is_signal ? WSTOPSIG(stop_status_) : 0);
  }
  is_seized_ = is_stopped_ = false;
  Step("detached");
  return Clock::now() - stopped_at_;
}

}  // namespace tp

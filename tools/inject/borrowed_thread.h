// A thread of another process that is stopped where it does no harm and made to do a few things for
// us, while all others run; it then goes on as if nothing had been. See architecture.h for how it
// finds its way back also without us.
//
//   absl::StatusOr<BorrowedThread> thread = BorrowedThread::Stop(pid, tid, places, patience);
//   thread->SystemCall(SYS_memfd_create, {...});
//   thread->GiveBack();
//
// Where it is stopped: at the entry of a system call that is made while no lock of the C library's
// allocator or loader is held, or within such a call, which then begins again or goes on where it
// was. With Place::kAnywhere also in the middle of a program's own code, for threads that make
// none.
//
// Statuses: NotFound (it has ended), PermissionDenied, Unavailable (not at a good place just now:
// try again, or another), DeadlineExceeded (what was called did not return and was given up).
#ifndef TOOLS_INJECT_BORROWED_THREAD_H_
#define TOOLS_INJECT_BORROWED_THREAD_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/inject/architecture.h"
#include "tools/inject/memory_map.h"

namespace tp {

// How good it is to interrupt a thread in this system call: 0 best, negative not at all. The
// kernel's number; -1 for one that runs.
int RankOfCall(long number);

class BorrowedThread {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Place { kCall, kAnywhere };

  // Code in which a thread may hold the C library's locks: nobody is stopped there at random.
  struct Surroundings {
    std::vector<Mapping> mappings;
    std::vector<Mapping> library_code;
    CodePlaces places;
  };

  static absl::StatusOr<BorrowedThread> Stop(pid_t process, pid_t thread,
                                             const Surroundings& surroundings, Place place,
                                             std::chrono::milliseconds patience);
  BorrowedThread(BorrowedThread&& other) noexcept;
  BorrowedThread& operator=(BorrowedThread&&) = delete;
  // Gives it back if that has not been done.
  ~BorrowedThread();

  // The result as the kernel gives it: -errno for an error.
  absl::StatusOr<long> SystemCall(long number, const std::vector<uint64_t>& arguments);
  // Calls a function with one argument. After DeadlineExceeded the call was given up in the middle
  // of it, where it waited.
  absl::Status Call(uint64_t function, uint64_t argument, std::chrono::milliseconds patience);
  // Whether the call, or what there was of it, has made a thread.
  bool has_made_thread() const { return has_made_thread_; }
  // Memory of the thread's own that calls may use until it is given back.
  uint64_t scratch() const { return frame_.scratch; }
  const RemoteMemory& memory() const { return *memory_; }

  // From now on it goes its own way. Returns how long it was stopped.
  std::chrono::nanoseconds GiveBack();

 private:
  BorrowedThread(pid_t process, pid_t thread);
  absl::Status Seize();
  absl::Status FindPlace(const Surroundings& surroundings, Place place, Clock::time_point end);
  absl::Status PrepareFrame(const Surroundings& surroundings);
  absl::Status Interrupt(Clock::time_point end);
  // Lets it run to its next stop. `how`: PTRACE_SYSCALL or PTRACE_CONT.
  absl::Status Run(int how, Clock::time_point end);
  absl::Status WaitForStop(Clock::time_point end);
  absl::Status RunToEntry(long number, Clock::time_point end);
  void Restore();

  pid_t process_, thread_;
  CodePlaces places_;
  std::unique_ptr<RemoteMemory> memory_;
  bool is_seized_ = false, is_stopped_ = false;
  int stop_status_ = 0;
  Clock::time_point stopped_at_;
  Registers original_ = {};  // As it was stopped.
  Registers resumed_ = {};   // As it goes on if the frame brings it back.
  // Only the kernel knows how long the interrupted call has still to wait: it must be told itself.
  bool is_exact_needed_ = false;
  std::vector<char> vectors_;
  uint64_t signal_mask_ = 0;
  Frame frame_;
  bool has_frame_ = false;
  long last_call_ = -1;  // That it has entered.
  bool has_made_thread_ = false;
};

}  // namespace tp

#endif  // TOOLS_INJECT_BORROWED_THREAD_H_

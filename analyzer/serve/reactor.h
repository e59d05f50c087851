// One thread that waits for many file descriptors and timers, and calls what belongs to each.
//
//   absl::StatusOr<std::unique_ptr<Reactor>> reactor = Reactor::Create();
//   (*reactor)->Watch(fd, EPOLLIN, [&](uint32_t events) { ... });
//   (*reactor)->After(absl::Milliseconds(300), [&] { ... });
//   (*reactor)->Run();                                   // until Stop()
//
// Everything is called on the thread that runs it, one after the other; what is called may watch,
// forget, and set or cancel timers, its own included. File descriptors stay their owners'.
#ifndef ANALYZER_SERVE_REACTOR_H_
#define ANALYZER_SERVE_REACTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "analyzer/serve/file_descriptor.h"

namespace tp {

// CLOCK_MONOTONIC, the host clock of all recordings.
int64_t MonotonicNow();

class Reactor {
 public:
  using OnEvents = std::function<void(uint32_t epoll_events)>;
  using OnTime = std::function<void()>;
  using TimerId = std::pair<int64_t, uint64_t>;  // Deadline and number.

  static absl::StatusOr<std::unique_ptr<Reactor>> Create();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Level-triggered. EPOLLERR and EPOLLHUP are always told.
  absl::Status Watch(int fd, uint32_t epoll_events, OnEvents on_events);
  // What else to wait for, of a descriptor that is watched.
  void Change(int fd, uint32_t epoll_events);
  // Must come before the descriptor is closed. No event of it is told afterwards.
  void Forget(int fd);

  TimerId After(absl::Duration delay, OnTime on_time);
  void Cancel(TimerId timer);

  void Run();
  void Stop() { running_ = false; }

 private:
  struct Watched {
    uint64_t number;  // Tells the descriptor from an earlier one with the same number.
    std::shared_ptr<OnEvents> on_events;
  };

  explicit Reactor(FileDescriptor epoll) : epoll_(std::move(epoll)) {}
  void RunTimers();
  int MillisecondsToNextTimer() const;

  FileDescriptor epoll_;
  bool running_ = false;
  uint64_t last_number_ = 0;
  absl::flat_hash_map<int, Watched> watched_;
  std::map<TimerId, OnTime> timers_;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_REACTOR_H_

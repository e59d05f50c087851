#include "analyzer/serve/reactor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <array>

namespace tp {

int64_t MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

absl::StatusOr<std::unique_ptr<Reactor>> Reactor::Create() {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return absl::ErrnoToStatus(errno, "epoll_create1");
  return std::unique_ptr<Reactor>(new Reactor(std::move(epoll)));
}

absl::Status Reactor::Watch(int fd, uint32_t epoll_events, OnEvents on_events) {
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = static_cast<uint32_t>(fd) | (++last_number_ << 32);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return absl::ErrnoToStatus(errno, "epoll_ctl");
  }
  watched_[fd] = {last_number_, std::make_shared<OnEvents>(std::move(on_events))};
  return absl::OkStatus();
}

void Reactor::Change(int fd, uint32_t epoll_events) {
  const auto place = watched_.find(fd);
  if (place == watched_.end()) return;
  epoll_event event{};
  event.events = epoll_events;
  event.data.u64 = static_cast<uint32_t>(fd) | (place->second.number << 32);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Reactor::Forget(int fd) {
  if (watched_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Reactor::TimerId Reactor::After(absl::Duration delay, OnTime on_time) {
  const TimerId timer(MonotonicNow() + absl::ToInt64Nanoseconds(delay), ++last_number_);
  timers_.emplace(timer, std::move(on_time));
  return timer;
}

void Reactor::Cancel(TimerId timer) { timers_.erase(timer); }

int Reactor::MillisecondsToNextTimer() const {
  if (timers_.empty()) return -1;
  const int64_t wait_ns = timers_.begin()->first.first - MonotonicNow();
  // Rounded up: a wait that ends too early would only be repeated.
  return static_cast<int>(std::clamp<int64_t>((wait_ns + 999'999) / 1'000'000, 0, 60'000));
}

void Reactor::RunTimers() {
  const int64_t now = MonotonicNow();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

void Reactor::Run() {
  running_ = true;
  std::array<epoll_event, 64> events;
  while (running_) {
    const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 MillisecondsToNextTimer());
    for (int i = 0; i < ready && running_; ++i) {
      const auto fd = static_cast<int>(events[i].data.u64 & UINT32_MAX);
      const auto place = watched_.find(fd);
      const bool forgotten = place == watched_.end() ||
                             (place->second.number & UINT32_MAX) != events[i].data.u64 >> 32;
      if (forgotten) continue;
      // Held here, because what is called may forget itself.
      const std::shared_ptr<OnEvents> on_events = place->second.on_events;
      (*on_events)(events[i].events);
    }
    RunTimers();
  }
}

}  // namespace tp

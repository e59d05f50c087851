#include "tools/control/live_source.h"

#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <utility>

namespace tp {
namespace {

std::string TimeOfDay() {
  const time_t now = time(nullptr);
  tm local;
  localtime_r(&now, &local);
  char text[16];
  strftime(text, sizeof(text), "%H:%M:%S", &local);
  return text;
}

}  // namespace

absl::StatusOr<Snapshot> FetchSnapshot(QueryClient* client, const query::TableRequest& request) {
  absl::StatusOr<query::Table> table = client->AskTable(request);
  if (!table.ok()) return table.status();
  absl::StatusOr<query::Daemon> daemon = client->AskDaemon();
  if (!daemon.ok()) return daemon.status();
  return Snapshot{std::move(*table), std::move(*daemon), TimeOfDay()};
}

LiveSource::LiveSource(query::TableRequest request, std::chrono::milliseconds interval,
                       int notified)
    : interval_(interval), notified_(notified), request_(std::move(request)) {
  // Signals are the screen's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LiveSource::~LiveSource() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (client_) client_->Interrupt();
  }
  wake_.notify_all();
  thread_.join();
}

void LiveSource::Ask(const query::TableRequest& request) {
  {
    std::lock_guard lock(mutex_);
    request_ = request;
    asked_ = true;
    latest_.reset();
  }
  wake_.notify_all();
}

std::optional<absl::StatusOr<Snapshot>> LiveSource::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(latest_, std::nullopt);
}

absl::StatusOr<Snapshot> LiveSource::FetchOnce(const query::TableRequest& request) {
  if (!client_) {
    absl::StatusOr<QueryClient> connected = QueryClient::Connect();
    if (!connected.ok()) return connected.status();
    std::lock_guard lock(mutex_);
    client_ = std::move(*connected);
    if (stopping_) client_->Interrupt();
  }
  absl::StatusOr<Snapshot> snapshot = FetchSnapshot(&*client_, request);
  if (!snapshot.ok()) {
    std::lock_guard lock(mutex_);
    client_.reset();
  }
  return snapshot;
}

void LiveSource::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    asked_ = false;
    const query::TableRequest request = request_;
    lock.unlock();
    absl::StatusOr<Snapshot> fetched = FetchOnce(request);
    lock.lock();
    if (stopping_) break;
    // An answer to what is no longer asked is none.
    if (!asked_) {
      latest_ = std::move(fetched);
      [[maybe_unused]] const ssize_t n = write(notified_, "s", 1);
    }
    wake_.wait_for(lock, interval_, [this] { return stopping_ || asked_; });
  }
}

}  // namespace tp

#include "tests/simcuda/cupti/client_buffers.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/driver_link.h"
#include "tests/simcuda/cupti/faults.h"
#include "tests/simcuda/cupti/overhead_records.h"

namespace simcupti {
namespace {

using Clock = std::chrono::steady_clock;

struct Waiting {
  std::unique_ptr<ClientBuffer> buffer;
  Clock::time_point due;
};

struct ClientSettings {
  std::mutex mutex;
  BufferCallbacks callbacks;  // Guarded by mutex.
  std::atomic<bool> zeroes{false};

  BufferCallbacks Callbacks() {
    std::lock_guard lock(mutex);
    return callbacks;
  }
  void SetCallbacks(const BufferCallbacks& wanted) {
    std::lock_guard lock(mutex);
    callbacks = wanted;
  }
};

// What CUPTI tells of a buffer to a subscriber's callback. No record layouts: they are for records
// with chosen fields.
struct CompletionInfo {
  size_t struct_bytes = sizeof(CompletionInfo);
  uint64_t thread_id = 0;
  void** record_layouts = nullptr;
  size_t record_layout_count = 0;
};
struct RequestInfo {
  size_t struct_bytes = sizeof(RequestInfo);
};

// Inside a completion callback: waiting for deliveries would be waiting for oneself.
thread_local bool completing = false;

void Complete(std::unique_ptr<ClientBuffer> buffer) {
  const BufferCallbacks callbacks = OfClient<ClientSettings>().Callbacks();
  const bool outer = std::exchange(completing, true);
  if (callbacks.complete_for_subscriber != nullptr) {
    CompletionInfo info;
    callbacks.complete_for_subscriber(buffer->data, buffer->bytes, buffer->used_bytes, &info);
  } else if (callbacks.complete != nullptr) {
    callbacks.complete(nullptr, 0, buffer->data, buffer->bytes, buffer->used_bytes);
  }
  completing = outer;
}

class Returns {
 public:
  void Later(std::unique_ptr<ClientBuffer> buffer) {
    std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(buffer), Due()});
    StartThread();
    changed_.notify_all();
  }

  void Now(std::vector<std::unique_ptr<ClientBuffer>> buffers, bool forced) {
    std::unique_lock lock(mutex_);
    for (auto& buffer : buffers) waiting_.push_back({std::move(buffer), Due()});
    std::vector<Waiting> mine;
    const Clock::time_point now = Clock::now();
    while (!waiting_.empty() && (forced || waiting_.front().due <= now)) {
      mine.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    if (!waiting_.empty()) {
      StartThread();
      changed_.notify_all();
    }
    const uint64_t ticket = BeginDelivery();
    lock.unlock();
    for (Waiting& entry : mine) Complete(std::move(entry.buffer));
    lock.lock();
    EndDelivery(ticket);
    if (!completing) {
      delivered_.wait(lock, [&] { return under_way_.empty() || *under_way_.begin() > ticket; });
    }
  }

  void SetPeriod(std::chrono::milliseconds period) {
    std::lock_guard lock(mutex_);
    period_ = period;
    if (period_.count() > 0) StartThread();
    changed_.notify_all();
  }

  void Stop() {
    std::thread thread;
    {
      std::lock_guard lock(mutex_);
      waiting_.clear();
      period_ = std::chrono::milliseconds(0);
      ++generation_;
      thread = std::exchange(thread_, std::thread());
      changed_.notify_all();
    }
    if (!thread.joinable()) return;
    // A client may finalize from its completion callback, which is on that very thread.
    if (completing) {
      thread.detach();
    } else {
      thread.join();
    }
  }

 private:
  Clock::time_point Due() const {
    return Clock::now() + std::chrono::milliseconds(ActiveFaults().late_buffers_ms);
  }

  uint64_t BeginDelivery() {
    under_way_.insert(++last_ticket_);
    return last_ticket_;
  }

  void EndDelivery(uint64_t ticket) {
    under_way_.erase(ticket);
    delivered_.notify_all();
  }

  void StartThread() {
    if (thread_.joinable()) return;
    // The program's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this, generation = generation_, client = CurrentClient()] {
      const ActingFor scope(client);
      Loop(generation);
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "cupti");
  }

  void Loop(uint64_t generation) {
    std::unique_lock lock(mutex_);
    Clock::time_point next_look = Clock::now() + period_;
    while (generation == generation_) {
      if (!waiting_.empty() && waiting_.front().due <= Clock::now()) {
        Waiting entry = std::move(waiting_.front());
        waiting_.pop_front();
        const uint64_t ticket = BeginDelivery();
        lock.unlock();
        Complete(std::move(entry.buffer));
        lock.lock();
        EndDelivery(ticket);
        continue;
      }
      if (period_.count() > 0 && next_look <= Clock::now()) {
        lock.unlock();
        // Work that has completed may be what a full buffer was waiting for.
        DeliverWork(false);
        lock.lock();
        next_look = Clock::now() + period_;
        continue;
      }
      if (waiting_.empty() && period_.count() == 0) {
        changed_.wait(lock);
        next_look = Clock::now() + period_;
        continue;
      }
      Clock::time_point wake = Clock::time_point::max();
      if (!waiting_.empty()) wake = waiting_.front().due;
      if (period_.count() > 0) {
        next_look = std::min(next_look, Clock::now() + period_);
        wake = std::min(wake, next_look);
      }
      changed_.wait_until(lock, wake);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;    // Something for the thread to do.
  std::condition_variable delivered_;  // A delivery has ended.
  std::deque<Waiting> waiting_;        // In the order in which they were finished.
  std::set<uint64_t> under_way_;       // Tickets of deliveries that are with the client now.
  uint64_t last_ticket_ = 0;
  uint64_t generation_ = 0;
  std::chrono::milliseconds period_{0};
  std::thread thread_;
};

Returns& CurrentReturns() { return OfClient<Returns>(); }

}  // namespace

void RegisterBufferCallbacks(const BufferCallbacks& callbacks) {
  OfClient<ClientSettings>().SetCallbacks(callbacks);
}

bool BufferCallbacksRegistered() { return OfClient<ClientSettings>().Callbacks().registered(); }

std::unique_ptr<ClientBuffer> RequestClientBuffer(size_t record_bytes) {
  const BufferCallbacks callbacks = OfClient<ClientSettings>().Callbacks();
  if (!callbacks.registered()) return nullptr;
  uint8_t* data = nullptr;
  size_t bytes = 0;
  size_t max_records = 0;
  const uint64_t start_ns = NowNs();
  if (callbacks.request_for_subscriber != nullptr) {
    RequestInfo info;
    callbacks.request_for_subscriber(&data, &bytes, &max_records, &info);
  } else {
    callbacks.request(&data, &bytes, &max_records);
  }
  NoteOverhead(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, start_ns, NowNs());
  if (data == nullptr) return nullptr;
  auto buffer = std::make_unique<ClientBuffer>(ClientBuffer{data, bytes, max_records});
  if (!buffer->HasRoom(record_bytes)) {
    ReturnLater(std::move(buffer));
    return nullptr;
  }
  if (!ClientZeroesBuffers()) std::memset(data, 0, bytes);
  return buffer;
}

void ReturnLater(std::unique_ptr<ClientBuffer> buffer) {
  CurrentReturns().Later(std::move(buffer));
}

void ReturnNow(std::vector<std::unique_ptr<ClientBuffer>> buffers, bool forced) {
  CurrentReturns().Now(std::move(buffers), forced);
}

void SetFlushPeriod(uint32_t period_ms) {
  CurrentReturns().SetPeriod(std::chrono::milliseconds(period_ms));
}

void SetClientZeroesBuffers(bool zeroed) {
  OfClient<ClientSettings>().zeroes.store(zeroed, std::memory_order_relaxed);
}
bool ClientZeroesBuffers() {
  return OfClient<ClientSettings>().zeroes.load(std::memory_order_relaxed);
}

void StopReturning() {
  CurrentReturns().Stop();
  OfClient<ClientSettings>().SetCallbacks({});
  SetClientZeroesBuffers(false);
}

}  // namespace simcupti

#include "tests/simcuda/core/host_functions.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/submit.h"

namespace simcuda {
namespace {

struct Due {
  uint64_t start_ns;
  uint64_t order;  // Equal starts run in the order of submission.
  HostFunction function;
  std::shared_ptr<Completion> done;

  bool operator<(const Due& other) const {
    return start_ns != other.start_ns ? start_ns > other.start_ns : order > other.order;
  }
};

// Guarded by Model::mutex.
struct Queue {
  std::priority_queue<Due> due;
  std::condition_variable changed;
  uint64_t next_order = 0;
  bool started = false;
};

Queue& TheQueue() {
  static Queue* queue = new Queue;
  return *queue;
}

void Serve() {
  Queue& queue = TheQueue();
  Model& model = Model::Instance();
  std::unique_lock<std::mutex> lock(model.mutex);
  while (true) {
    if (queue.due.empty()) {
      queue.changed.wait(lock);
      continue;
    }
    uint64_t start_ns = queue.due.top().start_ns;
    if (uint64_t left = RealNsUntil(start_ns); left > 0) {
      bool timeout =
          queue.changed.wait_for(lock, std::chrono::nanoseconds(left)) == std::cv_status::timeout;
      if (timeout) AdvanceTo(start_ns);
      continue;
    }
    AdvanceTo(start_ns);
    Due next = queue.due.top();
    queue.due.pop();
    lock.unlock();
    if (next.function.function != nullptr) {
      next.function.function(next.function.data);
    } else if (next.function.callback != nullptr) {
      next.function.callback(next.function.stream, CUDA_SUCCESS, next.function.data);
    }
    lock.lock();
    next.done->end_ns = NowNs();
    next.done->known = true;
    ScheduleUnblocked();
    model.progress.notify_all();
  }
}

}  // namespace

void RunHostFunction(uint64_t start_ns, const HostFunction& function,
                     std::shared_ptr<Completion> done) {
  Queue& queue = TheQueue();
  queue.due.push({start_ns, queue.next_order++, function, std::move(done)});
  if (!queue.started) {
    queue.started = true;
    std::thread(Serve).detach();
  }
  queue.changed.notify_one();
}

}  // namespace simcuda

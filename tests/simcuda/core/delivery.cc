#include "tests/simcuda/core/delivery.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/simcuda/core/api_scope.h"
#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/model.h"
#include "tests/simcuda/core/submit.h"

namespace simcuda {
namespace {

// Keeps deliveries one behind the other, so that the order within a stream holds.
std::mutex& DeliveryMutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

std::vector<ResourceEvent>& Kept() {
  static thread_local std::vector<ResourceEvent> kept;
  return kept;
}

}  // namespace

const Observer* CurrentObserver() {
  return simcuda_api_gate()->observer.load(std::memory_order_acquire);
}

void Deliver(bool wait) {
  Model& model = Model::Instance();
  if (wait) {
    std::vector<Context*> contexts;
    model.contexts.ForEach([&](Context& context) { contexts.push_back(&context); });
    for (Context* context : contexts) WaitForContext(*context);
  }
  const Observer* observer = CurrentObserver();
  if (observer == nullptr || observer->device_work == nullptr) return;
  std::lock_guard<std::mutex> order(DeliveryMutex());
  std::vector<DeviceWork> complete, running;
  {
    std::lock_guard<std::mutex> lock(model.mutex);
    uint64_t now = NowNs();
    auto& queues = model.undelivered;
    for (const auto& queue : queues) {
      while (!queue->works.empty() && queue->works.front().end_ns <= now) {
        complete.push_back(queue->works.front());
        queue->works.pop_front();
        if (queue->told_running > 0) --queue->told_running;
      }
      for (size_t& i = queue->told_running; i < queue->works.size(); ++i) {
        if (queue->works[i].start_ns > now) break;
        running.push_back(queue->works[i]);
        running.back().end_ns = 0;
      }
    }
    // A queue that is only held here belongs to a stream that is gone.
    queues.erase(std::remove_if(queues.begin(), queues.end(),
                                [](const std::shared_ptr<Undelivered>& queue) {
                                  return queue.use_count() == 1 && queue->works.empty();
                                }),
                 queues.end());
  }
  for (const DeviceWork& work : complete) observer->device_work(work);
  for (const DeviceWork& work : running) observer->device_work(work);
}

void Report(const ResourceEvent& event) {
  const Observer* observer = CurrentObserver();
  if (observer != nullptr && observer->resource != nullptr) observer->resource(event);
}

void ReportLater(const ResourceEvent& event) { Kept().push_back(event); }

void ReportKept() {
  if (Kept().empty()) return;
  std::vector<ResourceEvent> events = std::move(Kept());
  Kept().clear();
  for (const ResourceEvent& event : events) Report(event);
}

void Report(const MemoryEvent& event) {
  const Observer* observer = CurrentObserver();
  if (observer != nullptr && observer->memory != nullptr) observer->memory(event);
}

void Report(const MemoryPoolEvent& event) {
  const Observer* observer = CurrentObserver();
  if (observer != nullptr && observer->memory_pool != nullptr) observer->memory_pool(event);
}

void Report(const Synchronization& synchronization) {
  const Observer* observer = CurrentObserver();
  if (observer != nullptr && observer->synchronization != nullptr) {
    observer->synchronization(synchronization);
  }
}

}  // namespace simcuda

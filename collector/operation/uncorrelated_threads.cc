#include "collector/operation/uncorrelated_threads.h"

#include <algorithm>

#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

// By then CUPTI has handed over what was called before.
constexpr int64_t kLatestRecordNs = 30'000'000'000;

}  // namespace

void UncorrelatedThreads::Update(const OperationReader& operations, int64_t now_ns) {
  std::vector<Thread> found;
  ThreadOperationsList::ForEachAlive([&](const ThreadOperations& thread) {
    int64_t since_ns = thread.correlated_since_ns();
    // One that has not told CUPTI has made no range since: what was read of it is as it was then.
    uint64_t operation = since_ns == INT64_MAX ? operations.Innermost(thread.serial())
                                               : thread.uncorrelated_operation();
    found.push_back(
        {thread.serial(), static_cast<uint32_t>(thread.thread_id()), operation, since_ns});
  });
  if (begun_) {
    begun_ = false;
    std::erase_if(found, [](const Thread& thread) { return thread.operation == 0; });
    threads_ = std::move(found);
    return;
  }
  for (Thread& thread : threads_) {
    if (thread.until_ns != INT64_MAX) continue;
    auto alive = std::find_if(found.begin(), found.end(),
                              [&](const Thread& other) { return other.serial == thread.serial; });
    thread.until_ns = alive != found.end() ? alive->until_ns : now_ns;
  }
  std::erase_if(threads_, [now_ns](const Thread& thread) {
    return thread.until_ns != INT64_MAX && now_ns - thread.until_ns > kLatestRecordNs;
  });
}

uint64_t UncorrelatedThreads::OperationOf(uint32_t thread_id, int64_t start_ns) const {
  if (start_ns < begin_ns_) return 0;
  for (const Thread& thread : threads_) {
    if (thread.thread_id == thread_id && start_ns < thread.until_ns) return thread.operation;
  }
  return 0;
}

}  // namespace tp::collect

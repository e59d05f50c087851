#include "collector/operation/uncorrelated_threads.h"

#include <algorithm>

#include "collector/operation/operation_reader.h"
#include "collector/operation/thread_operations.h"

namespace tp::collect {
namespace {

// By then CUPTI has handed over what was called before.
constexpr int64_t kLatestRecordNs = 30'000'000'000;

}  // namespace

void UncorrelatedThreads::Update(const OperationReader& operations, int64_t now_ns) {
  std::vector<uint64_t> alive;
  ThreadOperationsList::ForEachAlive([&](const ThreadOperations& thread) {
    Note(thread, operations.Innermost(thread.serial()));
    alive.push_back(thread.serial());
  });
  begun_ = false;  // Threads that are new from now on tell CUPTI from their first range on.
  for (Thread& thread : threads_) {
    bool ended = std::find(alive.begin(), alive.end(), thread.serial) == alive.end();
    if (ended && thread.until_ns == INT64_MAX) thread.until_ns = now_ns;
  }
  std::erase_if(threads_, [now_ns](const Thread& thread) {
    return thread.until_ns != INT64_MAX && now_ns - thread.until_ns > kLatestRecordNs;
  });
}

void UncorrelatedThreads::End(int64_t now_ns) {
  begun_ = false;
  for (Thread& thread : threads_) thread.until_ns = std::min(thread.until_ns, now_ns);
}

void UncorrelatedThreads::Ended(const ThreadOperations& thread, uint64_t innermost) {
  if (wanted()) Note(thread, innermost);
}

void UncorrelatedThreads::Note(const ThreadOperations& thread, uint64_t innermost) {
  int64_t until_ns = thread.correlated_since_ns();
  auto known = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& other) {
    return other.serial == thread.serial() && other.since_ns == begin_ns_;
  });
  if (known != threads_.end()) {
    if (known->until_ns == INT64_MAX) known->until_ns = until_ns;
    return;
  }
  if (!begun_) return;
  // One that has not told CUPTI has made no range since: what was read of it is as it was then.
  uint64_t operation = until_ns == INT64_MAX ? innermost : thread.uncorrelated_operation();
  if (operation == 0) return;
  threads_.push_back(
      {thread.serial(), static_cast<uint32_t>(thread.thread_id()), operation, begin_ns_, until_ns});
}

uint64_t UncorrelatedThreads::OperationOf(uint32_t thread_id, int64_t start_ns) const {
  for (const Thread& thread : threads_) {
    if (thread.thread_id == thread_id && start_ns >= thread.since_ns &&
        start_ns < thread.until_ns) {
      return thread.operation;
    }
  }
  return 0;
}

}  // namespace tp::collect

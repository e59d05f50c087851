#include "collector/operation/thread_operations.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace tp::collect {
namespace {

// Buffers are large while threads are few, so that a burst of ranges fits until the collector
// thread gets to run, and small when there are many. A page counts as the process's memory when it
// is first used: a thread of few ranges uses few.
constexpr uint32_t kBufferBytes[] = {2 << 20, 512 << 10, 64 << 10, 16 << 10};

constexpr int kSerialShift = 40;

// Marks a thread that has no state and will get none.
constexpr uintptr_t kNone = 1;

// Set up once by the first thread that has a range; initial-exec: one instruction to read, no
// allocation behind it.
__attribute__((tls_model("initial-exec"))) thread_local ThreadOperations* t_operations = nullptr;

pthread_once_t g_key_once = PTHREAD_ONCE_INIT;
pthread_key_t g_key;
bool g_key_made = false;

// Those of an earlier era whose threads have not freed them yet.
pthread_mutex_t g_retired_lock = PTHREAD_MUTEX_INITIALIZER;
ThreadOperations* g_retired = nullptr;

pthread_mutex_t g_overflow_lock = PTHREAD_MUTEX_INITIALIZER;
constexpr size_t kMostOverflowedEnds = 4096;
EndedRange g_overflowed_ends[kMostOverflowedEnds];
size_t g_overflowed_count = 0;

}  // namespace

std::atomic<ThreadOperations*> ThreadOperationsList::head_{nullptr};
std::atomic<const LaunchCorrelation*> ThreadOperationsList::correlation_{nullptr};
std::atomic<uint32_t> ThreadOperationsList::epoch_{0};
std::atomic<uint64_t> ThreadOperationsList::lost_{0};
std::atomic<uint64_t> ThreadOperationsList::lost_stacks_{0};
std::atomic<uint64_t> ThreadOperationsList::lost_counters_{0};
std::atomic<uint64_t> ThreadOperationsList::lost_details_{0};
std::atomic<uint64_t> ThreadOperationsList::next_serial_{1};
std::atomic<size_t> ThreadOperationsList::memory_{0};
std::atomic<uint32_t> ThreadOperationsList::era_{1};
uint32_t ThreadOperationsList::last_era_ = 1;
size_t ThreadOperationsList::memory_limit_ = 0;
void (*ThreadOperationsList::wake_)() = nullptr;
size_t ThreadOperationsList::stack_frames_ = 0;

int64_t HostTimeNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

ThreadOperations::ThreadOperations(pid_t thread_id, uint64_t serial, char* buffer,
                                   uint32_t buffer_bytes, OpenRange* stack, size_t mapped_bytes,
                                   size_t reserved_bytes)
    : thread_id_(thread_id),
      serial_(serial),
      next_id_(serial << kSerialShift | 1),
      stack_(stack),
      mapped_bytes_(mapped_bytes),
      reserved_bytes_(reserved_bytes),
      buffer_(buffer, buffer_bytes),
      era_(std::max(ThreadOperationsList::era_.load(std::memory_order_relaxed), uint32_t{1})) {}

ThreadOperations* ThreadOperations::Current() {
  ThreadOperations* current = t_operations;
  if (__builtin_expect(reinterpret_cast<uintptr_t>(current) > kNone, 1)) {
    if (__builtin_expect(ThreadOperationsList::IsCurrent(current), 1)) return current;
    return ThreadOperationsList::Renew(current);
  }
  if (current != nullptr) return nullptr;
  return ThreadOperationsList::Create();
}

uint64_t ThreadOperations::InnermostOfThisThread() {
  const ThreadOperations* current = t_operations;
  if (reinterpret_cast<uintptr_t>(current) <= kNone) return 0;
  if (!ThreadOperationsList::IsCurrent(current)) return 0;
  for (uint32_t i = current->depth_; i > 0; --i) {
    if (current->stack_[i - 1].recorded) return current->stack_[i - 1].id;
  }
  return 0;
}

void ThreadOperations::CountWithoutRoom() {
  if (ThreadOperationsList::closed()) return;
  ThreadOperationsList::lost_.fetch_add(1, std::memory_order_relaxed);
}

bool ThreadOperations::Record(OperationEventType type, uint64_t id, const Domain* domain,
                              const RangeText& text) {
  uint32_t ends = recorded_depth_ + (type == OperationEventType::kPush ? 1 : 0);
  // Before its time begins.
  if (__builtin_expect(walker_ != nullptr, 0)) RecordStack(id, ends);
  OperationEvent event = {};
  event.type = type;
  event.id = id;
  event.time_ns = HostTimeNs();
  event.domain = domain;
  event.text = text.registered;
  event.details = text.form;
  if (buffer_.Begin(event, text.text, ends, text.details)) {
    WakeIfHalfFull();
    return true;
  }
  ThreadOperationsList::lost_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void ThreadOperations::RecordStack(uint64_t id, uint32_t ends_to_come) {
  StackFrame frames[kMostStackFrames];
  const size_t count = walker_->Walk(frames, ThreadOperationsList::stack_frames_);
  if (count == 0) return;
  OperationEvent event = {};
  event.type = OperationEventType::kStack;
  event.id = id;
  const std::string_view bytes(reinterpret_cast<const char*>(frames), count * sizeof(StackFrame));
  if (buffer_.Begin(event, bytes, ends_to_come)) return;
  ThreadOperationsList::lost_stacks_.fetch_add(1, std::memory_order_relaxed);
}

bool ThreadOperations::RecordOther(OperationEventType type, uint64_t id, const Domain* domain,
                                   const RangeText& text) {
  OperationEvent event = {};
  event.type = type;
  event.id = id;
  event.time_ns = HostTimeNs();
  event.domain = domain;
  event.details = text.form;
  if (!buffer_.Begin(event, text.text, recorded_depth_, text.details)) return false;
  WakeIfHalfFull();
  return true;
}

void ThreadOperations::AddToInnermost(const Domain* domain, std::string_view details,
                                      DetailsForm form) {
  // The innermost may be one of those that found no room: nobody knows whose they are.
  if (deeper_ > 0) return;
  for (uint32_t i = depth_; i > 0; --i) {
    if (stack_[i - 1].domain != domain) continue;
    if (stack_[i - 1].recorded) AddTo(stack_[i - 1].id, domain, details, form);
    return;
  }
}

void ThreadOperations::AddTo(uint64_t id, const Domain* domain, std::string_view details,
                             DetailsForm form) {
  if (!RecordOther(OperationEventType::kValues, id, domain, {.details = details, .form = form})) {
    ThreadOperationsList::CountLostDetails();
  }
}

void ThreadOperations::Count(std::string_view counter, double value) {
  if (!RecordOther(OperationEventType::kCounter, std::bit_cast<uint64_t>(value), nullptr,
                   {.text = counter})) {
    ThreadOperationsList::CountLostCounter();
  }
}

void ThreadOperations::WakeIfHalfFull() {
  if (__builtin_expect(buffer_.HalfFull(), 0) && ThreadOperationsList::wake_ != nullptr) {
    ThreadOperationsList::wake_();
  }
}

bool ThreadOperations::GrowStack() {
  if (stack_room_ + kStackStep > kDeepest || !ThreadOperationsList::Reserve(kStackStepBytes)) {
    return false;
  }
  stack_room_ += kStackStep;
  reserved_bytes_ += kStackStepBytes;
  return true;
}

int ThreadOperations::DepthIn(const Domain* domain) const {
  if (foreign_ == 0) return depth_ > 0 && stack_[0].domain == domain ? static_cast<int>(depth_) : 0;
  int depth = 0;
  for (uint32_t i = 0; i < depth_; ++i) depth += stack_[i].domain == domain;
  return depth;
}

void ThreadOperations::CountForeign() {
  foreign_ = 0;
  for (uint32_t i = 1; i < depth_; ++i) foreign_ += stack_[i].domain != stack_[0].domain;
}

int ThreadOperations::Push(const Domain* domain, const RangeText& text) {
  CorrelateOpenRanges();
  if (__builtin_expect(deeper_ > 0 || (depth_ == stack_room_ && !GrowStack()), 0)) {
    ThreadOperationsList::lost_.fetch_add(1, std::memory_order_relaxed);
    ++deeper_;
    return static_cast<int>(depth_ + deeper_ - 1);
  }
  uint64_t id = next_id_++;
  int depth = DepthIn(domain);
  OpenRange& range = stack_[depth_++];
  range.id = id;
  range.domain = domain;
  range.recorded = Record(OperationEventType::kPush, id, domain, text);
  recorded_depth_ += range.recorded;
  foreign_ += stack_[0].domain != domain;
  // Also for a range that could not be recorded: its device work is then of an operation that is
  // not known, not of another.
  const LaunchCorrelation* correlation =
      ThreadOperationsList::correlation_.load(std::memory_order_acquire);
  if (correlation != nullptr && correlation->push != nullptr) {
    correlation->push(id);
    ++correlated_;
  }
  return depth;
}

int ThreadOperations::Pop(const Domain* domain) {
  int64_t now_ns = HostTimeNs();
  CorrelateOpenRanges();
  if (deeper_ > 0) {
    --deeper_;
    return static_cast<int>(depth_ + deeper_);
  }
  uint32_t index = depth_;
  while (index > 0 && stack_[index - 1].domain != domain) --index;
  if (index == 0) return -1;
  OpenRange range = stack_[index - 1];
  Remove(index - 1);
  if (range.recorded) {
    --recorded_depth_;
    buffer_.End(OperationEventType::kPop, range.id, now_ns, recorded_depth_);
    WakeIfHalfFull();
  }
  return DepthIn(domain);
}

// Mostly the innermost one; but ranges of different domains need not end in the order of their
// nesting.
void ThreadOperations::Remove(uint32_t index) {
  const LaunchCorrelation* correlation =
      ThreadOperationsList::correlation_.load(std::memory_order_acquire);
  if (correlation != nullptr && correlated_ == depth_) {
    for (uint32_t i = index; i < depth_; ++i) correlation->pop();
    for (uint32_t i = index + 1; i < depth_; ++i) correlation->push(stack_[i].id);
    --correlated_;
  }
  std::copy(stack_ + index + 1, stack_ + depth_, stack_ + index);
  --depth_;
  if (foreign_ > 0) CountForeign();
}

uint64_t ThreadOperations::Start(const Domain* domain, const RangeText& text) {
  uint64_t id = next_id_++;
  return Record(OperationEventType::kStart, id, domain, text) ? id : 0;
}

void ThreadOperations::End(uint64_t id) {
  int64_t now_ns = HostTimeNs();
  if (buffer_.End(OperationEventType::kEnd, id, now_ns, recorded_depth_)) {
    WakeIfHalfFull();
    return;
  }
  pthread_mutex_lock(&g_overflow_lock);
  if (g_overflowed_count < kMostOverflowedEnds) {
    g_overflowed_ends[g_overflowed_count++] = {id, now_ns};
  }
  pthread_mutex_unlock(&g_overflow_lock);
}

void ThreadOperations::CorrelateOpenRanges() {
  uint32_t epoch = ThreadOperationsList::epoch_.load(std::memory_order_acquire);
  if (__builtin_expect(epoch == correlation_epoch_, 1)) return;
  correlation_epoch_ = epoch;
  const LaunchCorrelation* correlation =
      ThreadOperationsList::correlation_.load(std::memory_order_acquire);
  if (correlation == nullptr) return;
  if (correlation->push == nullptr) {
    for (; correlated_ > 0; --correlated_) correlation->pop();
    return;
  }
  uncorrelated_operation_.store(depth_ > 0 ? stack_[depth_ - 1].id : 0, std::memory_order_relaxed);
  correlated_since_ns_.store(correlation->now_ns(), std::memory_order_release);
  // What an earlier capture left there.
  for (; correlated_ > 0; --correlated_) correlation->pop();
  for (; correlated_ < depth_; ++correlated_) correlation->push(stack_[correlated_].id);
}

void ThreadOperationsList::Configure(size_t memory_limit_bytes, void (*wake)(),
                                     size_t stack_frames) {
  memory_limit_ = memory_limit_bytes;
  wake_ = wake;
  stack_frames_ = std::min(stack_frames, kMostStackFrames);
}

bool ThreadOperationsList::Reserve(size_t bytes) {
  size_t used = memory_.load(std::memory_order_relaxed);
  do {
    if (used + bytes > memory_limit_) return false;
  } while (!memory_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

ThreadOperations* ThreadOperationsList::Create() {
  if (closed()) return nullptr;
  pthread_once(&g_key_once, [] { g_key_made = pthread_key_create(&g_key, &ThreadEnds) == 0; });
  size_t used = std::min(memory_.load(std::memory_order_relaxed), memory_limit_);
  size_t left = memory_limit_ - used;
  int size = left > memory_limit_ / 2   ? 0
             : left > memory_limit_ / 3 ? 1
             : left > memory_limit_ / 6 ? 2
                                        : 3;
  while (size < 3 && kBufferBytes[size] > memory_limit_ / 8) ++size;
  uint32_t buffer_bytes = kBufferBytes[size];
  size_t head_bytes =
      (sizeof(ThreadOperations) + buffer_bytes + OperationBuffer::kSlackBytes + 4095) &
      ~size_t{4095};
  const size_t walker_bytes = stack_frames_ > 0 ? (sizeof(StackWalker) + 4095) & ~size_t{4095} : 0;
  head_bytes += walker_bytes;
  // The stack is address space alone until it is used: a page holds more ranges than most threads
  // ever nest.
  size_t bytes = head_bytes + ThreadOperations::kDeepest * sizeof(ThreadOperations::OpenRange);
  size_t reserved_bytes = head_bytes + ThreadOperations::kStackStepBytes;
  // The reader gives back what threads that have ended had.
  if (used + reserved_bytes > memory_limit_ / 2 && wake_ != nullptr) wake_();
  bool reserved = g_key_made && Reserve(reserved_bytes);
  void* memory = MAP_FAILED;
  if (reserved) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (memory == MAP_FAILED) {
    if (reserved) memory_.fetch_sub(reserved_bytes, std::memory_order_relaxed);
    t_operations = reinterpret_cast<ThreadOperations*>(kNone);
    return nullptr;
  }
  char* base = static_cast<char*>(memory);
  auto* thread = new (memory) ThreadOperations(
      gettid(), next_serial_.fetch_add(1, std::memory_order_relaxed),
      base + sizeof(ThreadOperations), buffer_bytes,
      reinterpret_cast<ThreadOperations::OpenRange*>(base + head_bytes), bytes, reserved_bytes);
  if (walker_bytes > 0) {
    thread->walker_ = reinterpret_cast<StackWalker*>(base + head_bytes - walker_bytes);
    thread->walker_->FindStack();
  }
  thread->next_ = head_.load(std::memory_order_relaxed);
  while (!head_.compare_exchange_weak(thread->next_, thread, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
  t_operations = thread;
  pthread_setspecific(g_key, thread);
  return thread;
}

void ThreadOperationsList::Destroy(ThreadOperations* thread) {
  memory_.fetch_sub(thread->reserved_bytes_, std::memory_order_relaxed);
  munmap(thread, thread->mapped_bytes_);
}

bool ThreadOperationsList::Unlink(ThreadOperations* previous, ThreadOperations* thread) {
  if (previous != nullptr) {
    previous->next_ = thread->next_;
    return true;
  }
  // Others may be adding before it; then it goes the next time.
  ThreadOperations* expected = thread;
  return head_.compare_exchange_strong(expected, thread->next_, std::memory_order_acq_rel);
}

// Runs on the thread that ends, among its other destructors: one that still pushes ranges after it
// gets a new state.
void ThreadOperationsList::ThreadEnds(void* thread) {
  t_operations = nullptr;
  GiveUp(static_cast<ThreadOperations*>(thread));
}

ThreadOperations* ThreadOperationsList::Renew(ThreadOperations* old) {
  if (closed()) return nullptr;
  t_operations = nullptr;
  GiveUp(old);
  return Create();
}

// The calling thread's own: the reader frees it, or we do when no reader knows it any more.
void ThreadOperationsList::GiveUp(ThreadOperations* thread) {
  pthread_mutex_lock(&g_retired_lock);
  const bool is_retired = thread->is_retired_;
  if (is_retired) {
    ThreadOperations** link = &g_retired;
    while (*link != thread) link = &(*link)->next_;
    *link = thread->next_;
  } else {
    thread->ended_ns_ = HostTimeNs();
    thread->ended_.store(true, std::memory_order_release);
  }
  pthread_mutex_unlock(&g_retired_lock);
  if (is_retired) Destroy(thread);
}

void ThreadOperationsList::Reopen() {
  if (!closed()) return;
  pthread_mutex_lock(&g_retired_lock);
  ThreadOperations* thread = head_.exchange(nullptr, std::memory_order_acq_rel);
  while (thread != nullptr) {
    ThreadOperations* next = thread->next_;
    if (thread->ended()) {
      Destroy(thread);
    } else {
      thread->is_retired_ = true;
      thread->next_ = g_retired;
      g_retired = thread;
    }
    thread = next;
  }
  pthread_mutex_unlock(&g_retired_lock);
  for (std::atomic<uint64_t>* lost : {&lost_, &lost_stacks_, &lost_counters_, &lost_details_}) {
    lost->store(0, std::memory_order_relaxed);
  }
  pthread_mutex_lock(&g_overflow_lock);
  g_overflowed_count = 0;
  pthread_mutex_unlock(&g_overflow_lock);
  if (++last_era_ == 0) last_era_ = 2;
  era_.store(last_era_, std::memory_order_release);
}

void ThreadOperationsList::SetLaunchCorrelation(const LaunchCorrelation* correlation) {
  // Before the epoch changes: a thread that has seen the new one sets its own.
  for (ThreadOperations* thread = head_.load(std::memory_order_acquire); thread != nullptr;
       thread = thread->next_) {
    thread->correlated_since_ns_.store(INT64_MAX, std::memory_order_relaxed);
  }
  correlation_.store(correlation, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  // The others do it at their next range.
  if (reinterpret_cast<uintptr_t>(t_operations) > kNone && IsCurrent(t_operations)) {
    t_operations->CorrelateOpenRanges();
  }
}

void ThreadOperationsList::Close() { era_.store(0, std::memory_order_relaxed); }

void ThreadOperationsList::AfterForkInChild(bool keep) {
  g_overflow_lock = PTHREAD_MUTEX_INITIALIZER;
  g_retired_lock = PTHREAD_MUTEX_INITIALIZER;
  ThreadOperations* current = t_operations;
  if (reinterpret_cast<uintptr_t>(current) <= kNone) current = nullptr;
  ThreadOperations* head = head_.load(std::memory_order_relaxed);
  const bool is_retired = current != nullptr && current->is_retired_;
  for (ThreadOperations* thread :
       {head, std::exchange(g_retired, is_retired ? current : nullptr)}) {
    while (thread != nullptr) {
      ThreadOperations* next = thread->next_;
      if (thread != current) Destroy(thread);
      thread = next;
    }
  }
  if (current != nullptr) {
    current->next_ = nullptr;
    current->thread_id_ = gettid();
  }
  head_.store(is_retired ? nullptr : current, std::memory_order_relaxed);
  if (!keep) Close();
}

size_t TakeOverflowedEnds(EndedRange* ends, size_t capacity) {
  pthread_mutex_lock(&g_overflow_lock);
  size_t count = std::min(capacity, g_overflowed_count);
  std::copy_n(g_overflowed_ends + (g_overflowed_count - count), count, ends);
  g_overflowed_count -= count;
  pthread_mutex_unlock(&g_overflow_lock);
  return count;
}

}  // namespace tp::collect

#include "collector/cupti/activity_buffers.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace tp::collect {

ActivityBuffers::ActivityBuffers(size_t limit_bytes)
    : count_(static_cast<uint32_t>(std::max(limit_bytes / kBufferBytes, size_t{kReady}))),
      free_(kNone) {
  buffers_.reset(new (std::nothrow) Filled[count_]());
  void* memory = mmap(nullptr, count_ * kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || buffers_ == nullptr) return;
  memory_ = static_cast<uint8_t*>(memory);
  KeepReady();
}

ActivityBuffers::~ActivityBuffers() {
  if (memory_ != nullptr) munmap(memory_, count_ * kBufferBytes);
}

uint8_t* ActivityBuffers::Take(size_t* bytes) {
  uint32_t index = PopFree();
  if (index == kNone) {
    index = fresh_.load(std::memory_order_relaxed);
    while (index < count_ && !fresh_.compare_exchange_weak(index, index + 1)) {
    }
  }
  if (index < count_) {
    *bytes = kBufferBytes;
    return memory_ + index * kBufferBytes;
  }
  small_buffers_.fetch_add(1, std::memory_order_relaxed);
  small_held_.fetch_add(1, std::memory_order_relaxed);
  // Room for the bookkeeping in front, and CUPTI wants its part aligned to 8 bytes.
  auto* filled = static_cast<Filled*>(malloc(sizeof(Filled) + kSmallBufferBytes));
  if (filled == nullptr) {
    *bytes = 0;
    return nullptr;
  }
  *bytes = kSmallBufferBytes;
  return reinterpret_cast<uint8_t*>(filled + 1);
}

void ActivityBuffers::Fill(uint8_t* memory, size_t valid_bytes) {
  if (memory == nullptr) return;
  Filled* filled = InPool(memory) ? &buffers_[(memory - memory_) / kBufferBytes]
                                  : reinterpret_cast<Filled*>(memory) - 1;
  filled->memory = memory;
  filled->valid_bytes = valid_bytes;
  filled->next = filled_.load(std::memory_order_relaxed);
  while (!filled_.compare_exchange_weak(filled->next, filled, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

ActivityBuffers::Filled* ActivityBuffers::TakeFilled() {
  Filled* newest = filled_.exchange(nullptr, std::memory_order_acquire);
  Filled* oldest = nullptr;
  while (newest != nullptr) {
    Filled* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

void ActivityBuffers::Release(Filled* filled) {
  if (InPool(filled->memory)) {
    PushFree(static_cast<uint32_t>(filled - buffers_.get()));
  } else {
    small_held_.fetch_sub(1, std::memory_order_relaxed);
    free(filled);
  }
}

void ActivityBuffers::KeepReady() {
  uint32_t fresh = fresh_.load(std::memory_order_relaxed);
  uint32_t wanted = std::min(fresh + kReady, count_);
  uint32_t touched = std::max(touched_.load(std::memory_order_relaxed), fresh);
  for (; touched < wanted; ++touched) Touch(touched);
  touched_.store(touched, std::memory_order_relaxed);
}

// Makes the pages be there without changing what they hold: CUPTI may be writing already.
void ActivityBuffers::Touch(uint32_t index) {
  uint8_t* memory = memory_ + index * kBufferBytes;
#ifdef MADV_POPULATE_WRITE
  if (madvise(memory, kBufferBytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (size_t i = 0; i < kBufferBytes; i += 4096) {
    __atomic_fetch_add(memory + i, 0, __ATOMIC_RELAXED);
  }
}

uint32_t ActivityBuffers::PopFree() {
  uint64_t head = free_.load(std::memory_order_acquire);
  for (;;) {
    auto index = static_cast<uint32_t>(head);
    if (index == kNone) return kNone;
    uint32_t next = __atomic_load_n(&buffers_[index].next_free, __ATOMIC_RELAXED);
    uint64_t changed = (head & ~uint64_t{UINT32_MAX}) | next;
    if (free_.compare_exchange_weak(head, changed, std::memory_order_acquire)) return index;
  }
}

void ActivityBuffers::PushFree(uint32_t index) {
  uint64_t head = free_.load(std::memory_order_relaxed);
  uint64_t changed;
  do {
    __atomic_store_n(&buffers_[index].next_free, static_cast<uint32_t>(head), __ATOMIC_RELAXED);
    changed = ((head >> 32) + 1) << 32 | index;
  } while (!free_.compare_exchange_weak(head, changed, std::memory_order_release,
                                        std::memory_order_relaxed));
}

size_t ActivityBuffers::memory_bytes() const {
  uint32_t used =
      std::max(fresh_.load(std::memory_order_relaxed), touched_.load(std::memory_order_relaxed));
  int64_t small = std::max<int64_t>(small_held_.load(std::memory_order_relaxed), 0);
  return std::min(used, count_) * kBufferBytes + small * kSmallBufferBytes;
}

}  // namespace tp::collect

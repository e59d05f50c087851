#include "collector/cupti/activity_buffers.h"

#include <stdlib.h>

#include <bit>
#include <cstring>
#include <new>

namespace tp::collect {
namespace {

// How much of the bound may be allocated before buffers of a size: a half is of large ones, a
// quarter each of the smaller ones.
size_t ShareEnd(size_t limit_bytes, int size) { return limit_bytes / 4 * (2 + size); }

uint32_t Hash(const uint8_t* memory) {
  auto address = reinterpret_cast<uintptr_t>(memory);
  return static_cast<uint32_t>((address >> 4) * 0x9e3779b97f4a7c15u >> 32);
}

}  // namespace

ActivityBuffers::ActivityBuffers(const Options& options) : options_(options) {
  most_ = kReady;
  for (size_t bytes : kBufferBytes) most_ += options.limit_bytes / 2 / bytes;
  slot_mask_ = std::bit_ceil(2 * most_) - 1;
  buffers_.reset(new (std::nothrow) Buffer[most_]());
  slots_.reset(new (std::nothrow) std::atomic<uint32_t>[slot_mask_ + 1]());
  if (buffers_ == nullptr || slots_ == nullptr) return;
  KeepReady();
  ok_ = free_[0].length.load(std::memory_order_relaxed) > 0;
}

ActivityBuffers::~ActivityBuffers() {
  for (uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    if (buffers_[i].state.load(std::memory_order_relaxed) != State::kGone) {
      free(buffers_[i].memory.load(std::memory_order_relaxed));
    }
  }
}

LentBuffer ActivityBuffers::Lend() {
  for (int size = 0; size < kSizes; ++size) {
    uint32_t index = Pop(&free_[size]);
    if (index == kNone) index = Allocate(size);
    if (index == kNone) continue;
    Buffer& buffer = buffers_[index];
    buffer.state.store(State::kLent, std::memory_order_relaxed);
    size_t bytes = kBufferBytes[size];
    size_t mark = options_.limit_bytes / 4 * 3;
    size_t before = in_use_.fetch_add(bytes, std::memory_order_relaxed);
    if (before <= mark && before + bytes > mark && options_.scarce != nullptr) options_.scarce();
    return {buffer.memory.load(std::memory_order_relaxed), bytes, 0};
  }
  if (options_.may_refuse) return {nullptr, 0, 0};
  return {scratch_, kScratchBytes, 1};
}

void ActivityBuffers::TakeBack(uint8_t* memory, size_t valid_bytes) {
  if (memory == scratch_) {
    swallowed_.fetch_add(valid_bytes > 0, std::memory_order_relaxed);
    return;
  }
  uint32_t index = Find(memory);
  if (index == kNone) return;
  Buffer& buffer = buffers_[index];
  State lent = State::kLent;
  if (!buffer.state.compare_exchange_strong(lent, State::kFilled)) return;
  buffer.valid_bytes = valid_bytes;
  buffer.next = filled_.load(std::memory_order_relaxed);
  while (!filled_.compare_exchange_weak(buffer.next, index, std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
}

void ActivityBuffers::KeepReady() {
  while (free_[0].length.load(std::memory_order_relaxed) < kReady) {
    uint32_t index = Allocate(0);
    if (index == kNone) return;
    // Its pages are made here, and not by the launch that first writes to them.
    memset(buffers_[index].memory.load(std::memory_order_relaxed), 0, kBufferBytes[0]);
    Push(&free_[0], index);
  }
}

void ActivityBuffers::GiveUpLent() {
  for (uint32_t i = 0; i < count_.load(std::memory_order_acquire); ++i) {
    State lent = State::kLent;
    if (buffers_[i].state.compare_exchange_strong(lent, State::kGone)) {
      in_use_.fetch_sub(kBufferBytes[buffers_[i].size], std::memory_order_relaxed);
    }
  }
}

bool ActivityBuffers::GiveBackAll() {
  if (!all_free()) return false;
  for (uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    // What has gone to another profiler counts for ever: then all stays.
    if (buffers_[i].state.load(std::memory_order_relaxed) == State::kGone) return false;
  }
  for (FreeList& list : free_) {
    while (Pop(&list) != kNone) {
    }
  }
  for (uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    free(buffers_[i].memory.load(std::memory_order_relaxed));
  }
  for (uint32_t slot = 0; slot <= slot_mask_; ++slot) {
    slots_[slot].store(0, std::memory_order_relaxed);
  }
  count_ = 0;
  allocated_ = 0;
  swallowed_ = 0;
  return true;
}

uint32_t ActivityBuffers::Allocate(int size) {
  size_t bytes = kBufferBytes[size];
  size_t allocated = allocated_.load(std::memory_order_relaxed);
  do {
    // The first few are there however small the bound is.
    if (allocated + bytes > ShareEnd(options_.limit_bytes, size) &&
        (size > 0 || allocated >= kReady * bytes)) {
      return kNone;
    }
  } while (
      !allocated_.compare_exchange_weak(allocated, allocated + bytes, std::memory_order_relaxed));
  auto* memory = static_cast<uint8_t*>(malloc(bytes));
  uint32_t index = memory == nullptr ? kNone : count_.load(std::memory_order_relaxed);
  while (index < most_ && !count_.compare_exchange_weak(index, index + 1)) {
  }
  if (index >= most_) {
    free(memory);
    allocated_.fetch_sub(bytes, std::memory_order_relaxed);
    return kNone;
  }
  Buffer& buffer = buffers_[index];
  buffer.size = static_cast<uint8_t>(size);
  buffer.memory.store(memory, std::memory_order_relaxed);
  for (uint32_t slot = Hash(memory) & slot_mask_;; slot = (slot + 1) & slot_mask_) {
    uint32_t free_slot = 0;
    if (slots_[slot].compare_exchange_strong(free_slot, index + 1, std::memory_order_release)) {
      return index;
    }
  }
}

uint32_t ActivityBuffers::Find(const uint8_t* memory) const {
  for (uint32_t slot = Hash(memory) & slot_mask_;; slot = (slot + 1) & slot_mask_) {
    uint32_t index = slots_[slot].load(std::memory_order_acquire);
    if (index == 0) return kNone;
    const Buffer& buffer = buffers_[index - 1];
    // Memory that was given up may have been freed, and be a later buffer's.
    if (buffer.memory.load(std::memory_order_relaxed) == memory &&
        buffer.state.load(std::memory_order_relaxed) != State::kGone) {
      return index - 1;
    }
  }
}

// The filled ones, oldest first.
uint32_t ActivityBuffers::TakeFilled() {
  uint32_t newest = filled_.exchange(kNone, std::memory_order_acquire);
  uint32_t oldest = kNone;
  while (newest != kNone) {
    uint32_t next = buffers_[newest].next;
    buffers_[newest].next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

void ActivityBuffers::Release(uint32_t index) {
  Buffer& buffer = buffers_[index];
  in_use_.fetch_sub(kBufferBytes[buffer.size], std::memory_order_relaxed);
  buffer.state.store(State::kFree, std::memory_order_relaxed);
  Push(&free_[buffer.size], index);
}

uint32_t ActivityBuffers::Pop(FreeList* list) {
  uint64_t head = list->head.load(std::memory_order_acquire);
  for (;;) {
    auto index = static_cast<uint32_t>(head);
    if (index == kNone) return kNone;
    uint32_t next = buffers_[index].next_free.load(std::memory_order_relaxed);
    uint64_t changed = (head & ~uint64_t{UINT32_MAX}) | next;
    if (list->head.compare_exchange_weak(head, changed, std::memory_order_acquire)) {
      list->length.fetch_sub(1, std::memory_order_relaxed);
      return index;
    }
  }
}

void ActivityBuffers::Push(FreeList* list, uint32_t index) {
  list->length.fetch_add(1, std::memory_order_relaxed);
  uint64_t head = list->head.load(std::memory_order_relaxed);
  uint64_t changed;
  do {
    buffers_[index].next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
    changed = ((head >> 32) + 1) << 32 | index;
  } while (!list->head.compare_exchange_weak(head, changed, std::memory_order_release,
                                             std::memory_order_relaxed));
}

}  // namespace tp::collect

// Memory for CUPTI's activity buffers: a pool that is there before the first launch needs it.
#ifndef COLLECTOR_CUPTI_ACTIVITY_BUFFERS_H_
#define COLLECTOR_CUPTI_ACTIVITY_BUFFERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tp::collect {

// A buffer that CUPTI has filled.
struct FilledBuffer {
  uint8_t* memory;
  size_t valid_bytes;
};

// Take and Give may be called from any thread at any time, also inside CUPTI's callbacks: no lock,
// no allocation while the pool lasts. Beyond it buffers are small ones from the heap, since CUPTI
// must never get none (before CUDA 12.9 it crashes).
class ActivityBuffers {
 public:
  static constexpr size_t kBufferBytes = 128 << 10;
  static constexpr size_t kSmallBufferBytes = 8 << 10;

  // Reserves `limit_bytes` of address space and touches the first few buffers. Check ok() after it.
  explicit ActivityBuffers(size_t limit_bytes);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  bool ok() const { return memory_ != nullptr; }

  // CUPTI's request: memory and its size.
  uint8_t* Take(size_t* bytes);
  // CUPTI's completion: queues the buffer for the collector thread.
  void Fill(uint8_t* memory, size_t valid_bytes);

  // Collector thread: calls `read(FilledBuffer)` for each filled buffer, oldest first, and gives it
  // back to the pool.
  template <typename Read>
  void ReadFilled(Read&& read) {
    Filled* filled = TakeFilled();
    while (filled != nullptr) {
      Filled* next = filled->next;
      read(FilledBuffer{filled->memory, filled->valid_bytes});
      Release(filled);
      filled = next;
    }
  }

  // Collector thread: touches pages of free buffers, so that no launch pays for their first use.
  void KeepReady();

  size_t memory_bytes() const;  // Of buffers that were ever in use.
  uint64_t small_buffers() const { return small_buffers_.load(std::memory_order_relaxed); }

 private:
  // Bookkeeping of one buffer, apart from its memory: CUPTI owns every byte of that.
  struct Filled {
    uint8_t* memory;
    size_t valid_bytes;
    Filled* next;
    uint32_t next_free;  // Index, while in the list of free buffers.
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kReady = 4;

  uint32_t PopFree();
  void PushFree(uint32_t index);
  Filled* TakeFilled();
  void Release(Filled* filled);
  bool InPool(const uint8_t* memory) const {
    return memory >= memory_ && memory < memory_ + count_ * kBufferBytes;
  }
  void Touch(uint32_t index);

  uint8_t* memory_ = nullptr;
  uint32_t count_ = 0;
  std::unique_ptr<Filled[]> buffers_;
  // Free buffers as a stack: index of the first, and a number that changes with each push, in one
  // word.
  std::atomic<uint64_t> free_;
  std::atomic<uint32_t> fresh_{0};    // Buffers from here on have never been used.
  std::atomic<uint32_t> touched_{0};  // Of the fresh ones, those before here were touched.
  std::atomic<Filled*> filled_{nullptr};
  std::atomic<uint64_t> small_buffers_{0};
  std::atomic<int64_t> small_held_{0};
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_ACTIVITY_BUFFERS_H_

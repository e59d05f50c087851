// Memory for CUPTI's activity buffers: a pool that is there before the first launch needs it, and
// that never grows beyond its bound.
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

// What CUPTI is given when it asks for a buffer.
struct LentBuffer {
  uint8_t* memory;  // nullptr: none, and CUPTI counts what it drops.
  size_t bytes;
  size_t most_records;  // 0: as many as fit.
};

// Lend and TakeBack may be called from any thread at any time, also inside CUPTI's callbacks: no
// lock, no allocation while the pool lasts. CUPTI holds a buffer for each thread that calls CUDA,
// so buffers are large while the pool is half empty, and smaller the fuller it is. Beyond its bound
// CUPTI gets none; where it would crash on that (before CUDA 12.9), one that swallows a single
// record.
//
// Each buffer is an allocation of its own, from malloc: a profiler that takes CUPTI over while we
// have buffers there is handed them, and may free them.
class ActivityBuffers {
 public:
  static constexpr size_t kBufferBytes[] = {128 << 10, 32 << 10, 8 << 10};

  struct Options {
    size_t limit_bytes;
    bool may_refuse;  // CUPTI bears it to get no buffer.
    // Called by Lend when the pool becomes scarce: a flush would bring buffers back. May be
    // nullptr.
    void (*scarce)() = nullptr;
  };
  // Allocates the first few buffers. Check ok() after it.
  explicit ActivityBuffers(const Options& options);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  bool ok() const { return ok_; }

  // CUPTI's request.
  LentBuffer Lend();
  // CUPTI's completion: queues the buffer for the collector thread. What is not ours is left alone.
  void TakeBack(uint8_t* memory, size_t valid_bytes);

  // Collector thread: calls `read(FilledBuffer)` for each filled buffer, oldest first, and gives it
  // back to the pool.
  template <typename Read>
  void ReadFilled(Read&& read) {
    for (uint32_t index = TakeFilled(); index != kNone;) {
      Buffer& buffer = buffers_[index];
      uint32_t next = buffer.next;
      read(FilledBuffer{buffer.memory.load(std::memory_order_relaxed), buffer.valid_bytes});
      Release(index);
      index = next;
    }
  }

  // Collector thread: has a few large buffers ready, so that no launch pays for making one.
  void KeepReady();

  // Collector thread, when CUPTI's callbacks are another's: what is lent will not come back, and is
  // not ours any more. It counts against the bound for ever, since it may be held for ever.
  void GiveUpLent();

  // Collector thread, when CUPTI asks for no buffer any more: gives all memory back and begins as at
  // first. False, and nothing has changed, if some are in CUPTI's hands.
  bool GiveBackAll();

  // None is in CUPTI's hands, and none waits to be read.
  bool all_free() const { return in_use_.load(std::memory_order_relaxed) == 0; }
  // More than three quarters are in CUPTI's hands or wait to be read.
  bool scarce() const {
    return in_use_.load(std::memory_order_relaxed) > options_.limit_bytes / 4 * 3;
  }

  size_t memory_bytes() const { return allocated_.load(std::memory_order_relaxed); }
  // Records for which there was no buffer, as far as CUPTI does not count them.
  uint64_t swallowed() const { return swallowed_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint8_t { kFree, kLent, kFilled, kGone };
  static constexpr int kSizes = 3;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kReady = 4;
  // At least the largest record of any CUPTI.
  static constexpr size_t kScratchBytes = 4096;

  // Bookkeeping of one buffer, apart from its memory: CUPTI owns every byte of that.
  struct Buffer {
    std::atomic<uint8_t*> memory;
    size_t valid_bytes;
    uint32_t next;  // Index, among those that are filled.
    std::atomic<uint32_t> next_free;
    uint8_t size;  // Of kBufferBytes.
    std::atomic<State> state;
  };
  // Free buffers of one size as a stack: index of the first, and a number that changes with each
  // push, in one word.
  struct FreeList {
    std::atomic<uint64_t> head{kNone};
    std::atomic<uint32_t> length{0};
  };

  uint32_t Allocate(int size);
  uint32_t Pop(FreeList* list);
  void Push(FreeList* list, uint32_t index);
  uint32_t Find(const uint8_t* memory) const;
  uint32_t TakeFilled();
  void Release(uint32_t index);

  Options options_;
  bool ok_ = false;
  uint32_t most_;  // Buffers that fit into the bound.
  std::unique_ptr<Buffer[]> buffers_;
  std::atomic<uint32_t> count_{0};  // Of buffers_, in use.
  // Buffers by their memory: indices plus one, open addressing, never removed. A power of two.
  std::unique_ptr<std::atomic<uint32_t>[]> slots_;
  uint32_t slot_mask_;
  FreeList free_[kSizes];
  std::atomic<uint32_t> filled_{kNone};  // The newest; the older ones by `next`.
  std::atomic<size_t> allocated_{0};
  std::atomic<size_t> in_use_{0};
  std::atomic<uint64_t> swallowed_{0};
  alignas(16) uint8_t scratch_[kScratchBytes];
};

}  // namespace tp::collect

#endif  // COLLECTOR_CUPTI_ACTIVITY_BUFFERS_H_

// A table of objects whose addresses are the handles that a program holds (CUstream, CUevent, ...).
//
// A program may hand in anything: a handle that was destroyed, or a number that never was one.
// Objects live in one reserved range of addresses, so Get can tell without touching foreign memory,
// and without a lock. Slots are used again; the range is never unmapped.
#ifndef TESTS_SIMCUDA_CORE_HANDLE_TABLE_H_
#define TESTS_SIMCUDA_CORE_HANDLE_TABLE_H_

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace simcuda {

template <typename T, size_t kCapacity>
class HandleTable {
 public:
  HandleTable() {
    void* range = mmap(nullptr, kCapacity * sizeof(Slot), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    slots_ = range == MAP_FAILED ? nullptr : static_cast<Slot*>(range);
  }
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // nullptr when the table is full.
  template <typename... Arguments>
  T* Create(Arguments&&... arguments) {
    size_t index;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
      } else if (slots_ != nullptr && used_ < kCapacity) {
        index = used_++;
      } else {
        return nullptr;
      }
    }
    Slot& slot = slots_[index];
    T* object = new (slot.storage) T(std::forward<Arguments>(arguments)...);
    slot.live.store(true, std::memory_order_release);
    return object;
  }

  // The object of a live handle, else nullptr.
  T* Get(const void* handle) const {
    uintptr_t address = reinterpret_cast<uintptr_t>(handle);
    uintptr_t base = reinterpret_cast<uintptr_t>(slots_);
    if (slots_ == nullptr || address < base || address >= base + kCapacity * sizeof(Slot))
      return nullptr;
    if ((address - base) % sizeof(Slot) != 0) return nullptr;
    Slot& slot = slots_[(address - base) / sizeof(Slot)];
    if (!slot.live.load(std::memory_order_acquire)) return nullptr;
    return std::launder(reinterpret_cast<T*>(slot.storage));
  }

  // From here on Get refuses the handle; the object stays until Free.
  void Retire(T* object) { SlotOf(object)->live.store(false, std::memory_order_release); }

  void Free(T* object) {
    Slot* slot = SlotOf(object);
    object->~T();
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(static_cast<size_t>(slot - slots_));
  }

  void Destroy(T* object) {
    Retire(object);
    Free(object);
  }

  // Live objects, in the order of their slots. Nothing may be created or destroyed meanwhile.
  template <typename Visit>
  void ForEach(Visit visit) const {
    size_t used;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      used = used_;
    }
    if (slots_ == nullptr) return;
    for (size_t i = 0; i < used; ++i) {
      if (slots_[i].live.load(std::memory_order_acquire)) {
        visit(*std::launder(reinterpret_cast<T*>(slots_[i].storage)));
      }
    }
  }

 private:
  struct Slot {
    alignas(T) unsigned char storage[sizeof(T)];
    std::atomic<bool> live;
  };

  static Slot* SlotOf(T* object) { return reinterpret_cast<Slot*>(object); }

  mutable std::mutex mutex_;
  Slot* slots_ = nullptr;
  size_t used_ = 0;
  std::vector<size_t> free_;
};

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_HANDLE_TABLE_H_

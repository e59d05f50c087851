// The simulated memory: host pages stand in for device, managed and pinned memory, in ranges of
// their own, so that a pointer tells what it is. Sizes in bytes. Thread safe. Memory lives until it
// is freed; nothing is given back at exit.
#ifndef TESTS_SIMCUDA_CORE_MEMORY_H_
#define TESTS_SIMCUDA_CORE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace simcuda {

// CUpti_ActivityMemoryKind's numbers.
enum class MemoryKind : uint32_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kArray = 4,
  kManaged = 5,
  kDeviceStatic = 6,
};

struct Allocation {
  uint64_t address = 0;
  size_t bytes = 0;           // As asked for.
  size_t reserved_bytes = 0;  // Whole pages or alignment units.
  MemoryKind kind = MemoryKind::kUnknown;
  uint32_t device_id = 0;
  uint32_t context_id = 0;
  void* context = nullptr;
  uint64_t buffer_id = 0;
  unsigned host_flags = 0;
  bool registered = false;  // The program's own memory, pinned by cuMemHostRegister.
  bool from_pool = false;   // cuMemAllocAsync.
  // Allocated by a graph, whose next launch has it again at the same address: freeing it keeps it.
  bool of_graph = false;
};

class Memory {
 public:
  static constexpr uint64_t kDeviceBytes = uint64_t{80} << 30;  // Per device.
  static constexpr size_t kAlignment = 512;

  static Memory& Instance();

  // Allocates; 0 when the device (or the host) has no room. `allocation` names the kind, device,
  // context and bytes.
  uint64_t Allocate(const Allocation& allocation);

  // Frees the allocation that starts at `address` and says what it was. False when there is none of
  // that kind.
  bool Free(uint64_t address, MemoryKind kind, Allocation* freed);

  // cuMemHostRegister and its opposite. False when a part is known already, or nothing is.
  bool Register(const Allocation& allocation);
  bool Unregister(uint64_t address);

  // Address space of the virtual memory functions: reserved, without an allocation's pages.
  uint64_t ReserveRange(size_t bytes);
  bool ReleaseRange(uint64_t address, size_t bytes);
  // Shows `file` (a memory file) at a part of a reserved range, and takes it away again.
  bool MapFile(const Allocation& allocation, int file, size_t offset);
  bool SetAccess(uint64_t address, size_t bytes, bool readable, bool writable);
  bool UnmapFile(uint64_t address, size_t bytes);
  void ChargePhysical(uint32_t device_id, int64_t bytes);

  // The allocation that holds `address`. False for ordinary host memory.
  bool Find(uint64_t address, Allocation* allocation) const;

  // What `address` is; kPageable when it is nothing that was allocated here.
  MemoryKind KindOf(uint64_t address, uint32_t* device_id = nullptr) const;

  // True when `address` is in the range of device addresses but in no allocation.
  bool IsDangling(uint64_t address, size_t bytes) const;

  uint64_t FreeBytes(uint32_t device_id) const;
  // What stream-ordered allocations hold on a device.
  uint64_t PoolBytes(uint32_t device_id) const;

  // Frees all that a context owns (its end, or a device reset).
  void FreeContext(const void* context);

 private:
  Memory();

  uint64_t TakeRange(size_t bytes);
  void GiveRange(uint64_t address, size_t bytes);
  void ReleaseLocked(std::map<uint64_t, Allocation>::iterator at);

  mutable std::shared_mutex mutex_;
  uint64_t base_ = 0, end_ = 0;
  std::map<uint64_t, size_t> free_ranges_;  // Address to bytes; neighbours are merged.
  std::map<uint64_t, Allocation> allocations_;
  std::map<uint64_t, size_t> reservations_;
  std::map<uint32_t, uint64_t> used_;  // Per device.
  uint64_t next_buffer_id_ = 1;
};

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_MEMORY_H_

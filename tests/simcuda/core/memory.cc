#include "tests/simcuda/core/memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace simcuda {
namespace {

constexpr size_t kPage = 4096;
// Address space alone: pages are taken when they are touched.
constexpr uint64_t kRangeBytes = uint64_t{1} << 40;
constexpr uint64_t kSmallestRangeBytes = uint64_t{1} << 32;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

void* At(uint64_t address) { return reinterpret_cast<void*>(address); }

bool OnDevice(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kArray ||
         kind == MemoryKind::kDeviceStatic || kind == MemoryKind::kManaged;
}

}  // namespace

Memory& Memory::Instance() {
  static Memory* memory = new Memory;
  return *memory;
}

Memory::Memory() {
  for (uint64_t bytes = kRangeBytes; bytes >= kSmallestRangeBytes; bytes /= 2) {
    void* range =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    base_ = reinterpret_cast<uint64_t>(range);
    end_ = base_ + bytes;
    free_ranges_[base_] = bytes;
    return;
  }
}

uint64_t Memory::TakeRange(size_t bytes) {
  for (auto at = free_ranges_.begin(); at != free_ranges_.end(); ++at) {
    if (at->second < bytes) continue;
    auto [address, room] = *at;
    free_ranges_.erase(at);
    if (room > bytes) free_ranges_[address + bytes] = room - bytes;
    return address;
  }
  return 0;
}

void Memory::GiveRange(uint64_t address, size_t bytes) {
  auto next = free_ranges_.lower_bound(address);
  if (next != free_ranges_.end() && next->first == address + bytes) {
    bytes += next->second;
    next = free_ranges_.erase(next);
  }
  if (next != free_ranges_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      previous->second += bytes;
      return;
    }
  }
  free_ranges_[address] = bytes;
}

uint64_t Memory::Allocate(const Allocation& wanted) {
  std::unique_lock lock(mutex_);
  Allocation allocation = wanted;
  allocation.reserved_bytes = RoundUp(std::max<size_t>(wanted.bytes, 1), kAlignment);
  if (allocation.reserved_bytes < wanted.bytes) return 0;
  uint64_t& used = used_[wanted.device_id];
  if (OnDevice(wanted.kind) && allocation.reserved_bytes > kDeviceBytes - used) return 0;
  uint64_t address = TakeRange(allocation.reserved_bytes);
  if (address == 0) return 0;
  uint64_t first_page = address / kPage * kPage;
  uint64_t last_page = RoundUp(address + allocation.reserved_bytes, kPage);
  if (mprotect(At(first_page), last_page - first_page, PROT_READ | PROT_WRITE) != 0) {
    GiveRange(address, allocation.reserved_bytes);
    return 0;
  }
  allocation.address = address;
  allocation.buffer_id = next_buffer_id_++;
  if (OnDevice(wanted.kind)) used += allocation.reserved_bytes;
  allocations_[address] = allocation;
  return address;
}

void Memory::ReleaseLocked(std::map<uint64_t, Allocation>::iterator at) {
  const Allocation& allocation = at->second;
  if (!allocation.registered) {
    // Whole pages go back to the system; what shares its page with a neighbour stays.
    uint64_t first = RoundUp(allocation.address, kPage);
    uint64_t last = (allocation.address + allocation.reserved_bytes) / kPage * kPage;
    if (last > first) madvise(At(first), last - first, MADV_DONTNEED);
    if (OnDevice(allocation.kind)) used_[allocation.device_id] -= allocation.reserved_bytes;
    GiveRange(allocation.address, allocation.reserved_bytes);
  }
  allocations_.erase(at);
}

bool Memory::Free(uint64_t address, MemoryKind kind, Allocation* freed) {
  std::unique_lock lock(mutex_);
  auto at = allocations_.find(address);
  if (at == allocations_.end() || at->second.registered) return false;
  bool device = kind == MemoryKind::kDevice && at->second.kind == MemoryKind::kManaged;
  if (at->second.kind != kind && !device) return false;
  *freed = at->second;
  ReleaseLocked(at);
  return true;
}

bool Memory::Register(const Allocation& allocation) {
  std::unique_lock lock(mutex_);
  auto next = allocations_.lower_bound(allocation.address);
  if (next != allocations_.end() && next->first < allocation.address + allocation.bytes) {
    return false;
  }
  if (next != allocations_.begin()) {
    const Allocation& previous = std::prev(next)->second;
    if (previous.address + previous.bytes > allocation.address) return false;
  }
  Allocation kept = allocation;
  kept.registered = true;
  kept.reserved_bytes = kept.bytes;
  kept.buffer_id = next_buffer_id_++;
  allocations_[kept.address] = kept;
  return true;
}

bool Memory::Unregister(uint64_t address) {
  std::unique_lock lock(mutex_);
  auto at = allocations_.find(address);
  if (at == allocations_.end() || !at->second.registered) return false;
  allocations_.erase(at);
  return true;
}

uint64_t Memory::ReserveRange(size_t bytes) {
  constexpr size_t kGranularity = size_t{2} << 20;
  std::unique_lock lock(mutex_);
  // Taken with room to spare, so that the range can start at a multiple of the granularity.
  uint64_t taken = TakeRange(bytes + kGranularity);
  if (taken == 0) return 0;
  uint64_t address = RoundUp(taken, kGranularity);
  if (address > taken) GiveRange(taken, address - taken);
  GiveRange(address + bytes, taken + kGranularity - address);
  reservations_[address] = bytes;
  mprotect(At(address), bytes, PROT_NONE);
  return address;
}

bool Memory::ReleaseRange(uint64_t address, size_t bytes) {
  std::unique_lock lock(mutex_);
  auto at = reservations_.find(address);
  if (at == reservations_.end() || at->second != bytes) return false;
  reservations_.erase(at);
  GiveRange(address, bytes);
  return true;
}

bool Memory::MapFile(const Allocation& allocation, int file, size_t offset) {
  std::unique_lock lock(mutex_);
  auto at = reservations_.upper_bound(allocation.address);
  if (at == reservations_.begin()) return false;
  --at;
  if (allocation.address + allocation.bytes > at->first + at->second) return false;
  void* mapped = mmap(At(allocation.address), allocation.bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                      file, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return false;
  Allocation kept = allocation;
  kept.reserved_bytes = kept.bytes;
  kept.buffer_id = next_buffer_id_++;
  kept.registered = true;  // Its address range is the reservation's, not its own.
  allocations_[kept.address] = kept;
  return true;
}

bool Memory::SetAccess(uint64_t address, size_t bytes, bool readable, bool writable) {
  std::unique_lock lock(mutex_);
  int protection = (readable ? PROT_READ : 0) | (writable ? PROT_WRITE : 0);
  return mprotect(At(address), bytes, protection) == 0;
}

bool Memory::UnmapFile(uint64_t address, size_t bytes) {
  std::unique_lock lock(mutex_);
  auto at = allocations_.find(address);
  if (at == allocations_.end() || at->second.bytes != bytes) return false;
  allocations_.erase(at);
  return mmap(At(address), bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

void Memory::ChargePhysical(uint32_t device_id, int64_t bytes) {
  std::unique_lock lock(mutex_);
  used_[device_id] += static_cast<uint64_t>(bytes);
}

bool Memory::Find(uint64_t address, Allocation* allocation) const {
  std::shared_lock lock(mutex_);
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return false;
  const Allocation& found = std::prev(next)->second;
  if (address >= found.address + std::max<size_t>(found.reserved_bytes, 1)) return false;
  *allocation = found;
  return true;
}

MemoryKind Memory::KindOf(uint64_t address, uint32_t* device_id) const {
  Allocation allocation;
  if (!Find(address, &allocation)) return MemoryKind::kPageable;
  if (device_id != nullptr) *device_id = allocation.device_id;
  return allocation.kind;
}

bool Memory::IsDangling(uint64_t address, size_t bytes) const {
  if (address < base_ || address >= end_) return false;
  Allocation allocation;
  if (!Find(address, &allocation)) return true;
  uint64_t last = address + bytes;
  if (last <= allocation.address + allocation.reserved_bytes) return false;
  // A copy may span neighbouring mappings of one reserved range.
  return !allocation.registered || (last > address && IsDangling(last - 1, 1));
}

uint64_t Memory::FreeBytes(uint32_t device_id) const {
  std::shared_lock lock(mutex_);
  auto at = used_.find(device_id);
  return kDeviceBytes - (at == used_.end() ? 0 : at->second);
}

uint64_t Memory::PoolBytes(uint32_t device_id) const {
  std::shared_lock lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [address, allocation] : allocations_) {
    if (allocation.from_pool && allocation.device_id == device_id) {
      bytes += allocation.reserved_bytes;
    }
  }
  return bytes;
}

void Memory::FreeContext(const void* context) {
  std::unique_lock lock(mutex_);
  for (auto at = allocations_.begin(); at != allocations_.end();) {
    auto next = std::next(at);
    if (at->second.context == context && !at->second.registered) ReleaseLocked(at);
    at = next;
  }
}

}  // namespace simcuda

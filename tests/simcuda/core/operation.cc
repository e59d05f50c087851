#include "tests/simcuda/core/operation.h"

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>

#include "tests/simcuda/core/control.h"
#include "tests/simcuda/core/kernel_cost.h"

namespace simcuda {
namespace {

// What the calling thread has said about its next work.
struct Next {
  uint64_t duration_ns = 0;
  uint64_t delay_ns = 0;
  bool has_duration = false, has_delay = false;
  const char* kernel_name = nullptr;
};
thread_local Next next;

const char* Intern(const char* text) {
  static std::mutex* mutex = new std::mutex;
  static auto* texts = new std::unordered_set<std::string>;
  std::lock_guard<std::mutex> lock(*mutex);
  return texts->insert(text).first->c_str();
}

template <typename What>
Operation Finish(What what, uint64_t usual_ns) {
  Operation operation;
  operation.what = std::move(what);
  operation.duration_ns = next.has_duration ? next.duration_ns : usual_ns;
  operation.delay_ns = next.has_delay ? next.delay_ns : kLaunchLatencyNs;
  next.has_duration = next.has_delay = false;
  return operation;
}

bool OnHost(MemoryKind kind) {
  return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned;
}

void MoveBox(const Copy& copy) {
  for (size_t z = 0; z < copy.depth; ++z) {
    for (size_t y = 0; y < copy.height; ++y) {
      memmove(reinterpret_cast<void*>(copy.destination + z * copy.destination_slice +
                                      y * copy.destination_pitch),
              reinterpret_cast<const void*>(copy.source + z * copy.source_slice +
                                            y * copy.source_pitch),
              copy.width);
    }
  }
}

template <typename Element>
void FillRows(const Fill& fill) {
  for (size_t y = 0; y < fill.height; ++y) {
    auto* row = reinterpret_cast<Element*>(fill.destination + y * fill.pitch);
    if constexpr (sizeof(Element) == 1) {
      memset(row, static_cast<int>(fill.value & 0xff), fill.width);
    } else {
      for (size_t x = 0; x < fill.width; ++x) row[x] = static_cast<Element>(fill.value);
    }
  }
}

}  // namespace

Operation MakeOperation(KernelLaunch launch) {
  uint64_t ns = launch.kernel->fixed_ns;
  if (ns == 0) {
    ns = DefaultKernelNs(uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2],
                         launch.block[0] * launch.block[1] * launch.block[2]);
  }
  launch.reported_name = NextReportedName(*launch.kernel);
  next.kernel_name = nullptr;
  return Finish(launch, ns);
}

Operation MakeOperation(Copy copy) {
  constexpr uint64_t kLatencyNs = 1500;
  constexpr double kPinned = 50, kPageable = 12, kDevice = 2000, kPeer = 200;  // Bytes per ns.
  double speed = kDevice;
  if (copy.peer) {
    speed = kPeer;
  } else if (OnHost(copy.source_kind) || OnHost(copy.destination_kind)) {
    bool pageable =
        copy.source_kind == MemoryKind::kPageable || copy.destination_kind == MemoryKind::kPageable;
    speed = pageable ? kPageable : kPinned;
  }
  return Finish(copy,
                kLatencyNs + static_cast<uint64_t>(static_cast<double>(copy.bytes()) / speed));
}

Operation MakeOperation(Fill fill) { return Finish(fill, 1200 + fill.bytes() / 2000); }

const char* NextReportedName(const Kernel& kernel) {
  return next.kernel_name != nullptr ? next.kernel_name : kernel.name();
}

void MoveBytes(const Operation& operation) {
  if (const Copy* copy = std::get_if<Copy>(&operation.what)) {
    MoveBox(*copy);
  } else if (const Fill* fill = std::get_if<Fill>(&operation.what)) {
    if (fill->element_bytes == 1) FillRows<uint8_t>(*fill);
    if (fill->element_bytes == 2) FillRows<uint16_t>(*fill);
    if (fill->element_bytes == 4) FillRows<uint32_t>(*fill);
  }
}

uint32_t CopyKind(const Copy& copy) {
  constexpr uint32_t kHostToDevice = 1, kDeviceToHost = 2, kHostToArray = 3, kArrayToHost = 4,
                     kArrayToArray = 5, kArrayToDevice = 6, kDeviceToArray = 7, kDeviceToDevice = 8,
                     kHostToHost = 9, kPeerToPeer = 10;
  if (copy.peer) return kPeerToPeer;
  bool from_host = OnHost(copy.source_kind), to_host = OnHost(copy.destination_kind);
  bool from_array = copy.source_kind == MemoryKind::kArray;
  bool to_array = copy.destination_kind == MemoryKind::kArray;
  if (from_host) return to_host ? kHostToHost : to_array ? kHostToArray : kHostToDevice;
  if (from_array) return to_host ? kArrayToHost : to_array ? kArrayToArray : kArrayToDevice;
  return to_host ? kDeviceToHost : to_array ? kDeviceToArray : kDeviceToDevice;
}

}  // namespace simcuda

extern "C" {

void simcuda_next_duration_ns(uint64_t ns) {
  simcuda::next.duration_ns = ns;
  simcuda::next.has_duration = true;
}

void simcuda_next_delay_ns(uint64_t ns) {
  simcuda::next.delay_ns = ns;
  simcuda::next.has_delay = true;
}

void simcuda_next_kernel_name(const char* name) {
  simcuda::next.kernel_name = name == nullptr ? nullptr : simcuda::Intern(name);
}

}  // extern "C"

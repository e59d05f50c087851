// What is known of the things that records name by number: devices, contexts, streams, threads.
// `given_name` is the program's own word for a thing (NVTX), empty if it gave none. Numbers are 0
// where the source does not tell. Texts are any bytes.
#ifndef ANALYZER_MODEL_DESCRIPTIONS_H_
#define ANALYZER_MODEL_DESCRIPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace tp {

struct DeviceDescription {
  std::string name;  // "NVIDIA H200"
  std::string given_name;
  std::string uuid;  // 16 bytes, or empty.
  uint32_t compute_major = 0, compute_minor = 0;
  uint64_t memory_bytes = 0, memory_kilobytes_per_second = 0;
  uint32_t multiprocessors = 0, core_clock_khz = 0, l2_cache_bytes = 0;
  uint32_t threads_per_warp = 0, threads_per_block = 0, threads_per_multiprocessor = 0;
  uint32_t registers_per_block = 0, registers_per_multiprocessor = 0;
  uint32_t shared_bytes_per_block = 0, shared_bytes_per_multiprocessor = 0;
};

inline constexpr int64_t kUnknownNumber = -1;

struct ContextDescription {
  std::string given_name;
  int64_t device = kUnknownNumber;
  int64_t null_stream = kUnknownNumber;  // The number of its default stream.
};

// CUpti_ActivityStreamFlag's numbers.
enum class StreamKind : uint8_t { kUnknown = 0, kDefault = 1, kNonBlocking = 2, kNull = 3 };

struct StreamDescription {
  std::string given_name;
  StreamKind kind = StreamKind::kUnknown;
  int32_t priority = 0;  // Lower numbers come first.
};

struct ThreadDescription {
  std::string given_name;
  std::string name;  // The system's.

  const std::string& shown() const { return given_name.empty() ? name : given_name; }
};

// Of one process.
struct Descriptions {
  std::map<int64_t, DeviceDescription> devices;
  std::map<int64_t, ContextDescription> contexts;
  std::map<std::pair<int64_t, int64_t>, StreamDescription> streams;  // By context and number.
  std::map<int64_t, ThreadDescription> threads;

  // What a stream is called: its given name; "default" if it is known to be its context's default
  // stream; else nothing.
  std::string StreamName(int64_t context, int64_t stream) const;
  // What a device is called: "NVIDIA H200", or "trainer, NVIDIA H200"; nothing if it is not known.
  std::string DeviceName(int64_t device) const;
  // "GPU-00112233-...", as NVIDIA's tools show it; empty without one.
  static std::string UuidText(const std::string& uuid);

  size_t memory_bytes() const;
};

}  // namespace tp

#endif  // ANALYZER_MODEL_DESCRIPTIONS_H_

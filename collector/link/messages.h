// The messages about the process itself, encoded as proto/wire.proto has them.
#ifndef COLLECTOR_LINK_MESSAGES_H_
#define COLLECTOR_LINK_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/cupti/clock.h"
#include "collector/events.h"

namespace tp::collect {

// Numbers of wire.proto's CollectorState.
enum class State : uint8_t { kDormant = 1, kCapturing = 2, kDisabled = 3, kWaiting = 4 };

struct Loss {
  EventKind kind;
  LossCause cause;
  uint64_t count;
};

struct HelloFields {
  uint32_t cupti_version = 0;
  uint32_t driver_version = 0;
  std::string cupti_path;
  ClockReading clock;
  EventCounts acknowledged;
  uint64_t oldest_sequence = 0;
  int64_t capture_start_ns = 0;
  bool attached = false;
};

// Reads the rest (pid, start time, command, rank) from the process itself.
std::string EncodeHello(const HelloFields& fields);

struct StatusFields {
  State state = State::kDormant;
  std::string reason;
  std::vector<Loss> losses;  // Those that are zero are left out.
  EventCounts produced;
  ClockReading clock;
  uint64_t collector_cpu_ns = 0;
  uint64_t memory_bytes = 0;
  std::vector<std::string> notes;
  std::vector<std::string> activities;
  uint64_t capture_token = 0;
  int64_t recording_start_ns = 0;
};

std::string EncodeStatus(const StatusFields& fields);

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_MESSAGES_H_

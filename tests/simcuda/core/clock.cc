#include "tests/simcuda/core/clock.h"

#include <time.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace simcuda {
namespace {

uint64_t Read(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// What to add to CLOCK_MONOTONIC. Grows when a wait is shortened.
std::atomic<uint64_t>& Offset() {
  static std::atomic<uint64_t> offset = [] {
    uint64_t before = Read(CLOCK_MONOTONIC);
    uint64_t real = Read(CLOCK_REALTIME);
    uint64_t after = Read(CLOCK_MONOTONIC);
    const char* text = getenv("SIMCUDA_CLOCK_OFFSET_NS");
    int64_t constant = text == nullptr ? 0 : strtoll(text, nullptr, 10);
    return real - (before + (after - before) / 2) + static_cast<uint64_t>(constant);
  }();
  return offset;
}

double Speed() {
  static const double speed = [] {
    const char* text = getenv("SIMCUDA_SPEED");
    if (text == nullptr) return 1.0;
    double value = strtod(text, nullptr);
    return std::isfinite(value) && value >= 0 ? value : 1.0;
  }();
  return speed;
}

}  // namespace

uint64_t NowNs() { return Read(CLOCK_MONOTONIC) + Offset().load(std::memory_order_relaxed); }

uint64_t RealNsUntil(uint64_t time_ns) {
  uint64_t now = NowNs();
  if (now >= time_ns || Speed() == 0) return 0;
  return static_cast<uint64_t>(static_cast<double>(time_ns - now) / Speed());
}

void AdvanceTo(uint64_t time_ns) {
  if (Speed() == 1.0) return;
  std::atomic<uint64_t>& offset = Offset();
  uint64_t wanted = time_ns - Read(CLOCK_MONOTONIC);
  uint64_t seen = offset.load(std::memory_order_relaxed);
  while (static_cast<int64_t>(wanted - seen) > 0 && !offset.compare_exchange_weak(seen, wanted)) {
  }
}

void WaitUntil(uint64_t time_ns) {
  for (uint64_t left = RealNsUntil(time_ns); left > 0; left = RealNsUntil(time_ns)) {
    timespec sleep = {static_cast<time_t>(left / 1'000'000'000u),
                      static_cast<long>(left % 1'000'000'000u)};
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, nullptr);
    if (error != EINTR) AdvanceTo(time_ns);
  }
  AdvanceTo(time_ns);
}

}  // namespace simcuda

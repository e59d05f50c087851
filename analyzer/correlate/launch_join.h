// From device work to the operation that asked for it: joins launches and device records by their
// correlation id, in any order, keeping sums per launch and no record.
//
// One launch may issue much device work (a graph), and a runtime call and the driver call inside it
// may both be launches of one correlation: the work counts once. Where they name different
// operations the larger id, the one begun later, is the innermost. Bounded: the oldest launches are
// let go; work that comes later still stays without an operation. Durations in ns. Not thread-safe.
#ifndef ANALYZER_CORRELATE_LAUNCH_JOIN_H_
#define ANALYZER_CORRELATE_LAUNCH_JOIN_H_

#include <cstddef>
#include <cstdint>

#include "analyzer/correlate/two_generations.h"
#include "analyzer/model/recording.h"

namespace tp {

// A sum over device records.
struct DeviceWork {
  int64_t duration_ns = 0;
  int32_t records = 0;
  int32_t kernels = 0;

  DeviceWork& operator+=(const DeviceWork& other) {
    duration_ns += other.duration_ns;
    records += other.records;
    kernels += other.kernels;
    return *this;
  }
  DeviceWork operator-() const { return {-duration_ns, -records, -kernels}; }
};

class LaunchJoin {
 public:
  explicit LaunchJoin(size_t limit) : launches_(limit) {}

  // What follows from a new fact: `work` now belongs to `operation`, and what belonged to
  // `instead_of` no longer does.
  struct Outcome {
    uint64_t operation = kNoOperation;
    uint64_t instead_of = kNoOperation;
    DeviceWork work;
  };

  // None is called with correlation 0. `work` may be negative: it turns out not to be any.
  Outcome AddLaunch(uint64_t correlation, uint64_t operation);
  Outcome AddWork(uint64_t correlation, const DeviceWork& work);
  // A call with this correlation began at `start_ns`.
  struct Call {
    bool is_news = false;   // It is the first that is known, or earlier than those that were.
    bool has_work = false;  // Work was added to the launch, and is still kept.
  };
  Call AddCall(uint64_t correlation, int64_t start_ns);
  // When the earliest of its calls began; kNoCall: none is known.
  static constexpr int64_t kNoCall = INT64_MAX;
  int64_t CallStart(uint64_t correlation);

  // Device records that came when launches with larger ids had already been let go and their own
  // was not known.
  uint64_t too_late() const { return too_late_; }
  size_t size() const { return launches_.size(); }
  size_t memory_bytes() const { return launches_.memory_bytes(); }

 private:
  struct Launch {
    uint64_t operation = kNoOperation;
    int64_t call_start_ns = kNoCall;
    DeviceWork work;
  };
  Launch& At(uint64_t correlation);

  TwoGenerations<Launch> launches_;
  uint64_t largest_let_go_ = 0;
  uint64_t too_late_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_CORRELATE_LAUNCH_JOIN_H_

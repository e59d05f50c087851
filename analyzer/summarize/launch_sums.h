// What the launches of one kernel had in common: averages of their configurations, the shape where
// it was always the same, and how long they waited.
#ifndef ANALYZER_SUMMARIZE_LAUNCH_SUMS_H_
#define ANALYZER_SUMMARIZE_LAUNCH_SUMS_H_

#include <cstdint>

#include "analyzer/model/recording.h"
#include "proto/query.pb.h"

namespace tp {

class LaunchSums {
 public:
  // One that tells nothing changes nothing.
  void Add(const KernelLaunch& kernel);
  void Add(const LaunchSums& other);

  bool empty() const { return launches_ == 0 && queued_ == 0 && submitted_ == 0; }
  void Describe(query::LaunchSummary* summary) const;

 private:
  int64_t launches_ = 0;  // Those whose configuration is known.
  // Sums over them.
  uint64_t blocks_ = 0, threads_per_block_ = 0, registers_ = 0;
  uint64_t static_shared_bytes_ = 0, dynamic_shared_bytes_ = 0, local_bytes_ = 0;
  int64_t cooperative_ = 0;
  LaunchConfiguration first_;
  bool grid_varies_ = false, block_varies_ = false, cluster_varies_ = false;
  // Those that tell when they were queued and submitted, and the times from then to their start.
  int64_t queued_ = 0, submitted_ = 0;
  int64_t queued_ns_ = 0, submitted_ns_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_LAUNCH_SUMS_H_

#include "analyzer/summarize/launch_sums.h"

namespace tp {
namespace {

uint64_t Product(const std::array<uint32_t, 3>& extent) {
  return uint64_t{extent[0]} * extent[1] * extent[2];
}

double Average(uint64_t sum, int64_t count) {
  return static_cast<double>(sum) / static_cast<double>(count);
}

template <typename Field>
void SetExtent(const std::array<uint32_t, 3>& extent, Field* field) {
  field->Assign(extent.begin(), extent.end());
}

}  // namespace

void LaunchSums::Add(const KernelLaunch& kernel) {
  if (kernel.queued_to_start_ns != kUnknownDuration) {
    ++queued_;
    queued_ns_ += kernel.queued_to_start_ns;
  }
  if (kernel.submitted_to_start_ns != kUnknownDuration) {
    ++submitted_;
    submitted_ns_ += kernel.submitted_to_start_ns;
  }
  const LaunchConfiguration& launch = kernel.configuration;
  if (!launch.known()) return;
  if (launches_ == 0) first_ = launch;
  grid_varies_ |= launch.grid != first_.grid;
  block_varies_ |= launch.block != first_.block;
  cluster_varies_ |= launch.cluster != first_.cluster;
  ++launches_;
  blocks_ += Product(launch.grid);
  threads_per_block_ += Product(launch.block);
  registers_ += launch.registers_per_thread;
  static_shared_bytes_ += launch.static_shared_bytes;
  dynamic_shared_bytes_ += launch.dynamic_shared_bytes;
  local_bytes_ += launch.local_bytes_per_thread;
  cooperative_ += launch.type == LaunchType::kCooperative;
}

void LaunchSums::Add(const LaunchSums& other) {
  queued_ += other.queued_;
  queued_ns_ += other.queued_ns_;
  submitted_ += other.submitted_;
  submitted_ns_ += other.submitted_ns_;
  if (other.launches_ == 0) return;
  if (launches_ == 0) first_ = other.first_;
  grid_varies_ |= other.grid_varies_ || other.first_.grid != first_.grid;
  block_varies_ |= other.block_varies_ || other.first_.block != first_.block;
  cluster_varies_ |= other.cluster_varies_ || other.first_.cluster != first_.cluster;
  launches_ += other.launches_;
  blocks_ += other.blocks_;
  threads_per_block_ += other.threads_per_block_;
  registers_ += other.registers_;
  static_shared_bytes_ += other.static_shared_bytes_;
  dynamic_shared_bytes_ += other.dynamic_shared_bytes_;
  local_bytes_ += other.local_bytes_;
  cooperative_ += other.cooperative_;
}

void LaunchSums::Describe(query::LaunchSummary* summary) const {
  summary->set_launches(launches_);
  if (launches_ > 0) {
    summary->set_average_blocks(Average(blocks_, launches_));
    summary->set_average_threads_per_block(Average(threads_per_block_, launches_));
    summary->set_average_registers(Average(registers_, launches_));
    summary->set_average_static_shared_bytes(Average(static_shared_bytes_, launches_));
    summary->set_average_dynamic_shared_bytes(Average(dynamic_shared_bytes_, launches_));
    summary->set_average_local_bytes(Average(local_bytes_, launches_));
    summary->set_cooperative(cooperative_);
    if (!grid_varies_) SetExtent(first_.grid, summary->mutable_grid());
    if (!block_varies_) SetExtent(first_.block, summary->mutable_block());
    if (!cluster_varies_ && first_.cluster[0] > 0) {
      SetExtent(first_.cluster, summary->mutable_cluster());
    }
  }
  summary->set_queued(queued_);
  summary->set_queued_to_start_total_ns(queued_ns_);
  summary->set_submitted(submitted_);
  summary->set_submitted_to_start_total_ns(submitted_ns_);
}

}  // namespace tp

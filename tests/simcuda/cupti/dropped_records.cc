#include "tests/simcuda/cupti/dropped_records.h"

#include <cupti.h>

#include <map>
#include <mutex>
#include <utility>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/driver_link.h"

namespace simcupti {
namespace {

struct Counts {
  std::mutex mutex;
  size_t all = 0;
  std::map<std::pair<uint32_t, uint32_t>, size_t> by_stream;
};

Counts& CurrentCounts() { return OfClient<Counts>(); }

}  // namespace

void CountDroppedRecord(uint32_t context_id, uint32_t stream_id) {
  Counts& counts = CurrentCounts();
  std::lock_guard lock(counts.mutex);
  ++counts.all;
  if (context_id != 0) ++counts.by_stream[{context_id, stream_id}];
}

size_t TakeDroppedRecords() {
  Counts& counts = CurrentCounts();
  std::lock_guard lock(counts.mutex);
  return std::exchange(counts.all, 0);
}

size_t TakeDroppedRecordsOf(uint32_t context_id, uint32_t stream_id) {
  Counts& counts = CurrentCounts();
  std::lock_guard lock(counts.mutex);
  const auto node = counts.by_stream.extract({context_id, stream_id});
  return node.empty() ? 0 : node.mapped();
}

}  // namespace simcupti

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream_id,
                                              size_t* dropped) {
  SIMCUPTI_ENTER();
  SIMCUPTI_OLDER_FAMILY();
  if (dropped == nullptr) return simcupti::Result(CUPTI_ERROR_INVALID_PARAMETER);
  if (context == nullptr) {
    *dropped = simcupti::TakeDroppedRecords();
    return CUPTI_SUCCESS;
  }
  const simcuda::Driver* driver = simcupti::FindDriver();
  const uint32_t context_id = driver != nullptr ? driver->context_id(context) : 0;
  *dropped = context_id == 0 ? 0 : simcupti::TakeDroppedRecordsOf(context_id, stream_id);
  return CUPTI_SUCCESS;
}

#include "tests/simcuda/cupti/external_correlation.h"

#include <cupti.h>

#include <array>
#include <atomic>
#include <vector>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/client.h"
#include "tests/simcuda/cupti/enabled_kinds.h"
#include "tests/simcuda/cupti/faults.h"
#include "tests/simcuda/cupti/lane.h"

namespace simcupti {
namespace {

// True once the stacks of this thread are gone: what it still calls while it ends belongs to
// nothing.
thread_local bool thread_is_ending = false;

struct Stacks {
  std::array<std::vector<uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE> ids;
  uint64_t generation = 0;
  ~Stacks() { thread_is_ending = true; }
};

// Stacks of an earlier generation count as empty.
struct Generation {
  std::atomic<uint64_t> number{0};
};

// nullptr while the thread ends.
Stacks* StacksOfThisThread() {
  if (thread_is_ending) return nullptr;
  static thread_local std::array<Stacks, kMostClients> of_clients;
  Stacks& stacks = of_clients[static_cast<size_t>(CurrentClient())];
  const uint64_t current = OfClient<Generation>().number.load(std::memory_order_relaxed);
  if (stacks.generation != current) {
    for (auto& stack : stacks.ids) stack.clear();
    stacks.generation = current;
  }
  return &stacks;
}

bool Valid(CUpti_ExternalCorrelationKind kind) {
  return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID &&
         kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

}  // namespace

void WriteExternalCorrelations(uint32_t correlation_id, uint32_t context_id, Lane& lane) {
  if (!KindEnabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, context_id)) return;
  if (ActiveFaults().no_push) return;
  const Stacks* stacks = StacksOfThisThread();
  if (stacks == nullptr) return;
  for (size_t kind = 0; kind < stacks->ids.size(); ++kind) {
    if (stacks->ids[kind].empty()) continue;
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
    record.externalId = stacks->ids[kind].back();
    record.correlationId = correlation_id;
    lane.Write(record);
  }
}

void ForgetExternalCorrelations() { OfClient<Generation>().number.fetch_add(1); }

CUptiResult PushExternalCorrelation(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (!Valid(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (Stacks* stacks = StacksOfThisThread()) stacks->ids[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult PopExternalCorrelation(CUpti_ExternalCorrelationKind kind, uint64_t* last_id) {
  if (!Valid(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  Stacks* stacks = StacksOfThisThread();
  if (stacks == nullptr || stacks->ids[kind].empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  std::vector<uint64_t>& stack = stacks->ids[kind];
  if (last_id != nullptr) *last_id = stack.back();
  stack.pop_back();
  return CUPTI_SUCCESS;
}

}  // namespace simcupti

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   uint64_t id) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::Result(simcupti::PushExternalCorrelation(kind, id));
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t* last_id) {
  SIMCUPTI_ENTER_WITH_DRIVER();
  SIMCUPTI_OLDER_FAMILY();
  return simcupti::Result(simcupti::PopExternalCorrelation(kind, last_id));
}

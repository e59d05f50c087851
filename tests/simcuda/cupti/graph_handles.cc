#include "tests/simcuda/cupti/graph_handles.h"

#include <cupti.h>

#include <mutex>
#include <set>
#include <utility>

#include "tests/simcuda/cupti/api_entry.h"
#include "tests/simcuda/cupti/entry_point.h"

namespace simcupti {
namespace {

enum class HandleOf { kGraph, kExec, kNode };
using Target = std::pair<HandleOf, uint64_t>;

struct Handles {
  std::mutex mutex;
  std::set<Target> targets;  // A handle is the address of one of these.
};

Handles& GlobalHandles() {
  static Handles* const handles = new Handles;
  return *handles;
}

void* HandleFor(HandleOf what, uint64_t id) {
  if (id == 0) return nullptr;
  Handles& handles = GlobalHandles();
  std::lock_guard lock(handles.mutex);
  return const_cast<Target*>(&*handles.targets.emplace(what, id).first);
}

// False for a handle that was not made here.
bool FindId(HandleOf what, const void* handle, uint64_t* id) {
  Handles& handles = GlobalHandles();
  std::lock_guard lock(handles.mutex);
  for (const Target& target : handles.targets) {
    if (&target != handle || target.first != what) continue;
    *id = target.second;
    return true;
  }
  return false;
}

template <class Id>
CUptiResult GetId(HandleOf what, const void* handle, Id* id) {
  if (handle == nullptr || id == nullptr) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  uint64_t found = 0;
  if (!FindId(what, handle, &found)) return Result(CUPTI_ERROR_INVALID_PARAMETER);
  *id = static_cast<Id>(found);
  return CUPTI_SUCCESS;
}

}  // namespace

CUgraph GraphHandle(uint32_t id) { return static_cast<CUgraph>(HandleFor(HandleOf::kGraph, id)); }
CUgraphExec GraphExecHandle(uint32_t id) {
  return static_cast<CUgraphExec>(HandleFor(HandleOf::kExec, id));
}
CUgraphNode GraphNodeHandle(uint64_t id) {
  return static_cast<CUgraphNode>(HandleFor(HandleOf::kNode, id));
}

}  // namespace simcupti

namespace simcupti::entry {

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  SIMCUPTI_ENTER();
  return GetId(HandleOf::kGraph, graph, id);
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  SIMCUPTI_ENTER();
  return GetId(HandleOf::kExec, exec, id);
}

}  // namespace simcupti::entry

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  SIMCUPTI_ENTER();
  return simcupti::GetId(simcupti::HandleOf::kNode, node, id);
}

SIMCUPTI_ENTRY_POINT_SINCE(cuptiGetGraphId, 11, 1);
SIMCUPTI_ENTRY_POINT_SINCE(cuptiGetGraphExecId, 12, 3);

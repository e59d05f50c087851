// One record for a whole graph launch, in place of records of its nodes.
//
// The driver tells of nodes, not of graphs. A launch is complete when its stream or context has
// been synchronized, or when later work of its stream has run; until then its record is held back,
// and a forced flush ends it as it is.
//
// Threads: all functions may be called from any thread.
#ifndef TESTS_SIMCUDA_CUPTI_GRAPH_TRACE_H_
#define TESTS_SIMCUDA_CUPTI_GRAPH_TRACE_H_

#include "tests/simcuda/core/observer.h"

namespace simcupti {

// Takes one node of a launch into account.
void TraceGraphNode(const simcuda::DeviceWork& node);

// Writes the records of launches that this work, of the same stream, came after.
void EndGraphsBefore(const simcuda::DeviceWork& work);
// Writes the records of launches that this synchronization has waited for.
void EndGraphsBefore(const simcuda::Synchronization& synchronization);
// Writes the records of all launches.
void EndAllGraphs();

void ForgetGraphs();

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_GRAPH_TRACE_H_

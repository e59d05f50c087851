// Handles for graphs, executable graphs and nodes as resource callbacks show them.
//
// The driver tells ids, while CUPTI's callbacks carry handles that a client asks the ids of. The
// handles made here serve for that question alone: they are not the program's own.
//
// Threads: all functions may be called from any thread. Handles live for ever.
#ifndef TESTS_SIMCUDA_CUPTI_GRAPH_HANDLES_H_
#define TESTS_SIMCUDA_CUPTI_GRAPH_HANDLES_H_

#include <cuda.h>

#include <cstdint>

namespace simcupti {

// nullptr for id 0. The same id gives the same handle.
CUgraph GraphHandle(uint32_t id);
CUgraphExec GraphExecHandle(uint32_t id);
CUgraphNode GraphNodeHandle(uint64_t id);

}  // namespace simcupti

#endif  // TESTS_SIMCUDA_CUPTI_GRAPH_HANDLES_H_

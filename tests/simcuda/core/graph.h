// Graphs: made node by node or captured from streams, instantiated into plans, launched.
//
// All functions and fields are for use under Model::mutex unless they say that they take it.
#ifndef TESTS_SIMCUDA_CORE_GRAPH_H_
#define TESTS_SIMCUDA_CORE_GRAPH_H_

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tests/simcuda/core/model.h"

namespace simcuda {

struct Graph;

struct GraphNode {
  uint64_t id = 0;  // The graph's id in the upper half, as CUPTI shows it.
  Graph* graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Operation operation;
  std::vector<GraphNode*> dependencies, dependents;
  Graph* child = nullptr;            // Of child graph and conditional nodes; owned.
  std::vector<Graph*> other_bodies;  // Further bodies of a conditional node, never run; owned.
  GraphNode* original = nullptr;     // In a clone: what it was copied from.
  // What the program gave, for the GetParams functions.
  CUDA_KERNEL_NODE_PARAMS kernel_params = {};
  CUDA_MEMCPY3D copy_params = {};
  CUDA_MEMSET_NODE_PARAMS fill_params = {};
  CUDA_MEM_ALLOC_NODE_PARAMS alloc_params = {};
  CUdeviceptr freed_address = 0;
};

struct Graph {
  uint32_t id = 0;
  Context* context = nullptr;
  std::vector<GraphNode*> nodes;
  uint32_t next_node = 1;
  bool is_child = false;
};

// A graph as it is run: nodes in an order in which each comes after what it depends on, child
// graphs laid flat.
struct GraphPlan {
  struct Node {
    Operation operation;
    std::vector<uint32_t> dependencies;  // Positions in `nodes`.
    uint64_t id = 0;                     // Of its own: the executable graph's id in the upper half.
    uint64_t original = 0;               // The node that it was made of.
    bool enabled = true;
  };
  uint32_t graph_id = 0;
  std::vector<Node> nodes;
  bool has_host_functions = false;
};

struct GraphExec {
  uint32_t id = 0;
  uint32_t original_graph_id = 0;
  unsigned long long flags = 0;
  std::shared_ptr<GraphPlan> plan;
  std::unordered_map<uint64_t, uint32_t> positions;  // Node id to position in the plan.
};

// A capture that is under way: from its first stream it spreads to streams that wait for its
// events.
struct Capture {
  uint64_t id = 0;
  Graph* graph = nullptr;
  Stream* origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  uint64_t system_thread_id = 0;
  bool invalid = false;
  bool into_existing = false;
  std::vector<Stream*> streams;
  std::vector<GraphNode*> left_tails;  // Of streams that were destroyed meanwhile.
};

struct Graphs {
  static Graphs& Instance();

  HandleTable<Graph, 1 << 18> graphs;
  HandleTable<GraphNode, 1 << 22> nodes;
  HandleTable<GraphExec, 1 << 18> execs;
  uint32_t next_graph_id = 1;
  uint64_t next_capture_id = 1;
  std::vector<Capture*> captures;  // Those under way.
};

Graph* NewGraph(Context* context);
void DestroyGraph(Graph* graph);
Graph* CloneGraph(const Graph& graph);
// nullptr: a dependency is of another graph.
GraphNode* AddNode(Graph& graph, CUgraphNodeType type, Operation operation,
                   const std::vector<GraphNode*>& dependencies);
void DestroyNode(GraphNode* node);

// CUDA_ERROR_INVALID_VALUE when the dependencies have a circle.
CUresult MakeExec(Graph& graph, GraphExec* exec);

// What Submit does in a stream that captures.
CUresult CaptureOperation(Stream& stream, const Operation& operation);

// A stream waits for an event, and one of them is in a capture: the stream joins it.
CUresult JoinCapture(Stream& stream, const Event& event);

CUresult BeginCapture(Stream& stream, CUstreamCaptureMode mode, Graph* into,
                      const std::vector<GraphNode*>& dependencies);
CUresult EndCapture(Stream& stream, Graph** graph);
// Makes a capture useless after a call that it cannot hold.
void InvalidateCapture(Stream& stream);
// Takes Model::mutex. The error of a call that may break captures (allocation, synchronization of a
// device) when one forbids it.
CUresult CheckUnsafeCall();
// True while a capture in this context forbids use of the legacy stream. `used`: it was used all
// the same, which makes the capture useless.
bool LegacyStreamIsForbidden(const Context& context, bool used);

CUgraphNodeType NodeType(const Operation& operation);

}  // namespace simcuda

#endif  // TESTS_SIMCUDA_CORE_GRAPH_H_

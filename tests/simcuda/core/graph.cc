#include "tests/simcuda/core/graph.h"

#include <algorithm>
#include <utility>

#include "tests/simcuda/core/clock.h"
#include "tests/simcuda/core/delivery.h"
#include "tests/simcuda/core/thread_state.h"

namespace simcuda {
namespace {

void Remove(std::vector<GraphNode*>& nodes, GraphNode* node) {
  nodes.erase(std::remove(nodes.begin(), nodes.end(), node), nodes.end());
}

void AddUnique(std::vector<GraphNode*>& nodes, GraphNode* node) {
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

// Lays `graph` out behind what is in the plan; its roots come after `before`. The positions of its
// leaves go to `leaves`.
bool Flatten(const Graph& graph, const std::vector<uint32_t>& before, GraphPlan* plan,
             std::unordered_map<uint64_t, uint32_t>* positions, std::vector<uint32_t>* leaves) {
  std::unordered_map<const GraphNode*, size_t> waiting;
  std::unordered_map<const GraphNode*, std::vector<uint32_t>> ends;  // Where each node ends.
  std::vector<const GraphNode*> ready;
  for (const GraphNode* node : graph.nodes) {
    waiting[node] = node->dependencies.size();
    if (node->dependencies.empty()) ready.push_back(node);
  }
  for (size_t next = 0; next < ready.size(); ++next) {
    const GraphNode* node = ready[next];
    std::vector<uint32_t> dependencies = before;
    for (const GraphNode* dependency : node->dependencies) {
      const auto& from = ends[dependency];
      dependencies.insert(dependencies.end(), from.begin(), from.end());
    }
    std::vector<uint32_t>& own = ends[node];
    if (node->child != nullptr) {
      if (!Flatten(*node->child, dependencies, plan, positions, &own)) return false;
      if (own.empty()) own = dependencies;
    } else {
      uint32_t position = static_cast<uint32_t>(plan->nodes.size());
      (*positions)[node->id] = position;
      GraphPlan::Node planned;
      planned.operation = node->operation;
      planned.dependencies = std::move(dependencies);
      planned.original = node->id;
      plan->has_host_functions |= std::holds_alternative<HostFunction>(node->operation.what);
      plan->nodes.push_back(std::move(planned));
      own = {position};
    }
    if (node->dependents.empty()) leaves->insert(leaves->end(), own.begin(), own.end());
    for (const GraphNode* dependent : node->dependents) {
      if (--waiting[dependent] == 0) ready.push_back(dependent);
    }
  }
  return ready.size() == graph.nodes.size();
}

// An event of a graph, without what tells the node.
ResourceEvent GraphEvent(Resource resource, const Graph& graph) {
  ResourceEvent event = {};
  event.resource = resource;
  event.context = graph.context;
  if (graph.context != nullptr) {
    event.context_id = graph.context->id;
    event.device_id = graph.context->device->id;
  }
  event.graph_id = graph.id;
  event.time_ns = NowNs();
  return event;
}

void ReportGraph(Resource resource, const Graph& graph, uint64_t node_id, uint32_t original) {
  if (CurrentObserver() == nullptr) return;
  ResourceEvent event = GraphEvent(resource, graph);
  event.original_graph_id = original;
  event.graph_node_id = node_id;
  ReportLater(event);
}

void ReportCloned(const Graph& graph, uint64_t node_id, uint64_t original_node_id) {
  if (CurrentObserver() == nullptr) return;
  ResourceEvent event = GraphEvent(Resource::kGraphNodeCloned, graph);
  event.graph_node_id = node_id;
  event.original_graph_node_id = original_node_id;
  ReportLater(event);
}

void Leave(Stream* stream) {
  stream->capture = nullptr;
  stream->capture_tail.clear();
}

}  // namespace

Graphs& Graphs::Instance() {
  static Graphs* graphs = new Graphs;
  return *graphs;
}

CUgraphNodeType NodeType(const Operation& operation) {
  struct Types {
    CUgraphNodeType operator()(const Nothing&) { return CU_GRAPH_NODE_TYPE_EMPTY; }
    CUgraphNodeType operator()(const KernelLaunch&) { return CU_GRAPH_NODE_TYPE_KERNEL; }
    CUgraphNodeType operator()(const Copy&) { return CU_GRAPH_NODE_TYPE_MEMCPY; }
    CUgraphNodeType operator()(const Fill&) { return CU_GRAPH_NODE_TYPE_MEMSET; }
    CUgraphNodeType operator()(const HostFunction&) { return CU_GRAPH_NODE_TYPE_HOST; }
    CUgraphNodeType operator()(const EventRecord&) { return CU_GRAPH_NODE_TYPE_EVENT_RECORD; }
    CUgraphNodeType operator()(const EventWait&) { return CU_GRAPH_NODE_TYPE_WAIT_EVENT; }
    CUgraphNodeType operator()(const GraphLaunch&) { return CU_GRAPH_NODE_TYPE_GRAPH; }
    CUgraphNodeType operator()(const FreeMemory&) { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
  };
  return std::visit(Types(), operation.what);
}

Graph* NewGraph(Context* context) {
  Graphs& graphs = Graphs::Instance();
  Graph* graph = graphs.graphs.Create();
  if (graph == nullptr) return nullptr;
  graph->id = graphs.next_graph_id++;
  graph->context = context;
  ReportGraph(Resource::kGraphCreated, *graph, 0, 0);
  return graph;
}

void DestroyGraph(Graph* graph) {
  Graphs& graphs = Graphs::Instance();
  ReportGraph(Resource::kGraphDestroyed, *graph, 0, 0);
  for (GraphNode* node : graph->nodes) {
    if (node->child != nullptr) DestroyGraph(node->child);
    for (Graph* body : node->other_bodies) DestroyGraph(body);
    graphs.nodes.Destroy(node);
  }
  graphs.graphs.Destroy(graph);
}

GraphNode* AddNode(Graph& graph, CUgraphNodeType type, Operation operation,
                   const std::vector<GraphNode*>& dependencies) {
  for (const GraphNode* dependency : dependencies) {
    if (dependency == nullptr || dependency->graph != &graph) return nullptr;
  }
  GraphNode* node = Graphs::Instance().nodes.Create();
  if (node == nullptr) return nullptr;
  node->id = (uint64_t{graph.id} << 32) | graph.next_node++;
  node->graph = &graph;
  node->type = type;
  node->operation = std::move(operation);
  for (GraphNode* dependency : dependencies) {
    AddUnique(node->dependencies, dependency);
    AddUnique(dependency->dependents, node);
  }
  graph.nodes.push_back(node);
  ReportGraph(Resource::kGraphNodeCreated, graph, node->id, 0);
  return node;
}

void DestroyNode(GraphNode* node) {
  for (GraphNode* other : node->dependencies) Remove(other->dependents, node);
  for (GraphNode* other : node->dependents) Remove(other->dependencies, node);
  Remove(node->graph->nodes, node);
  if (node->child != nullptr) DestroyGraph(node->child);
  for (Graph* body : node->other_bodies) DestroyGraph(body);
  Graphs::Instance().nodes.Destroy(node);
}

Graph* CloneGraph(const Graph& graph) {
  Graph* clone = NewGraph(graph.context);
  if (clone == nullptr) return nullptr;
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (GraphNode* node : graph.nodes) {
    GraphNode* copy = AddNode(*clone, node->type, node->operation, {});
    if (copy == nullptr) return nullptr;
    copy->original = node;
    ReportCloned(*clone, copy->id, node->id);
    copy->kernel_params = node->kernel_params;
    copy->copy_params = node->copy_params;
    copy->fill_params = node->fill_params;
    copy->alloc_params = node->alloc_params;
    copy->freed_address = node->freed_address;
    if (node->child != nullptr) {
      copy->child = CloneGraph(*node->child);
      if (copy->child != nullptr) copy->child->is_child = true;
    }
    copies[node] = copy;
  }
  for (const GraphNode* node : graph.nodes) {
    for (const GraphNode* dependency : node->dependencies) {
      copies[node]->dependencies.push_back(copies[dependency]);
    }
    for (const GraphNode* dependent : node->dependents) {
      copies[node]->dependents.push_back(copies[dependent]);
    }
  }
  return clone;
}

CUresult MakeExec(Graph& graph, GraphExec* exec) {
  auto plan = std::make_shared<GraphPlan>();
  std::unordered_map<uint64_t, uint32_t> positions;
  std::vector<uint32_t> leaves;
  if (!Flatten(graph, {}, plan.get(), &positions, &leaves)) return CUDA_ERROR_INVALID_VALUE;
  const bool is_new = exec->id == 0;
  if (is_new) exec->id = Graphs::Instance().next_graph_id++;
  plan->graph_id = exec->id;
  exec->original_graph_id = graph.id;
  for (size_t i = 0; i < plan->nodes.size(); ++i) {
    GraphPlan::Node& node = plan->nodes[i];
    node.id = (uint64_t{exec->id} << 32) | i;
    // An update leaves the nodes what they are.
    if (!is_new) continue;
    ReportGraph(Resource::kGraphNodeCreated, graph, node.id, 0);
    ReportCloned(graph, node.id, node.original);
  }
  exec->plan = std::move(plan);
  exec->positions = std::move(positions);
  if (CurrentObserver() != nullptr) {
    ResourceEvent event = GraphEvent(Resource::kGraphExecCreated, graph);
    event.graph_id = exec->id;
    event.original_graph_id = graph.id;
    ReportLater(event);
  }
  return CUDA_SUCCESS;
}

CUresult CaptureOperation(Stream& stream, const Operation& operation) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (const auto* record = std::get_if<EventRecord>(&operation.what)) {
    // An event in a capture is a point in the graph, not a node.
    record->event->capture = capture;
    record->event->capture_tail = stream.capture_tail;
    return CUDA_SUCCESS;
  }
  if (const auto* launch = std::get_if<GraphLaunch>(&operation.what)) {
    // A launch of a graph becomes a child graph whose nodes are those of the plan.
    Graph* child = NewGraph(stream.context);
    if (child == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    child->is_child = true;
    std::vector<GraphNode*> copies;
    for (const GraphPlan::Node& planned : launch->plan->nodes) {
      std::vector<GraphNode*> dependencies;
      for (uint32_t at : planned.dependencies) dependencies.push_back(copies[at]);
      copies.push_back(
          AddNode(*child, NodeType(planned.operation), planned.operation, dependencies));
    }
    GraphNode* node = AddNode(*capture->graph, CU_GRAPH_NODE_TYPE_GRAPH, {}, stream.capture_tail);
    if (node == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    node->child = child;
    stream.capture_tail = {node};
    return CUDA_SUCCESS;
  }
  GraphNode* node = AddNode(*capture->graph, NodeType(operation), operation, stream.capture_tail);
  if (node == nullptr) {
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  stream.capture_tail = {node};
  return CUDA_SUCCESS;
}

CUresult JoinCapture(Stream& stream, const Event& event) {
  if (event.capture == nullptr || event.capture->graph == nullptr) {
    // What was recorded outside a capture cannot be waited for inside.
    InvalidateCapture(stream);
    return stream.capture == nullptr ? CUDA_ERROR_INVALID_VALUE
                                     : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (stream.legacy) {
    event.capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (stream.capture != nullptr && stream.capture != event.capture) {
    stream.capture->invalid = true;
    event.capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (stream.capture == nullptr) {
    stream.capture = event.capture;
    stream.capture->streams.push_back(&stream);
  }
  for (GraphNode* node : event.capture_tail) AddUnique(stream.capture_tail, node);
  return CUDA_SUCCESS;
}

CUresult BeginCapture(Stream& stream, CUstreamCaptureMode mode, Graph* into,
                      const std::vector<GraphNode*>& dependencies) {
  if (stream.legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  for (const GraphNode* dependency : dependencies) {
    if (dependency == nullptr || dependency->graph != into) return CUDA_ERROR_INVALID_VALUE;
  }
  Graphs& graphs = Graphs::Instance();
  auto capture = std::make_shared<Capture>();
  capture->id = graphs.next_capture_id++;
  capture->graph = into != nullptr ? into : NewGraph(stream.context);
  if (capture->graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  capture->into_existing = into != nullptr;
  capture->origin = &stream;
  capture->mode = mode;
  capture->system_thread_id = Thread().system_thread_id;
  capture->streams.push_back(&stream);
  graphs.captures.push_back(capture.get());
  stream.capture = std::move(capture);
  stream.capture_tail = dependencies;
  return CUDA_SUCCESS;
}

CUresult EndCapture(Stream& stream, Graph** graph) {
  *graph = nullptr;
  std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->system_thread_id != Thread().system_thread_id) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  // All that was captured elsewhere has to lead back to this stream.
  CUresult result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  std::vector<GraphNode*> tails = capture->left_tails;
  for (const Stream* other : capture->streams) {
    if (other == &stream) continue;
    tails.insert(tails.end(), other->capture_tail.begin(), other->capture_tail.end());
  }
  for (GraphNode* tail : tails) {
    bool joined = !tail->dependents.empty() ||
                  std::find(stream.capture_tail.begin(), stream.capture_tail.end(), tail) !=
                      stream.capture_tail.end();
    if (!joined && result == CUDA_SUCCESS) result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  auto& captures = Graphs::Instance().captures;
  captures.erase(std::remove(captures.begin(), captures.end(), capture.get()), captures.end());
  for (Stream* other : capture->streams) Leave(other);
  if (result == CUDA_SUCCESS) {
    *graph = capture->graph;
  } else if (!capture->into_existing) {
    DestroyGraph(capture->graph);
  }
  capture->graph = nullptr;
  return result;
}

void InvalidateCapture(Stream& stream) {
  if (stream.capture != nullptr) stream.capture->invalid = true;
}

CUresult CheckUnsafeCall() {
  Model& model = Model::Instance();
  std::lock_guard<std::mutex> lock(model.mutex);
  const ThreadState& thread = Thread();
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  for (Capture* capture : Graphs::Instance().captures) {
    bool own = capture->system_thread_id == thread.system_thread_id;
    bool forbids = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL
                       ? own || thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL
                       : capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && own;
    if (forbids) {
      capture->invalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

bool LegacyStreamIsForbidden(const Context& context, bool used) {
  bool forbidden = false;
  for (Capture* capture : Graphs::Instance().captures) {
    for (const Stream* stream : capture->streams) {
      if (stream->context == &context && stream->blocking()) {
        capture->invalid |= used;
        forbidden = true;
      }
    }
  }
  return forbidden;
}

}  // namespace simcuda

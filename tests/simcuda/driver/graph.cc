// Graphs: building, instantiating, launching.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/simcuda/driver/copy.h"
#include "tests/simcuda/driver/entry.h"
#include "tests/simcuda/driver/launch.h"

using namespace simcuda;  // NOLINT: the entry points are global by their nature.

namespace {

using Lock = std::lock_guard<std::mutex>;

std::mutex& ModelMutex() { return Model::Instance().mutex; }

CUgraph Handle(Graph* graph) { return reinterpret_cast<CUgraph>(graph); }
CUgraphNode Handle(GraphNode* node) { return reinterpret_cast<CUgraphNode>(node); }

Graph* Find(CUgraph handle) { return Graphs::Instance().graphs.Get(handle); }
GraphNode* Find(CUgraphNode handle) { return Graphs::Instance().nodes.Get(handle); }
GraphExec* Find(CUgraphExec handle) { return Graphs::Instance().execs.Get(handle); }

CUresult FindAll(const CUgraphNode* handles, size_t count, std::vector<GraphNode*>* nodes) {
  if (count > 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = Find(handles[i]);
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    nodes->push_back(node);
  }
  return CUDA_SUCCESS;
}

// Adds a node and returns it through `added`, for whoever has more to set, and as a handle.
CUresult Add(CUgraphNode* handle, CUgraph graph_handle, const CUgraphNode* dependencies,
             size_t count, CUgraphNodeType type, Operation operation, GraphNode** added) {
  Graph* graph = Find(graph_handle);
  if (graph == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> nodes;
  RETURN_IF_ERROR(FindAll(dependencies, count, &nodes));
  Lock lock(ModelMutex());
  GraphNode* node = AddNode(*graph, type, std::move(operation), nodes);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = Handle(node);
  *added = node;
  return CUDA_SUCCESS;
}

CUresult KernelOperation(const CUDA_KERNEL_NODE_PARAMS* params, Operation* operation) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  KernelLaunch launch;
  const void* function = params->func != nullptr ? static_cast<const void*>(params->func)
                                                 : static_cast<const void*>(params->kern);
  launch.kernel = FindKernel(function);
  launch.grid = {params->gridDimX, params->gridDimY, params->gridDimZ};
  launch.block = {params->blockDimX, params->blockDimY, params->blockDimZ};
  launch.dynamic_shared_bytes = params->sharedMemBytes;
  RETURN_IF_ERROR(CheckLaunch(launch));
  *operation = MakeOperation(launch);
  if (Context* context = CurrentContext()) EnsureLoaded(launch.kernel->library, context);
  return CUDA_SUCCESS;
}

CUresult CopyOperation(const CUDA_MEMCPY3D* params, Operation* operation) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Copy copy;
  RETURN_IF_ERROR(MakeCopy(*params, &copy));
  copy.async = true;
  *operation = MakeOperation(copy);
  return CUDA_SUCCESS;
}

CUresult FillOperation(const CUDA_MEMSET_NODE_PARAMS* params, Operation* operation) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Fill fill;
  RETURN_IF_ERROR(MakeFill(params->dst, params->pitch, params->value, params->elementSize,
                           params->width, params->height, &fill));
  fill.async = true;
  *operation = MakeOperation(fill);
  return CUDA_SUCCESS;
}

CUresult HostOperation(const CUDA_HOST_NODE_PARAMS* params, Operation* operation) {
  if (params == nullptr || params->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  HostFunction function;
  function.function = params->fn;
  function.data = params->userData;
  operation->what = function;
  return CUDA_SUCCESS;
}

CUresult EventOperation(CUevent handle, bool record, Operation* operation) {
  Event* event = FindEvent(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (record) {
    EventRecord what;
    what.event = event;
    operation->what = what;
  } else {
    EventWait what;
    what.event = event;
    operation->what = what;
  }
  return CUDA_SUCCESS;
}

// Replaces what a node does, in the graph or (with `exec`) in an instance of it.
CUresult Replace(CUgraphNode handle, CUgraphNodeType type, Operation operation) {
  GraphNode* node = Find(handle);
  if (node == nullptr || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  node->operation = std::move(operation);
  return CUDA_SUCCESS;
}

// A plan in flight is not changed: the exec gets a copy.
CUresult Replace(CUgraphExec exec_handle, CUgraphNode handle, CUgraphNodeType type,
                 Operation operation) {
  GraphExec* exec = Find(exec_handle);
  const GraphNode* node = Find(handle);
  if (exec == nullptr || node == nullptr || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  auto at = exec->positions.find(node->id);
  if (at == exec->positions.end()) return CUDA_ERROR_INVALID_VALUE;
  auto plan = std::make_shared<GraphPlan>(*exec->plan);
  plan->nodes[at->second].operation = std::move(operation);
  exec->plan = std::move(plan);
  return CUDA_SUCCESS;
}

// The usual protocol of lists: without room, says how many; with room, fills it.
template <typename Item>
CUresult HandOut(const std::vector<Item>& from, Item* to, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (to != nullptr) {
    for (size_t i = 0; i < *count; ++i) to[i] = i < from.size() ? from[i] : Item();
    *count = std::min(*count, from.size());
  } else {
    *count = from.size();
  }
  return CUDA_SUCCESS;
}

std::vector<CUgraphNode> Handles(const std::vector<GraphNode*>& nodes) {
  std::vector<CUgraphNode> handles;
  for (GraphNode* node : nodes) handles.push_back(Handle(node));
  return handles;
}

CUresult Instantiate(CUgraphExec* handle, CUgraph graph_handle, unsigned long long flags) {
  Graph* graph = Find(graph_handle);
  if (graph == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  GraphExec exec;
  exec.flags = flags;
  RETURN_IF_ERROR(MakeExec(*graph, &exec));
  GraphExec* made = Graphs::Instance().execs.Create(std::move(exec));
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}

CUresult AddMemAlloc(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                     size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr || params->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = FindDevice(params->poolProps.location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  Allocation allocation;
  allocation.bytes = params->bytesize;
  allocation.kind = MemoryKind::kDevice;
  allocation.device_id = device->id;
  allocation.of_graph = true;
  if (Context* context = CurrentContext()) {
    allocation.context_id = context->id;
    allocation.context = context;
  }
  params->dptr = Memory::Instance().Allocate(allocation);
  if (params->dptr == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  GraphNode* node;
  RETURN_IF_ERROR(Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEM_ALLOC, {}, &node));
  node->alloc_params = *params;
  return CUDA_SUCCESS;
}

CUresult AddMemFree(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                    size_t count, CUdeviceptr dptr) {
  Allocation allocation;
  if (!Memory::Instance().Find(dptr, &allocation)) return CUDA_ERROR_INVALID_VALUE;
  // The address belongs to the graph, which can be launched again: it stays.
  GraphNode* node;
  RETURN_IF_ERROR(Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEM_FREE, {}, &node));
  node->freed_address = dptr;
  return CUDA_SUCCESS;
}

CUresult AddKernel(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                   size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  Operation operation;
  RETURN_IF_ERROR(KernelOperation(params, &operation));
  GraphNode* node;
  RETURN_IF_ERROR(Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_KERNEL,
                      std::move(operation), &node));
  node->kernel_params = *params;
  return CUDA_SUCCESS;
}

CUresult AddCopy(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                 const CUDA_MEMCPY3D* params) {
  Operation operation;
  RETURN_IF_ERROR(CopyOperation(params, &operation));
  GraphNode* node;
  RETURN_IF_ERROR(Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEMCPY,
                      std::move(operation), &node));
  node->copy_params = *params;
  return CUDA_SUCCESS;
}

CUresult AddFill(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                 const CUDA_MEMSET_NODE_PARAMS* params) {
  Operation operation;
  RETURN_IF_ERROR(FillOperation(params, &operation));
  GraphNode* node;
  RETURN_IF_ERROR(Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_MEMSET,
                      std::move(operation), &node));
  node->fill_params = *params;
  return CUDA_SUCCESS;
}

CUresult AddHost(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                 const CUDA_HOST_NODE_PARAMS* params) {
  Operation operation;
  RETURN_IF_ERROR(HostOperation(params, &operation));
  GraphNode* node;
  return Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_HOST, std::move(operation),
             &node);
}

CUresult AddEvent(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                  CUevent event, bool record) {
  Operation operation;
  RETURN_IF_ERROR(EventOperation(event, record, &operation));
  GraphNode* node;
  return Add(handle, graph, dependencies, count,
             record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT,
             std::move(operation), &node);
}

CUresult AddChild(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                  CUgraph child_handle) {
  Graph* child = Find(child_handle);
  if (child == nullptr || child_handle == graph) return CUDA_ERROR_INVALID_VALUE;
  GraphNode* node;
  RETURN_IF_ERROR(Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_GRAPH, {}, &node));
  Lock lock(ModelMutex());
  node->child = CloneGraph(*child);
  if (node->child == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  node->child->is_child = true;
  return CUDA_SUCCESS;
}

// A conditional node's first body runs once here, as if its condition held exactly once.
CUresult AddConditional(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUDA_CONDITIONAL_NODE_PARAMS* params) {
  if (params->size == 0) return CUDA_ERROR_INVALID_VALUE;
  GraphNode* node;
  RETURN_IF_ERROR(
      Add(handle, graph, dependencies, count, CU_GRAPH_NODE_TYPE_CONDITIONAL, {}, &node));
  Lock lock(ModelMutex());
  // The array of bodies stays the library's, for as long as the program may look at it.
  static auto* bodies = new std::deque<std::vector<CUgraph>>;
  bodies->emplace_back();
  for (unsigned i = 0; i < params->size; ++i) {
    Graph* body = NewGraph(node->graph->context);
    if (body == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    body->is_child = true;
    if (i == 0) {
      node->child = body;
    } else {
      node->other_bodies.push_back(body);
    }
    bodies->back().push_back(Handle(body));
  }
  params->phGraph_out = bodies->back().data();
  return CUDA_SUCCESS;
}

CUresult AddAny(CUgraphNode* handle, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GraphNode* node;
  switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS_v3& from = params->kernel;
      CUDA_KERNEL_NODE_PARAMS to = {};
      to.func = from.func;
      to.gridDimX = from.gridDimX;
      to.gridDimY = from.gridDimY;
      to.gridDimZ = from.gridDimZ;
      to.blockDimX = from.blockDimX;
      to.blockDimY = from.blockDimY;
      to.blockDimZ = from.blockDimZ;
      to.sharedMemBytes = from.sharedMemBytes;
      to.kernelParams = from.kernelParams;
      to.extra = from.extra;
      to.kern = from.kern;
      to.ctx = from.ctx;
      return AddKernel(handle, graph, dependencies, count, &to);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return AddCopy(handle, graph, dependencies, count, &params->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& from = params->memset;
      CUDA_MEMSET_NODE_PARAMS to = {};
      to.dst = from.dst;
      to.pitch = from.pitch;
      to.value = from.value;
      to.elementSize = from.elementSize;
      to.width = from.width;
      to.height = from.height;
      return AddFill(handle, graph, dependencies, count, &to);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      CUDA_HOST_NODE_PARAMS to = {};
      to.fn = params->host.fn;
      to.userData = params->host.userData;
      return AddHost(handle, graph, dependencies, count, &to);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return AddChild(handle, graph, dependencies, count, params->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return Add(handle, graph, dependencies, count, params->type, {}, &node);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return AddEvent(handle, graph, dependencies, count, params->eventWait.event, false);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return AddEvent(handle, graph, dependencies, count, params->eventRecord.event, true);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS to = {};
      to.poolProps = params->alloc.poolProps;
      to.bytesize = params->alloc.bytesize;
      CUresult result = AddMemAlloc(handle, graph, dependencies, count, &to);
      params->alloc.dptr = to.dptr;
      return result;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return AddMemFree(handle, graph, dependencies, count, params->free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return AddConditional(handle, graph, dependencies, count, &params->conditional);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

DRIVER_ENTRY(cuGraphCreate, (CUgraph * phGraph, unsigned int flags), (phGraph, flags)) {
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  Graph* graph = NewGraph(CurrentContext());
  if (graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *phGraph = Handle(graph);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphDestroy, (CUgraph hGraph), (hGraph)) {
  Graph* graph = Find(hGraph);
  if (graph == nullptr || graph->is_child) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  DestroyGraph(graph);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphClone, (CUgraph * phGraphClone, CUgraph originalGraph),
             (phGraphClone, originalGraph)) {
  const Graph* graph = Find(originalGraph);
  if (graph == nullptr || phGraphClone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  Graph* clone = CloneGraph(*graph);
  if (clone == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *phGraphClone = Handle(clone);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphNodeFindInClone,
             (CUgraphNode * phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph),
             (phNode, hOriginalNode, hClonedGraph)) {
  const Graph* graph = Find(hClonedGraph);
  const GraphNode* original = Find(hOriginalNode);
  if (graph == nullptr || original == nullptr || phNode == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Lock lock(ModelMutex());
  for (GraphNode* node : graph->nodes) {
    if (node->original == original) {
      *phNode = Handle(node);
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

DRIVER_ENTRY(cuGraphAddKernelNode_v2,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS* nodeParams),
             (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
  return AddKernel(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

DRIVER_ENTRY(cuGraphKernelNodeGetParams_v2,
             (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams), (hNode, nodeParams)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || nodeParams == nullptr || node->type != CU_GRAPH_NODE_TYPE_KERNEL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *nodeParams = node->kernel_params;
  if (const auto* launch = std::get_if<KernelLaunch>(&node->operation.what)) {
    nodeParams->func = reinterpret_cast<CUfunction>(launch->kernel);
    nodeParams->gridDimX = launch->grid[0];
    nodeParams->gridDimY = launch->grid[1];
    nodeParams->gridDimZ = launch->grid[2];
    nodeParams->blockDimX = launch->block[0];
    nodeParams->blockDimY = launch->block[1];
    nodeParams->blockDimZ = launch->block[2];
    nodeParams->sharedMemBytes = launch->dynamic_shared_bytes;
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphKernelNodeSetParams_v2,
             (CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams), (hNode, nodeParams)) {
  Operation operation;
  RETURN_IF_ERROR(KernelOperation(nodeParams, &operation));
  RETURN_IF_ERROR(Replace(hNode, CU_GRAPH_NODE_TYPE_KERNEL, std::move(operation)));
  Find(hNode)->kernel_params = *nodeParams;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphAddMemcpyNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext ctx),
             (phGraphNode, hGraph, dependencies, numDependencies, copyParams, ctx)) {
  return AddCopy(phGraphNode, hGraph, dependencies, numDependencies, copyParams);
}

DRIVER_ENTRY(cuGraphMemcpyNodeGetParams, (CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams),
             (hNode, nodeParams)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || nodeParams == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEMCPY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *nodeParams = node->copy_params;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphMemcpyNodeSetParams, (CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams),
             (hNode, nodeParams)) {
  Operation operation;
  RETURN_IF_ERROR(CopyOperation(nodeParams, &operation));
  RETURN_IF_ERROR(Replace(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(operation)));
  Find(hNode)->copy_params = *nodeParams;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphAddMemsetNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx),
             (phGraphNode, hGraph, dependencies, numDependencies, memsetParams, ctx)) {
  return AddFill(phGraphNode, hGraph, dependencies, numDependencies, memsetParams);
}

DRIVER_ENTRY(cuGraphMemsetNodeGetParams, (CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams),
             (hNode, nodeParams)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || nodeParams == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEMSET) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *nodeParams = node->fill_params;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphMemsetNodeSetParams,
             (CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* nodeParams), (hNode, nodeParams)) {
  Operation operation;
  RETURN_IF_ERROR(FillOperation(nodeParams, &operation));
  RETURN_IF_ERROR(Replace(hNode, CU_GRAPH_NODE_TYPE_MEMSET, std::move(operation)));
  Find(hNode)->fill_params = *nodeParams;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphAddHostNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, const CUDA_HOST_NODE_PARAMS* nodeParams),
             (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
  return AddHost(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

DRIVER_ENTRY(cuGraphHostNodeGetParams, (CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams),
             (hNode, nodeParams)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* function = std::get_if<HostFunction>(&node->operation.what);
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *nodeParams = {};
  nodeParams->fn = function->function;
  nodeParams->userData = function->data;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphHostNodeSetParams, (CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams),
             (hNode, nodeParams)) {
  Operation operation;
  RETURN_IF_ERROR(HostOperation(nodeParams, &operation));
  return Replace(hNode, CU_GRAPH_NODE_TYPE_HOST, std::move(operation));
}

DRIVER_ENTRY(cuGraphAddChildGraphNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, CUgraph childGraph),
             (phGraphNode, hGraph, dependencies, numDependencies, childGraph)) {
  return AddChild(phGraphNode, hGraph, dependencies, numDependencies, childGraph);
}

DRIVER_ENTRY(cuGraphChildGraphNodeGetGraph, (CUgraphNode hNode, CUgraph* phGraph),
             (hNode, phGraph)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || phGraph == nullptr || node->type != CU_GRAPH_NODE_TYPE_GRAPH) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *phGraph = Handle(node->child);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphAddEmptyNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies),
             (phGraphNode, hGraph, dependencies, numDependencies)) {
  GraphNode* node;
  return Add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY, {},
             &node);
}

DRIVER_ENTRY(cuGraphAddEventRecordNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, CUevent event),
             (phGraphNode, hGraph, dependencies, numDependencies, event)) {
  return AddEvent(phGraphNode, hGraph, dependencies, numDependencies, event, true);
}

DRIVER_ENTRY(cuGraphAddEventWaitNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, CUevent event),
             (phGraphNode, hGraph, dependencies, numDependencies, event)) {
  return AddEvent(phGraphNode, hGraph, dependencies, numDependencies, event, false);
}

DRIVER_ENTRY(cuGraphAddMemAllocNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams),
             (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)) {
  return AddMemAlloc(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

DRIVER_ENTRY(cuGraphMemAllocNodeGetParams,
             (CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out), (hNode, params_out)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || params_out == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *params_out = node->alloc_params;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphAddMemFreeNode,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              size_t numDependencies, CUdeviceptr dptr),
             (phGraphNode, hGraph, dependencies, numDependencies, dptr)) {
  return AddMemFree(phGraphNode, hGraph, dependencies, numDependencies, dptr);
}

DRIVER_ENTRY(cuGraphMemFreeNodeGetParams, (CUgraphNode hNode, CUdeviceptr* dptr_out),
             (hNode, dptr_out)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || dptr_out == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *dptr_out = node->freed_address;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphAddNode_v2,
             (CUgraphNode * phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
              const CUgraphEdgeData* dependencyData, size_t numDependencies,
              CUgraphNodeParams* nodeParams),
             (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams)) {
  return AddAny(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

DRIVER_ENTRY(cuGraphConditionalHandleCreate,
             (CUgraphConditionalHandle * pHandle_out, CUgraph hGraph, CUcontext ctx,
              unsigned int defaultLaunchValue, unsigned int flags),
             (pHandle_out, hGraph, ctx, defaultLaunchValue, flags)) {
  static std::atomic<CUgraphConditionalHandle> last{0};
  if (pHandle_out == nullptr || Find(hGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pHandle_out = ++last;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphNodeGetType, (CUgraphNode hNode, CUgraphNodeType* type), (hNode, type)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphGetNodes, (CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes),
             (hGraph, nodes, numNodes)) {
  const Graph* graph = Find(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  return HandOut(Handles(graph->nodes), nodes, numNodes);
}

DRIVER_ENTRY(cuGraphGetRootNodes, (CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes),
             (hGraph, rootNodes, numRootNodes)) {
  const Graph* graph = Find(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  std::vector<CUgraphNode> roots;
  for (GraphNode* node : graph->nodes) {
    if (node->dependencies.empty()) roots.push_back(Handle(node));
  }
  return HandOut(roots, rootNodes, numRootNodes);
}

DRIVER_ENTRY(cuGraphGetEdges_v2,
             (CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData,
              size_t* numEdges),
             (hGraph, from, to, edgeData, numEdges)) {
  const Graph* graph = Find(hGraph);
  if (graph == nullptr || numEdges == nullptr || (from == nullptr) != (to == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Lock lock(ModelMutex());
  std::vector<CUgraphNode> sources, targets;
  for (GraphNode* node : graph->nodes) {
    for (GraphNode* dependency : node->dependencies) {
      sources.push_back(Handle(dependency));
      targets.push_back(Handle(node));
    }
  }
  if (edgeData != nullptr) memset(edgeData, 0, *numEdges * sizeof(*edgeData));
  size_t room = *numEdges;
  RETURN_IF_ERROR(HandOut(sources, from, numEdges));
  return HandOut(targets, to, to == nullptr ? numEdges : &room);
}

DRIVER_ENTRY(cuGraphNodeGetDependencies_v2,
             (CUgraphNode hNode, CUgraphNode* dependencies, CUgraphEdgeData* edgeData,
              size_t* numDependencies),
             (hNode, dependencies, edgeData, numDependencies)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || numDependencies == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (edgeData != nullptr) memset(edgeData, 0, *numDependencies * sizeof(*edgeData));
  Lock lock(ModelMutex());
  return HandOut(Handles(node->dependencies), dependencies, numDependencies);
}

DRIVER_ENTRY(cuGraphNodeGetDependentNodes_v2,
             (CUgraphNode hNode, CUgraphNode* dependentNodes, CUgraphEdgeData* edgeData,
              size_t* numDependentNodes),
             (hNode, dependentNodes, edgeData, numDependentNodes)) {
  const GraphNode* node = Find(hNode);
  if (node == nullptr || numDependentNodes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (edgeData != nullptr) memset(edgeData, 0, *numDependentNodes * sizeof(*edgeData));
  Lock lock(ModelMutex());
  return HandOut(Handles(node->dependents), dependentNodes, numDependentNodes);
}

DRIVER_ENTRY(cuGraphAddDependencies_v2,
             (CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
              const CUgraphEdgeData* edgeData, size_t numDependencies),
             (hGraph, from, to, edgeData, numDependencies)) {
  std::vector<GraphNode*> sources, targets;
  RETURN_IF_ERROR(FindAll(from, numDependencies, &sources));
  RETURN_IF_ERROR(FindAll(to, numDependencies, &targets));
  const Graph* graph = Find(hGraph);
  Lock lock(ModelMutex());
  for (size_t i = 0; i < numDependencies; ++i) {
    auto& known = targets[i]->dependencies;
    bool exists = std::find(known.begin(), known.end(), sources[i]) != known.end();
    if (exists || sources[i]->graph != graph || targets[i]->graph != graph) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    known.push_back(sources[i]);
    sources[i]->dependents.push_back(targets[i]);
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphRemoveDependencies_v2,
             (CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
              const CUgraphEdgeData* edgeData, size_t numDependencies),
             (hGraph, from, to, edgeData, numDependencies)) {
  std::vector<GraphNode*> sources, targets;
  RETURN_IF_ERROR(FindAll(from, numDependencies, &sources));
  RETURN_IF_ERROR(FindAll(to, numDependencies, &targets));
  Lock lock(ModelMutex());
  for (size_t i = 0; i < numDependencies; ++i) {
    auto& known = targets[i]->dependencies;
    auto& known_back = sources[i]->dependents;
    auto at = std::find(known.begin(), known.end(), sources[i]);
    if (at == known.end()) return CUDA_ERROR_INVALID_VALUE;
    known.erase(at);
    known_back.erase(std::find(known_back.begin(), known_back.end(), targets[i]));
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphDestroyNode, (CUgraphNode hNode), (hNode)) {
  GraphNode* node = Find(hNode);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  DestroyNode(node);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphInstantiateWithFlags,
             (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
             (phGraphExec, hGraph, flags)) {
  return Instantiate(phGraphExec, hGraph, flags);
}

DRIVER_STREAM_ENTRY(cuGraphInstantiateWithParams, _ptsz,
                    (CUgraphExec * phGraphExec, CUgraph hGraph,
                     CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams),
                    (phGraphExec, hGraph, instantiateParams)) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = Instantiate(phGraphExec, hGraph, instantiateParams->flags);
  instantiateParams->hErrNode_out = nullptr;
  instantiateParams->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

DRIVER_ENTRY(cuGraphExecGetFlags, (CUgraphExec hGraphExec, cuuint64_t* flags),
             (hGraphExec, flags)) {
  const GraphExec* exec = Find(hGraphExec);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphExecKernelNodeSetParams_v2,
             (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams),
             (hGraphExec, hNode, nodeParams)) {
  Operation operation;
  RETURN_IF_ERROR(KernelOperation(nodeParams, &operation));
  return Replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL, std::move(operation));
}

DRIVER_ENTRY(cuGraphExecMemcpyNodeSetParams,
             (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D* copyParams,
              CUcontext ctx),
             (hGraphExec, hNode, copyParams, ctx)) {
  Operation operation;
  RETURN_IF_ERROR(CopyOperation(copyParams, &operation));
  return Replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(operation));
}

DRIVER_ENTRY(cuGraphExecMemsetNodeSetParams,
             (CUgraphExec hGraphExec, CUgraphNode hNode,
              const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx),
             (hGraphExec, hNode, memsetParams, ctx)) {
  Operation operation;
  RETURN_IF_ERROR(FillOperation(memsetParams, &operation));
  return Replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, std::move(operation));
}

DRIVER_ENTRY(cuGraphExecHostNodeSetParams,
             (CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams),
             (hGraphExec, hNode, nodeParams)) {
  Operation operation;
  RETURN_IF_ERROR(HostOperation(nodeParams, &operation));
  return Replace(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, std::move(operation));
}

DRIVER_ENTRY(cuGraphNodeSetEnabled,
             (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled),
             (hGraphExec, hNode, isEnabled)) {
  GraphExec* exec = Find(hGraphExec);
  const GraphNode* node = Find(hNode);
  if (exec == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  auto at = exec->positions.find(node->id);
  if (at == exec->positions.end()) return CUDA_ERROR_INVALID_VALUE;
  auto plan = std::make_shared<GraphPlan>(*exec->plan);
  plan->nodes[at->second].enabled = isEnabled != 0;
  exec->plan = std::move(plan);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphNodeGetEnabled,
             (CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled),
             (hGraphExec, hNode, isEnabled)) {
  const GraphExec* exec = Find(hGraphExec);
  const GraphNode* node = Find(hNode);
  if (exec == nullptr || node == nullptr || isEnabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  auto at = exec->positions.find(node->id);
  if (at == exec->positions.end()) return CUDA_ERROR_INVALID_VALUE;
  *isEnabled = exec->plan->nodes[at->second].enabled ? 1 : 0;
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphExecUpdate_v2,
             (CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo),
             (hGraphExec, hGraph, resultInfo)) {
  GraphExec* exec = Find(hGraphExec);
  Graph* graph = Find(hGraph);
  if (exec == nullptr || graph == nullptr || resultInfo == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *resultInfo = {};
  Lock lock(ModelMutex());
  GraphExec updated;
  updated.id = exec->id;
  updated.flags = exec->flags;
  RETURN_IF_ERROR(MakeExec(*graph, &updated));
  // The shape has to be the same: as many nodes, of the same types, with the same dependencies.
  bool same = updated.plan->nodes.size() == exec->plan->nodes.size();
  for (size_t i = 0; same && i < updated.plan->nodes.size(); ++i) {
    const GraphPlan::Node& before = exec->plan->nodes[i];
    const GraphPlan::Node& after = updated.plan->nodes[i];
    same = NodeType(before.operation) == NodeType(after.operation) &&
           before.dependencies == after.dependencies;
  }
  if (!same) {
    resultInfo->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  resultInfo->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  // Nodes of the graph that the exec was made of keep naming the same places.
  updated.positions.insert(exec->positions.begin(), exec->positions.end());
  updated.original_graph_id = exec->original_graph_id;
  *exec = std::move(updated);
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuGraphUpload, _ptsz, (CUgraphExec hGraphExec, CUstream hStream),
                    (hGraphExec, hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  return Find(hGraphExec) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuGraphLaunch, _ptsz, (CUgraphExec hGraphExec, CUstream hStream),
                    (hGraphExec, hStream)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  const GraphExec* exec = Find(hGraphExec);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  operation.delay_ns = kLaunchLatencyNs;
  {
    Lock lock(ModelMutex());
    operation.what = GraphLaunch{exec->plan};
  }
  return Submit(*stream, std::move(operation));
}

DRIVER_ENTRY(cuGraphExecDestroy, (CUgraphExec hGraphExec), (hGraphExec)) {
  GraphExec* exec = Find(hGraphExec);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  Graphs::Instance().execs.Destroy(exec);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuGraphDebugDotPrint, (CUgraph hGraph, const char* path, unsigned int flags),
             (hGraph, path, flags)) {
  const Graph* graph = Find(hGraph);
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FILE* file = fopen(path, "w");
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  fprintf(file, "digraph graph_%u {\n", graph->id);
  Lock lock(ModelMutex());
  for (const GraphNode* node : graph->nodes) {
    const auto* launch = std::get_if<KernelLaunch>(&node->operation.what);
    fprintf(file, "  n%llu [label=\"%s\"];\n", static_cast<unsigned long long>(node->id),
            launch != nullptr ? launch->reported_name : "");
    for (const GraphNode* dependent : node->dependents) {
      fprintf(file, "  n%llu -> n%llu;\n", static_cast<unsigned long long>(node->id),
              static_cast<unsigned long long>(dependent->id));
    }
  }
  fprintf(file, "}\n");
  fclose(file);
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGraphMemTrim, (CUdevice device), (device)) {
  return FindDevice(device) == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

DRIVER_ENTRY(cuDeviceGetGraphMemAttribute,
             (CUdevice device, CUgraphMem_attribute attr, void* value), (device, attr, value)) {
  if (FindDevice(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<cuuint64_t*>(value) = 0;
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamBeginCapture_v2, _ptsz, (CUstream hStream, CUstreamCaptureMode mode),
                    (hStream, mode)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Lock lock(ModelMutex());
  return BeginCapture(*stream, mode, nullptr, {});
}

DRIVER_STREAM_ENTRY(cuStreamBeginCaptureToGraph, _ptsz,
                    (CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                     CUstreamCaptureMode mode),
                    (hStream, hGraph, dependencies, dependencyData, numDependencies, mode)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  Graph* graph = Find(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> nodes;
  RETURN_IF_ERROR(FindAll(dependencies, numDependencies, &nodes));
  Lock lock(ModelMutex());
  return BeginCapture(*stream, mode, graph, nodes);
}

DRIVER_STREAM_ENTRY(cuStreamEndCapture, _ptsz, (CUstream hStream, CUgraph* phGraph),
                    (hStream, phGraph)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  Lock lock(ModelMutex());
  Graph* graph = nullptr;
  CUresult result = EndCapture(*stream, &graph);
  // A capture into a graph that the caller has may be ended without asking for it.
  if (phGraph != nullptr) *phGraph = graph == nullptr ? nullptr : Handle(graph);
  return result;
}

DRIVER_STREAM_ENTRY(cuStreamIsCapturing, _ptsz,
                    (CUstream hStream, CUstreamCaptureStatus* captureStatus),
                    (hStream, captureStatus)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (captureStatus == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  if (stream->legacy && LegacyStreamIsForbidden(*stream->context, false)) {
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  *captureStatus = stream->capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
                   : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamGetCaptureInfo_v3, _ptsz,
                    (CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out,
                     CUgraph* graph_out, const CUgraphNode** dependencies_out,
                     const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out),
                    (hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
                     numDependencies_out)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  if (captureStatus_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Lock lock(ModelMutex());
  const Capture* capture = stream->capture.get();
  *captureStatus_out = capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
                       : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                          : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (capture == nullptr || capture->invalid) return CUDA_SUCCESS;
  // The lists stay valid until the thread asks again.
  static thread_local std::vector<CUgraphNode> nodes;
  static thread_local std::vector<CUgraphEdgeData> edges;
  nodes = Handles(stream->capture_tail);
  edges.assign(nodes.size(), CUgraphEdgeData{});
  if (id_out != nullptr) *id_out = capture->id;
  if (graph_out != nullptr) *graph_out = Handle(capture->graph);
  if (dependencies_out != nullptr) *dependencies_out = nodes.data();
  if (edgeData_out != nullptr) *edgeData_out = edges.data();
  if (numDependencies_out != nullptr) *numDependencies_out = nodes.size();
  return CUDA_SUCCESS;
}

DRIVER_STREAM_ENTRY(cuStreamUpdateCaptureDependencies_v2, _ptsz,
                    (CUstream hStream, CUgraphNode* dependencies,
                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                     unsigned int flags),
                    (hStream, dependencies, dependencyData, numDependencies, flags)) {
  Stream* stream;
  RETURN_IF_ERROR(NeedStream(hStream, default_stream, &stream));
  std::vector<GraphNode*> nodes;
  RETURN_IF_ERROR(FindAll(dependencies, numDependencies, &nodes));
  Lock lock(ModelMutex());
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->capture_tail.clear();
  for (GraphNode* node : nodes) {
    auto& tail = stream->capture_tail;
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
  return CUDA_SUCCESS;
}

DRIVER_ENTRY(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), (mode)) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, Thread().capture_mode);
  return CUDA_SUCCESS;
}

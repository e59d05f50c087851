// Graphs and stream capture. Handles, node types and most structures are the driver's own.
#include "tests/simcuda/runtime/copy_params.h"
#include "tests/simcuda/runtime/entry.h"
#include "tests/simcuda/runtime/registration.h"

using namespace simcuda::runtime;  // NOLINT: the entry points are global by their nature.

namespace {

cudaError_t Kernel(const DriverApi& driver, const cudaKernelNodeParams* from,
                   CUDA_KERNEL_NODE_PARAMS* to) {
  if (from == nullptr) return cudaErrorInvalidValue;
  CUkernel kernel;
  RETURN_IF_CUDA_ERROR(FindKernel(driver, from->func, &kernel));
  *to = {};
  to->func = reinterpret_cast<CUfunction>(kernel);
  to->gridDimX = from->gridDim.x;
  to->gridDimY = from->gridDim.y;
  to->gridDimZ = from->gridDim.z;
  to->blockDimX = from->blockDim.x;
  to->blockDimY = from->blockDim.y;
  to->blockDimZ = from->blockDim.z;
  to->sharedMemBytes = from->sharedMemBytes;
  to->kernelParams = from->kernelParams;
  to->extra = from->extra;
  return cudaSuccess;
}

cudaError_t Fill(const cudaMemsetParams* from, CUDA_MEMSET_NODE_PARAMS* to) {
  if (from == nullptr) return cudaErrorInvalidValue;
  *to = {};
  to->dst = reinterpret_cast<CUdeviceptr>(from->dst);
  to->pitch = from->pitch;
  to->value = from->value;
  to->elementSize = from->elementSize;
  to->width = from->width;
  to->height = from->height;
  return cudaSuccess;
}

cudaError_t Host(const cudaHostNodeParams* from, CUDA_HOST_NODE_PARAMS* to) {
  if (from == nullptr) return cudaErrorInvalidValue;
  *to = {};
  to->fn = from->fn;
  to->userData = from->userData;
  return cudaSuccess;
}

// A part of a variable as memory.
cudaError_t InSymbol(const DriverApi& driver, const void* symbol, size_t count, size_t offset,
                     void** pointer) {
  CUdeviceptr address;
  size_t bytes;
  RETURN_IF_CUDA_ERROR(FindSymbol(driver, symbol, &address, &bytes));
  if (offset > bytes || count > bytes - offset) return cudaErrorInvalidValue;
  *pointer = reinterpret_cast<void*>(address + offset);
  return cudaSuccess;
}

cudaError_t AddLinear(const DriverApi& driver, cudaGraphNode_t* node, cudaGraph_t graph,
                      const cudaGraphNode_t* dependencies, size_t count, void* dst, const void* src,
                      size_t bytes, cudaMemcpyKind kind) {
  if (!IsDirection(kind)) return cudaErrorInvalidMemcpyDirection;
  if (dst == nullptr || src == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy = LinearCopy(dst, src, bytes);
  return ToRuntime(driver.cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy,
                                               driver.bridge->current_context()));
}

}  // namespace

RUNTIME_STREAM_ENTRY(cudaStreamBeginCapture, v10000, _ptsz, v10000,
                     (cudaStream_t stream, cudaStreamCaptureMode mode), (stream, mode)) {
  return ToRuntime(driver.cuStreamBeginCapture_v2(StreamOr(stream, default_stream),
                                                  static_cast<CUstreamCaptureMode>(mode)));
}

RUNTIME_STREAM_ENTRY(cudaStreamBeginCaptureToGraph, v12030, _ptsz, v12030,
                     (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                      const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                      cudaStreamCaptureMode mode),
                     (stream, graph, dependencies, dependencyData, numDependencies, mode)) {
  return ToRuntime(
      driver.cuStreamBeginCaptureToGraph(StreamOr(stream, default_stream), graph, dependencies,
                                         reinterpret_cast<const CUgraphEdgeData*>(dependencyData),
                                         numDependencies, static_cast<CUstreamCaptureMode>(mode)));
}

RUNTIME_STREAM_ENTRY(cudaStreamEndCapture, v10000, _ptsz, v10000,
                     (cudaStream_t stream, cudaGraph_t* pGraph), (stream, pGraph)) {
  return ToRuntime(driver.cuStreamEndCapture(StreamOr(stream, default_stream), pGraph));
}

RUNTIME_STREAM_ENTRY(cudaStreamIsCapturing, v10000, _ptsz, v10000,
                     (cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus),
                     (stream, pCaptureStatus)) {
  return ToRuntime(driver.cuStreamIsCapturing(
      StreamOr(stream, default_stream), reinterpret_cast<CUstreamCaptureStatus*>(pCaptureStatus)));
}

RUNTIME_STREAM_ENTRY(cudaStreamGetCaptureInfo, v12030, _ptsz, v12030,
                     (cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out,
                      unsigned long long* id_out, cudaGraph_t* graph_out,
                      const cudaGraphNode_t** dependencies_out,
                      const cudaGraphEdgeData** edgeData_out, size_t* numDependencies_out),
                     (stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
                      numDependencies_out)) {
  cuuint64_t id = 0;
  CUresult result = driver.cuStreamGetCaptureInfo_v3(
      StreamOr(stream, default_stream), reinterpret_cast<CUstreamCaptureStatus*>(captureStatus_out),
      &id, graph_out, dependencies_out, reinterpret_cast<const CUgraphEdgeData**>(edgeData_out),
      numDependencies_out);
  if (id_out != nullptr) *id_out = id;
  return ToRuntime(result);
}

RUNTIME_STREAM_ENTRY(cudaStreamUpdateCaptureDependencies, v12030, _ptsz, v12030,
                     (cudaStream_t stream, cudaGraphNode_t* dependencies,
                      const cudaGraphEdgeData* dependencyData, size_t numDependencies,
                      unsigned int flags),
                     (stream, dependencies, dependencyData, numDependencies, flags)) {
  return ToRuntime(driver.cuStreamUpdateCaptureDependencies_v2(
      StreamOr(stream, default_stream), dependencies,
      reinterpret_cast<const CUgraphEdgeData*>(dependencyData), numDependencies, flags));
}

RUNTIME_ENTRY(cudaThreadExchangeStreamCaptureMode, v10010, (cudaStreamCaptureMode * mode), (mode)) {
  return ToRuntime(
      driver.cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)));
}

RUNTIME_ENTRY(cudaGraphCreate, v10000, (cudaGraph_t * pGraph, unsigned int flags),
              (pGraph, flags)) {
  return ToRuntime(driver.cuGraphCreate(pGraph, flags));
}

RUNTIME_ENTRY(cudaGraphDestroy, v10000, (cudaGraph_t graph), (graph)) {
  return ToRuntime(driver.cuGraphDestroy(graph));
}

RUNTIME_ENTRY(cudaGraphClone, v10000, (cudaGraph_t * pGraphClone, cudaGraph_t originalGraph),
              (pGraphClone, originalGraph)) {
  return ToRuntime(driver.cuGraphClone(pGraphClone, originalGraph));
}

RUNTIME_ENTRY(cudaGraphNodeFindInClone, v10000,
              (cudaGraphNode_t * pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph),
              (pNode, originalNode, clonedGraph)) {
  return ToRuntime(driver.cuGraphNodeFindInClone(pNode, originalNode, clonedGraph));
}

RUNTIME_ENTRY(cudaGraphAddKernelNode, v10000,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies,
               const cudaKernelNodeParams* pNodeParams),
              (pGraphNode, graph, pDependencies, numDependencies, pNodeParams)) {
  CUDA_KERNEL_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Kernel(driver, pNodeParams, &params));
  return ToRuntime(
      driver.cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, &params));
}

RUNTIME_ENTRY(cudaGraphKernelNodeGetParams, v10000,
              (cudaGraphNode_t node, cudaKernelNodeParams* pNodeParams), (node, pNodeParams)) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_KERNEL_NODE_PARAMS params = {};
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.cuGraphKernelNodeGetParams_v2(node, &params)));
  pNodeParams->func = params.func;
  pNodeParams->gridDim = dim3(params.gridDimX, params.gridDimY, params.gridDimZ);
  pNodeParams->blockDim = dim3(params.blockDimX, params.blockDimY, params.blockDimZ);
  pNodeParams->sharedMemBytes = params.sharedMemBytes;
  pNodeParams->kernelParams = params.kernelParams;
  pNodeParams->extra = params.extra;
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaGraphKernelNodeSetParams, v10000,
              (cudaGraphNode_t node, const cudaKernelNodeParams* pNodeParams),
              (node, pNodeParams)) {
  CUDA_KERNEL_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Kernel(driver, pNodeParams, &params));
  return ToRuntime(driver.cuGraphKernelNodeSetParams_v2(node, &params));
}

RUNTIME_ENTRY(cudaGraphAddMemcpyNode, v10000,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies,
               const cudaMemcpy3DParms* pCopyParams),
              (pGraphNode, graph, pDependencies, numDependencies, pCopyParams)) {
  if (pCopyParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  RETURN_IF_CUDA_ERROR(ToDriver(driver, *pCopyParams, &copy));
  return ToRuntime(driver.cuGraphAddMemcpyNode(pGraphNode, graph, pDependencies, numDependencies,
                                               &copy, driver.bridge->current_context()));
}

RUNTIME_ENTRY(cudaGraphAddMemcpyNode1D, v11010,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies, void* dst,
               const void* src, size_t count, cudaMemcpyKind kind),
              (pGraphNode, graph, pDependencies, numDependencies, dst, src, count, kind)) {
  return AddLinear(driver, pGraphNode, graph, pDependencies, numDependencies, dst, src, count,
                   kind);
}

RUNTIME_ENTRY(cudaGraphAddMemcpyNodeToSymbol, v11010,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies, const void* symbol,
               const void* src, size_t count, size_t offset, cudaMemcpyKind kind),
              (pGraphNode, graph, pDependencies, numDependencies, symbol, src, count, offset,
               kind)) {
  void* to;
  RETURN_IF_CUDA_ERROR(InSymbol(driver, symbol, count, offset, &to));
  return AddLinear(driver, pGraphNode, graph, pDependencies, numDependencies, to, src, count, kind);
}

RUNTIME_ENTRY(cudaGraphAddMemcpyNodeFromSymbol, v11010,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies, void* dst,
               const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind),
              (pGraphNode, graph, pDependencies, numDependencies, dst, symbol, count, offset,
               kind)) {
  void* from;
  RETURN_IF_CUDA_ERROR(InSymbol(driver, symbol, count, offset, &from));
  return AddLinear(driver, pGraphNode, graph, pDependencies, numDependencies, dst, from, count,
                   kind);
}

RUNTIME_ENTRY(cudaGraphMemcpyNodeSetParams1D, v11010,
              (cudaGraphNode_t node, void* dst, const void* src, size_t count, cudaMemcpyKind kind),
              (node, dst, src, count, kind)) {
  if (!IsDirection(kind)) return cudaErrorInvalidMemcpyDirection;
  CUDA_MEMCPY3D copy = LinearCopy(dst, src, count);
  return ToRuntime(driver.cuGraphMemcpyNodeSetParams(node, &copy));
}

RUNTIME_ENTRY(cudaGraphMemcpyNodeSetParams, v10000,
              (cudaGraphNode_t node, const cudaMemcpy3DParms* pNodeParams), (node, pNodeParams)) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  RETURN_IF_CUDA_ERROR(ToDriver(driver, *pNodeParams, &copy));
  return ToRuntime(driver.cuGraphMemcpyNodeSetParams(node, &copy));
}

RUNTIME_ENTRY(cudaGraphAddMemsetNode, v10000,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies,
               const cudaMemsetParams* pMemsetParams),
              (pGraphNode, graph, pDependencies, numDependencies, pMemsetParams)) {
  CUDA_MEMSET_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Fill(pMemsetParams, &params));
  return ToRuntime(driver.cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies,
                                               &params, driver.bridge->current_context()));
}

RUNTIME_ENTRY(cudaGraphMemsetNodeGetParams, v10000,
              (cudaGraphNode_t node, cudaMemsetParams* pNodeParams), (node, pNodeParams)) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMSET_NODE_PARAMS params = {};
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.cuGraphMemsetNodeGetParams(node, &params)));
  pNodeParams->dst = reinterpret_cast<void*>(params.dst);
  pNodeParams->pitch = params.pitch;
  pNodeParams->value = params.value;
  pNodeParams->elementSize = params.elementSize;
  pNodeParams->width = params.width;
  pNodeParams->height = params.height;
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaGraphMemsetNodeSetParams, v10000,
              (cudaGraphNode_t node, const cudaMemsetParams* pNodeParams), (node, pNodeParams)) {
  CUDA_MEMSET_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Fill(pNodeParams, &params));
  return ToRuntime(driver.cuGraphMemsetNodeSetParams(node, &params));
}

RUNTIME_ENTRY(cudaGraphAddHostNode, v10000,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies,
               const cudaHostNodeParams* pNodeParams),
              (pGraphNode, graph, pDependencies, numDependencies, pNodeParams)) {
  CUDA_HOST_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Host(pNodeParams, &params));
  return ToRuntime(
      driver.cuGraphAddHostNode(pGraphNode, graph, pDependencies, numDependencies, &params));
}

RUNTIME_ENTRY(cudaGraphHostNodeGetParams, v10000,
              (cudaGraphNode_t node, cudaHostNodeParams* pNodeParams), (node, pNodeParams)) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_HOST_NODE_PARAMS params = {};
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.cuGraphHostNodeGetParams(node, &params)));
  pNodeParams->fn = params.fn;
  pNodeParams->userData = params.userData;
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaGraphHostNodeSetParams, v10000,
              (cudaGraphNode_t node, const cudaHostNodeParams* pNodeParams), (node, pNodeParams)) {
  CUDA_HOST_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Host(pNodeParams, &params));
  return ToRuntime(driver.cuGraphHostNodeSetParams(node, &params));
}

RUNTIME_ENTRY(cudaGraphAddChildGraphNode, v10000,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies,
               cudaGraph_t childGraph),
              (pGraphNode, graph, pDependencies, numDependencies, childGraph)) {
  return ToRuntime(driver.cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies,
                                                   numDependencies, childGraph));
}

RUNTIME_ENTRY(cudaGraphChildGraphNodeGetGraph, v10000, (cudaGraphNode_t node, cudaGraph_t* pGraph),
              (node, pGraph)) {
  return ToRuntime(driver.cuGraphChildGraphNodeGetGraph(node, pGraph));
}

RUNTIME_ENTRY(cudaGraphAddEmptyNode, v10000,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies),
              (pGraphNode, graph, pDependencies, numDependencies)) {
  return ToRuntime(driver.cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies));
}

RUNTIME_ENTRY(cudaGraphAddEventRecordNode, v11010,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies, cudaEvent_t event),
              (pGraphNode, graph, pDependencies, numDependencies, event)) {
  return ToRuntime(
      driver.cuGraphAddEventRecordNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

RUNTIME_ENTRY(cudaGraphAddEventWaitNode, v11010,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies, cudaEvent_t event),
              (pGraphNode, graph, pDependencies, numDependencies, event)) {
  return ToRuntime(
      driver.cuGraphAddEventWaitNode(pGraphNode, graph, pDependencies, numDependencies, event));
}

RUNTIME_ENTRY(cudaGraphAddMemAllocNode, v11040,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies,
               cudaMemAllocNodeParams* nodeParams),
              (pGraphNode, graph, pDependencies, numDependencies, nodeParams)) {
  if (nodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.location.type =
      static_cast<CUmemLocationType>(nodeParams->poolProps.location.type);
  params.poolProps.location.id = nodeParams->poolProps.location.id;
  params.bytesize = nodeParams->bytesize;
  CUresult result =
      driver.cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies, &params);
  nodeParams->dptr = reinterpret_cast<void*>(params.dptr);
  return ToRuntime(result);
}

RUNTIME_ENTRY(cudaGraphMemAllocNodeGetParams, v11040,
              (cudaGraphNode_t node, cudaMemAllocNodeParams* params_out), (node, params_out)) {
  if (params_out == nullptr) return cudaErrorInvalidValue;
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  RETURN_IF_CUDA_ERROR(ToRuntime(driver.cuGraphMemAllocNodeGetParams(node, &params)));
  *params_out = {};
  params_out->poolProps.location.type =
      static_cast<cudaMemLocationType>(params.poolProps.location.type);
  params_out->poolProps.location.id = params.poolProps.location.id;
  params_out->bytesize = params.bytesize;
  params_out->dptr = reinterpret_cast<void*>(params.dptr);
  return cudaSuccess;
}

RUNTIME_ENTRY(cudaGraphAddMemFreeNode, v11040,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, size_t numDependencies, void* dptr),
              (pGraphNode, graph, pDependencies, numDependencies, dptr)) {
  return ToRuntime(driver.cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies,
                                                reinterpret_cast<CUdeviceptr>(dptr)));
}

RUNTIME_ENTRY(cudaGraphMemFreeNodeGetParams, v11040, (cudaGraphNode_t node, void* dptr_out),
              (node, dptr_out)) {
  return ToRuntime(driver.cuGraphMemFreeNodeGetParams(node, static_cast<CUdeviceptr*>(dptr_out)));
}

RUNTIME_ENTRY(cudaGraphAddNode, v12030,
              (cudaGraphNode_t * pGraphNode, cudaGraph_t graph,
               const cudaGraphNode_t* pDependencies, const cudaGraphEdgeData* dependencyData,
               size_t numDependencies, cudaGraphNodeParams* nodeParams),
              (pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams)) {
  if (nodeParams == nullptr) return cudaErrorInvalidValue;
  // The kinds whose parameters name host functions or runtime structures are translated; the rest
  // are laid out alike.
  CUgraphNodeParams params = {};
  params.type = static_cast<CUgraphNodeType>(nodeParams->type);
  switch (nodeParams->type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParamsV2& from = nodeParams->kernel;
      CUkernel kernel;
      RETURN_IF_CUDA_ERROR(FindKernel(driver, from.func, &kernel));
      params.kernel.func = reinterpret_cast<CUfunction>(kernel);
      params.kernel.gridDimX = from.gridDim.x;
      params.kernel.gridDimY = from.gridDim.y;
      params.kernel.gridDimZ = from.gridDim.z;
      params.kernel.blockDimX = from.blockDim.x;
      params.kernel.blockDimY = from.blockDim.y;
      params.kernel.blockDimZ = from.blockDim.z;
      params.kernel.sharedMemBytes = from.sharedMemBytes;
      params.kernel.kernelParams = from.kernelParams;
      params.kernel.extra = from.extra;
      break;
    }
    case cudaGraphNodeTypeMemcpy:
      RETURN_IF_CUDA_ERROR(
          ToDriver(driver, nodeParams->memcpy.copyParams, &params.memcpy.copyParams));
      break;
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParamsV2& from = nodeParams->memset;
      params.memset.dst = reinterpret_cast<CUdeviceptr>(from.dst);
      params.memset.pitch = from.pitch;
      params.memset.value = from.value;
      params.memset.elementSize = from.elementSize;
      params.memset.width = from.width;
      params.memset.height = from.height;
      break;
    }
    case cudaGraphNodeTypeHost:
      params.host.fn = nodeParams->host.fn;
      params.host.userData = nodeParams->host.userData;
      break;
    case cudaGraphNodeTypeGraph:
      params.graph.graph = nodeParams->graph.graph;
      break;
    case cudaGraphNodeTypeWaitEvent:
      params.eventWait.event = nodeParams->eventWait.event;
      break;
    case cudaGraphNodeTypeEventRecord:
      params.eventRecord.event = nodeParams->eventRecord.event;
      break;
    case cudaGraphNodeTypeMemAlloc:
      params.alloc.poolProps.location.id = nodeParams->alloc.poolProps.location.id;
      params.alloc.bytesize = nodeParams->alloc.bytesize;
      break;
    case cudaGraphNodeTypeMemFree:
      params.free.dptr = reinterpret_cast<CUdeviceptr>(nodeParams->free.dptr);
      break;
    case cudaGraphNodeTypeConditional:
      params.conditional.handle = nodeParams->conditional.handle;
      params.conditional.type =
          static_cast<CUgraphConditionalNodeType>(nodeParams->conditional.type);
      params.conditional.size = nodeParams->conditional.size;
      break;
    default:
      break;
  }
  CUresult result = driver.cuGraphAddNode_v2(
      pGraphNode, graph, pDependencies, reinterpret_cast<const CUgraphEdgeData*>(dependencyData),
      numDependencies, &params);
  if (nodeParams->type == cudaGraphNodeTypeMemAlloc) {
    nodeParams->alloc.dptr = reinterpret_cast<void*>(params.alloc.dptr);
  } else if (nodeParams->type == cudaGraphNodeTypeConditional) {
    nodeParams->conditional.phGraph_out = params.conditional.phGraph_out;
  }
  return ToRuntime(result);
}

RUNTIME_ENTRY(cudaGraphConditionalHandleCreate, v12030,
              (cudaGraphConditionalHandle * pHandle_out, cudaGraph_t graph,
               unsigned int defaultLaunchValue, unsigned int flags),
              (pHandle_out, graph, defaultLaunchValue, flags)) {
  CUgraphConditionalHandle handle = 0;
  CUresult result = driver.cuGraphConditionalHandleCreate(
      &handle, graph, driver.bridge->current_context(), defaultLaunchValue, flags);
  if (pHandle_out != nullptr) *pHandle_out = handle;
  return ToRuntime(result);
}

RUNTIME_ENTRY(cudaGraphNodeGetType, v10000, (cudaGraphNode_t node, cudaGraphNodeType* pType),
              (node, pType)) {
  return ToRuntime(driver.cuGraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(pType)));
}

RUNTIME_ENTRY(cudaGraphGetNodes, v10000,
              (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes),
              (graph, nodes, numNodes)) {
  return ToRuntime(driver.cuGraphGetNodes(graph, nodes, numNodes));
}

RUNTIME_ENTRY(cudaGraphGetRootNodes, v10000,
              (cudaGraph_t graph, cudaGraphNode_t* pRootNodes, size_t* pNumRootNodes),
              (graph, pRootNodes, pNumRootNodes)) {
  return ToRuntime(driver.cuGraphGetRootNodes(graph, pRootNodes, pNumRootNodes));
}

RUNTIME_ENTRY(cudaGraphGetEdges, v12030,
              (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
               cudaGraphEdgeData* edgeData, size_t* numEdges),
              (graph, from, to, edgeData, numEdges)) {
  return ToRuntime(driver.cuGraphGetEdges_v2(
      graph, from, to, reinterpret_cast<CUgraphEdgeData*>(edgeData), numEdges));
}

RUNTIME_ENTRY(cudaGraphNodeGetDependencies, v12030,
              (cudaGraphNode_t node, cudaGraphNode_t* pDependencies, cudaGraphEdgeData* edgeData,
               size_t* pNumDependencies),
              (node, pDependencies, edgeData, pNumDependencies)) {
  return ToRuntime(driver.cuGraphNodeGetDependencies_v2(
      node, pDependencies, reinterpret_cast<CUgraphEdgeData*>(edgeData), pNumDependencies));
}

RUNTIME_ENTRY(cudaGraphNodeGetDependentNodes, v12030,
              (cudaGraphNode_t node, cudaGraphNode_t* pDependentNodes, cudaGraphEdgeData* edgeData,
               size_t* pNumDependentNodes),
              (node, pDependentNodes, edgeData, pNumDependentNodes)) {
  return ToRuntime(driver.cuGraphNodeGetDependentNodes_v2(
      node, pDependentNodes, reinterpret_cast<CUgraphEdgeData*>(edgeData), pNumDependentNodes));
}

RUNTIME_ENTRY(cudaGraphAddDependencies, v12030,
              (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
               const cudaGraphEdgeData* edgeData, size_t numDependencies),
              (graph, from, to, edgeData, numDependencies)) {
  return ToRuntime(driver.cuGraphAddDependencies_v2(
      graph, from, to, reinterpret_cast<const CUgraphEdgeData*>(edgeData), numDependencies));
}

RUNTIME_ENTRY(cudaGraphRemoveDependencies, v12030,
              (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
               const cudaGraphEdgeData* edgeData, size_t numDependencies),
              (graph, from, to, edgeData, numDependencies)) {
  return ToRuntime(driver.cuGraphRemoveDependencies_v2(
      graph, from, to, reinterpret_cast<const CUgraphEdgeData*>(edgeData), numDependencies));
}

RUNTIME_ENTRY(cudaGraphDestroyNode, v10000, (cudaGraphNode_t node), (node)) {
  return ToRuntime(driver.cuGraphDestroyNode(node));
}

RUNTIME_ENTRY(cudaGraphInstantiate, v12000,
              (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
              (pGraphExec, graph, flags)) {
  return ToRuntime(driver.cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

RUNTIME_ENTRY(cudaGraphInstantiateWithFlags, v11040,
              (cudaGraphExec_t * pGraphExec, cudaGraph_t graph, unsigned long long flags),
              (pGraphExec, graph, flags)) {
  return ToRuntime(driver.cuGraphInstantiateWithFlags(pGraphExec, graph, flags));
}

RUNTIME_STREAM_ENTRY(cudaGraphInstantiateWithParams, v12000, _ptsz, v12000,
                     (cudaGraphExec_t * pGraphExec, cudaGraph_t graph,
                      cudaGraphInstantiateParams* instantiateParams),
                     (pGraphExec, graph, instantiateParams)) {
  if (instantiateParams == nullptr) return cudaErrorInvalidValue;
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.flags = instantiateParams->flags;
  params.hUploadStream = StreamOr(instantiateParams->uploadStream, default_stream);
  CUresult result = driver.cuGraphInstantiateWithParams(pGraphExec, graph, &params);
  instantiateParams->errNode_out = params.hErrNode_out;
  instantiateParams->result_out = static_cast<cudaGraphInstantiateResult>(params.result_out);
  return ToRuntime(result);
}

RUNTIME_ENTRY(cudaGraphExecGetFlags, v12000, (cudaGraphExec_t graphExec, unsigned long long* flags),
              (graphExec, flags)) {
  cuuint64_t value = 0;
  CUresult result = driver.cuGraphExecGetFlags(graphExec, &value);
  if (flags != nullptr) *flags = value;
  return ToRuntime(result);
}

RUNTIME_ENTRY(cudaGraphExecKernelNodeSetParams, v10010,
              (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
               const cudaKernelNodeParams* pNodeParams),
              (hGraphExec, node, pNodeParams)) {
  CUDA_KERNEL_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Kernel(driver, pNodeParams, &params));
  return ToRuntime(driver.cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &params));
}

RUNTIME_ENTRY(cudaGraphExecMemcpyNodeSetParams, v10020,
              (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
               const cudaMemcpy3DParms* pNodeParams),
              (hGraphExec, node, pNodeParams)) {
  if (pNodeParams == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  RETURN_IF_CUDA_ERROR(ToDriver(driver, *pNodeParams, &copy));
  return ToRuntime(driver.cuGraphExecMemcpyNodeSetParams(hGraphExec, node, &copy,
                                                         driver.bridge->current_context()));
}

RUNTIME_ENTRY(cudaGraphExecMemcpyNodeSetParams1D, v11010,
              (cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void* dst, const void* src,
               size_t count, cudaMemcpyKind kind),
              (hGraphExec, node, dst, src, count, kind)) {
  if (!IsDirection(kind)) return cudaErrorInvalidMemcpyDirection;
  CUDA_MEMCPY3D copy = LinearCopy(dst, src, count);
  return ToRuntime(driver.cuGraphExecMemcpyNodeSetParams(hGraphExec, node, &copy,
                                                         driver.bridge->current_context()));
}

RUNTIME_ENTRY(cudaGraphExecMemsetNodeSetParams, v10020,
              (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
               const cudaMemsetParams* pNodeParams),
              (hGraphExec, node, pNodeParams)) {
  CUDA_MEMSET_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Fill(pNodeParams, &params));
  return ToRuntime(driver.cuGraphExecMemsetNodeSetParams(hGraphExec, node, &params,
                                                         driver.bridge->current_context()));
}

RUNTIME_ENTRY(cudaGraphExecHostNodeSetParams, v10020,
              (cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
               const cudaHostNodeParams* pNodeParams),
              (hGraphExec, node, pNodeParams)) {
  CUDA_HOST_NODE_PARAMS params;
  RETURN_IF_CUDA_ERROR(Host(pNodeParams, &params));
  return ToRuntime(driver.cuGraphExecHostNodeSetParams(hGraphExec, node, &params));
}

RUNTIME_ENTRY(cudaGraphNodeSetEnabled, v11060,
              (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled),
              (hGraphExec, hNode, isEnabled)) {
  return ToRuntime(driver.cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled));
}

RUNTIME_ENTRY(cudaGraphNodeGetEnabled, v11060,
              (cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int* isEnabled),
              (hGraphExec, hNode, isEnabled)) {
  return ToRuntime(driver.cuGraphNodeGetEnabled(hGraphExec, hNode, isEnabled));
}

RUNTIME_ENTRY(cudaGraphExecUpdate, v10020,
              (cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
               cudaGraphExecUpdateResultInfo* resultInfo),
              (hGraphExec, hGraph, resultInfo)) {
  if (resultInfo == nullptr) return cudaErrorInvalidValue;
  CUgraphExecUpdateResultInfo info = {};
  CUresult result = driver.cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
  resultInfo->result = static_cast<cudaGraphExecUpdateResult>(info.result);
  resultInfo->errorNode = info.errorNode;
  resultInfo->errorFromNode = info.errorFromNode;
  return ToRuntime(result);
}

RUNTIME_STREAM_ENTRY(cudaGraphUpload, v10000, _ptsz, v10000,
                     (cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream)) {
  return ToRuntime(driver.cuGraphUpload(graphExec, StreamOr(stream, default_stream)));
}

RUNTIME_STREAM_ENTRY(cudaGraphLaunch, v10000, _ptsz, v10000,
                     (cudaGraphExec_t graphExec, cudaStream_t stream), (graphExec, stream)) {
  return ToRuntime(driver.cuGraphLaunch(graphExec, StreamOr(stream, default_stream)));
}

RUNTIME_ENTRY(cudaGraphExecDestroy, v10000, (cudaGraphExec_t graphExec), (graphExec)) {
  return ToRuntime(driver.cuGraphExecDestroy(graphExec));
}

RUNTIME_ENTRY(cudaGraphDebugDotPrint, v11030,
              (cudaGraph_t graph, const char* path, unsigned int flags), (graph, path, flags)) {
  return ToRuntime(driver.cuGraphDebugDotPrint(graph, path, flags));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaDeviceGraphMemTrim, v11040, (int device), (device)) {
  return ToRuntime(driver.cuDeviceGraphMemTrim(device));
}

RUNTIME_ENTRY_NO_CONTEXT(cudaDeviceGetGraphMemAttribute, v11040,
                         (int device, cudaGraphMemAttributeType attr, void* value),
                         (device, attr, value)) {
  return ToRuntime(
      driver.cuDeviceGetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attr), value));
}

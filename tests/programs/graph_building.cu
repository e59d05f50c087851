// Graphs in all the ways in which programs make them: by hand with every kind of node, cloned,
// updated, with memory of their own, captured into a graph that is there, and with a condition.
// Prints what has happened.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__global__ void first(int* data) { data[threadIdx.x] = 1; }
__global__ void second(int* data, int value) { data[threadIdx.x] = value; }

namespace {

constexpr int kCount = 256;
constexpr size_t kBytes = kCount * sizeof(int);

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  exit(1);
}
#define CHECK(call) Check(call, #call)

size_t Nodes(cudaGraph_t graph) {
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  return nodes;
}

cudaMemcpy3DParms LinearCopy(void* destination, void* source, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(source, kBytes, kBytes, 1);
  copy.dstPtr = make_cudaPitchedPtr(destination, kBytes, kBytes, 1);
  copy.extent = make_cudaExtent(kBytes, 1, 1);
  copy.kind = kind;
  return copy;
}

cudaKernelNodeParams Kernel(void* function, void** arguments) {
  cudaKernelNodeParams kernel = {};
  kernel.func = function;
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(kCount);
  kernel.kernelParams = arguments;
  return kernel;
}

void ByHand(cudaStream_t stream, int* device, int* host) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fill, up, kernel, down;
  cudaMemsetParams zeros = {};
  zeros.dst = device;
  zeros.elementSize = 1;
  zeros.width = kBytes;
  zeros.height = 1;
  CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zeros));
  const cudaMemcpy3DParms copy = LinearCopy(device, host, cudaMemcpyHostToDevice);
  CHECK(cudaGraphAddMemcpyNode(&up, graph, &fill, 1, &copy));
  int value = 7;
  void* arguments[] = {&device, &value};
  cudaKernelNodeParams parameters = Kernel(reinterpret_cast<void*>(second), arguments);
  CHECK(cudaGraphAddKernelNode(&kernel, graph, &up, 1, &parameters));
  CHECK(cudaGraphAddMemcpyNode1D(&down, graph, &kernel, 1, host, device, kBytes,
                                 cudaMemcpyDeviceToHost));
  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiateWithFlags(&exec, clone, 0));
  CHECK(cudaGraphUpload(exec, stream));
  host[0] = 42;
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  printf("by hand: %zu nodes, the clone has %zu, the first number is %d\n", Nodes(graph),
         Nodes(clone), host[0]);

  // The same shape with other parameters takes the place of what the executable graph has.
  cudaGraphExecUpdateResultInfo info;
  printf("update: %s\n", cudaGetErrorName(cudaGraphExecUpdate(exec, graph, &info)));
  value = 9;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &parameters));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(clone));
  CHECK(cudaGraphDestroy(graph));
}

void WithMemory(cudaStream_t stream) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t allocate, kernel, release;
  cudaMemAllocNodeParams memory = {};
  memory.poolProps.allocType = cudaMemAllocationTypePinned;
  memory.poolProps.location.type = cudaMemLocationTypeDevice;
  memory.bytesize = kBytes;
  CHECK(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &memory));
  int* data = static_cast<int*>(memory.dptr);
  void* arguments[] = {&data};
  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeKernel;
  parameters.kernel.func = reinterpret_cast<void*>(first);
  parameters.kernel.gridDim = dim3(1);
  parameters.kernel.blockDim = dim3(kCount);
  parameters.kernel.kernelParams = arguments;
  CHECK(cudaGraphAddNode(&kernel, graph, &allocate, nullptr, 1, &parameters));
  CHECK(cudaGraphAddMemFreeNode(&release, graph, &kernel, 1, data));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  size_t reserved = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
  CHECK(cudaDeviceGraphMemTrim(0));
  printf("with memory: %zu nodes\n", Nodes(graph));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void CapturedInto(cudaStream_t stream, int* device) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0,
                                      cudaStreamCaptureModeGlobal));
  first<<<1, kCount, 0, stream>>>(device);
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t being_captured = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  CHECK(cudaStreamGetCaptureInfo(stream, &status, &id, &being_captured, &dependencies, &edges,
                                 &count));
  printf("capture: active %d, the same graph %d, dependencies %zu\n",
         status == cudaStreamCaptureStatusActive, being_captured == graph, count);
  // What comes next depends on nothing.
  CHECK(cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0,
                                            cudaStreamSetCaptureDependencies));
  first<<<1, kCount, 0, stream>>>(device);
  cudaGraph_t ended;
  CHECK(cudaStreamEndCapture(stream, &ended));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  printf("captured into: %zu nodes\n", Nodes(graph));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void WithCondition(cudaStream_t stream, int* device) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = cudaGraphCondTypeIf;
  parameters.conditional.size = 1;
  cudaGraphNode_t condition, kernel;
  CHECK(cudaGraphAddNode(&condition, graph, nullptr, nullptr, 0, &parameters));
  void* arguments[] = {&device};
  cudaKernelNodeParams body = Kernel(reinterpret_cast<void*>(first), arguments);
  CHECK(cudaGraphAddKernelNode(&kernel, parameters.conditional.phGraph_out[0], nullptr, 0, &body));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  printf("with a condition: %zu nodes\n", Nodes(graph));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

}  // namespace

int main() {
  cudaStream_t stream;
  int *device, *host;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaHostAlloc(&host, kBytes, cudaHostAllocDefault));
  ByHand(stream, device, host);
  WithMemory(stream);
  CapturedInto(stream, device);
  WithCondition(stream, device);
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}

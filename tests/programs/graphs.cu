// A captured graph: --kernels K of them over two streams, a copy and a fill, launched --launches N
// times. Then one that is built node by node, with a host function between two kernels. Prints what
// has run.
//
//   graphs [--kernels K] [--launches N]

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

__global__ void captured(int* data) { data[threadIdx.x] += 1; }
__global__ void added(int* data) { data[threadIdx.x] += 2; }

namespace {

constexpr size_t kBytes = 4096;
std::atomic<int> host_calls{0};

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  exit(1);
}
#define CHECK(call) Check(call, #call)

void Count(void*) { ++host_calls; }

size_t Nodes(cudaGraph_t graph) {
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  return nodes;
}

void Captured(int kernels, int launches, int* data, int* other) {
  cudaStream_t first, second;
  cudaEvent_t fork, join;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

  CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, first));
  CHECK(cudaStreamWaitEvent(second, fork, 0));
  for (int i = 0; i < kernels; ++i) captured<<<1, 32, 0, i % 2 == 0 ? first : second>>>(data);
  CHECK(cudaMemsetAsync(other, 7, kBytes, second));
  CHECK(cudaEventRecord(join, second));
  CHECK(cudaStreamWaitEvent(first, join, 0));
  CHECK(cudaMemcpyAsync(data, other, kBytes, cudaMemcpyDeviceToDevice, first));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(first, &graph));
  printf("captured nodes: %zu\n", Nodes(graph));

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < launches; ++i) CHECK(cudaGraphLaunch(exec, first));
  CHECK(cudaStreamSynchronize(first));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  printf("captured launches: %d\n", launches);
  unsigned char bytes[kBytes];
  CHECK(cudaMemcpy(bytes, data, kBytes, cudaMemcpyDeviceToHost));
  printf("last byte: %d\n", bytes[kBytes - 1]);
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
}

void Built(int launches, int* data) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  void* arguments[] = {&data};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(added);
  kernel.gridDim = dim3(2);
  kernel.blockDim = dim3(64);
  kernel.kernelParams = arguments;
  cudaGraphNode_t before, host, after;
  CHECK(cudaGraphAddKernelNode(&before, graph, nullptr, 0, &kernel));
  cudaHostNodeParams function = {};
  function.fn = Count;
  CHECK(cudaGraphAddHostNode(&host, graph, &before, 1, &function));
  CHECK(cudaGraphAddKernelNode(&after, graph, &host, 1, &kernel));
  printf("built nodes: %zu\n", Nodes(graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < launches; ++i) CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  printf("host functions: %d\n", host_calls.load());
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

}  // namespace

int main(int argc, char** argv) {
  int kernels = 4, launches = 10;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--kernels") == 0) kernels = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--launches") == 0) launches = atoi(argv[i + 1]);
  }
  int *data, *other;
  CHECK(cudaMalloc(&data, kBytes));
  CHECK(cudaMalloc(&other, kBytes));
  Captured(kernels, launches, data, other);
  Built(launches, data);
  CHECK(cudaFree(data));
  CHECK(cudaFree(other));
  return 0;
}

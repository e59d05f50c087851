// Does a known number of things of each kind that can be collected, and prints how many as one JSON
// object: memory of every kind, waits for streams, events and the device, a graph that is captured
// in one range and launched in another, and calls that only ask for a state.
//
//   activities [--rounds N]

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__global__ void __launch_bounds__(256) shaped(int* data) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = shared[255 - threadIdx.x];
}
__global__ void captured(int* data) { data[threadIdx.x] += 1; }

namespace {

constexpr size_t kBytes = 1 << 20;
constexpr int kNodes = 3;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  exit(1);
}
#define CHECK(call) Check(call, #call)

// Each round allocates a MiB of each kind; those of the last round are kept until the end.
struct Memory {
  void* device = nullptr;
  void* pinned = nullptr;
  void* managed = nullptr;
  void* pooled = nullptr;

  void Allocate(cudaStream_t stream) {
    CHECK(cudaMalloc(&device, kBytes));
    CHECK(cudaMallocHost(&pinned, kBytes));
    CHECK(cudaMallocManaged(&managed, kBytes));
    CHECK(cudaMallocAsync(&pooled, kBytes, stream));
  }
  // One pool per round, of the program's own.
  static void MakePool() {
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaMemPoolDestroy(pool));
  }
  void Free(cudaStream_t stream) {
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
    CHECK(cudaFreeAsync(pooled, stream));
  }
};

void Round(cudaStream_t stream, cudaEvent_t event, int* data) {
  nvtxRangePushA("round");
  for (int grid = 1; grid <= 2; ++grid) {
    shaped<<<dim3(grid, 2), 256, 2048, stream>>>(data);
    int device;
    CHECK(cudaGetLastError());
    CHECK(cudaGetDevice(&device));
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaEventRecord(event, stream));
  CHECK(cudaEventSynchronize(event));
  CHECK(cudaStreamWaitEvent(stream, event, 0));
  CHECK(cudaDeviceSynchronize());
  nvtxRangePop();
}

void Graph(cudaStream_t stream, int* data, int launches) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  nvtxRangePushA("capture");
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kNodes; ++i) captured<<<1, 32, 0, stream>>>(data);
  CHECK(cudaStreamEndCapture(stream, &graph));
  nvtxRangePop();
  nvtxRangePushA("instantiate");
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  nvtxRangePop();
  for (int i = 0; i < launches; ++i) {
    nvtxRangePushA("replay");
    CHECK(cudaGraphLaunch(exec, stream));
    nvtxRangePop();
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 5;
  if (argc == 3 && strcmp(argv[1], "--rounds") == 0) rounds = atoi(argv[2]);
  cudaStream_t stream;
  cudaEvent_t event;
  int* data;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&data), kBytes));
  Memory memory;
  for (int i = 0; i < rounds; ++i) {
    if (i > 0) memory.Free(stream);
    memory.Allocate(stream);
    Memory::MakePool();
    Round(stream, event, data);
  }
  Graph(stream, data, rounds);
  printf("{\"rounds\": %d, \"shaped\": %d, \"captured\": %d, \"bytes\": %zu}\n", rounds, 2 * rounds,
         kNodes * rounds, kBytes);
  // The memory stays: what is live at the end is known.
  return 0;
}

// Gives names to threads, streams and the device, by NVTX and by the system, and launches a kernel
// `work` in a range on each thread and on each stream. Then says "named", and waits for a line in
// the file that is named (a FIFO); after it each stream gets one kernel more.
//
//   names FIFO

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

__global__ void work() {}

namespace {

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  printf("%s\n", cudaGetErrorString(error));
  exit(1);
}

uint32_t ThisThread() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

// By a resource of a domain, with a registered string.
void NameStream(cudaStream_t stream, const char* name) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("names");
  nvtxResourceAttributes_t resource = {};
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_CUDART_STREAM;
  resource.identifier.pValue = stream;
  resource.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  resource.message.registered = nvtxDomainRegisterStringA(domain, name);
  nvtxDomainResourceDestroy(nvtxDomainResourceCreate(domain, &resource));
}

void Launch(const char* range, cudaStream_t stream) {
  nvtxRangePushA(range);
  work<<<1, 32, 0, stream>>>();
  nvtxRangePop();
}

}  // namespace

int main(int, char** argv) {
  cudaStream_t copies, compute, plain;
  Check(cudaStreamCreateWithPriority(&copies, cudaStreamNonBlocking, -1));
  Check(cudaStreamCreate(&compute));
  Check(cudaStreamCreate(&plain));
  nvtxNameCudaStreamA(copies, "copies");
  NameStream(compute, "compute");
  nvtxNameCudaDeviceW(0, L"the only one");
  const std::vector<cudaStream_t> streams = {nullptr, copies, compute, plain};

  nvtxNameOsThreadA(ThisThread(), "chief");
  for (cudaStream_t stream : streams) Launch("by the chief", stream);
  std::thread([&] {
    pthread_setname_np(pthread_self(), "worker (1)");
    Launch("by the worker", copies);
    Check(cudaStreamSynchronize(copies));
    usleep(200'000);  // Whoever looks for its name finds it.
  }).join();
  std::thread([&] {
    pthread_setname_np(pthread_self(), "of the system");
    nvtxNameOsThreadW(ThisThread(), L"l\u00e4dt");
    Launch("by the loader", compute);
  }).join();
  Check(cudaDeviceSynchronize());
  printf("named\n");
  fflush(stdout);

  std::string line;
  std::getline(std::ifstream(argv[1]) >> std::ws, line);
  for (cudaStream_t stream : streams) Launch("again", stream);
  Check(cudaDeviceSynchronize());
  printf("%zu kernels\n", streams.size() * 2 + 2);
  return 0;
}

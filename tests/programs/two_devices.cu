// Two devices: peer access, copies between them, a stream of one that is of no use for launches on
// the other.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

__global__ void kernel() {}

namespace {

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  exit(1);
}
#define CHECK(call) Check(call, #call)

}  // namespace

int main() {
  int devices, current, can_access;
  CHECK(cudaGetDeviceCount(&devices));
  printf("devices: %d\n", devices);
  CHECK(cudaDeviceCanAccessPeer(&can_access, 0, 1));
  printf("peers: %d\n", can_access);
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  printf("again: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
  cudaGetLastError();

  constexpr size_t kBytes = 10000;
  std::vector<char> sent(kBytes), received(kBytes);
  for (size_t i = 0; i < kBytes; ++i) sent[i] = static_cast<char>(i);
  char *first, *second;
  CHECK(cudaMalloc(&first, kBytes));
  CHECK(cudaSetDevice(1));
  CHECK(cudaGetDevice(&current));
  printf("current: %d\n", current);
  CHECK(cudaMalloc(&second, kBytes));
  CHECK(cudaMemcpy(first, sent.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyPeer(second, 1, first, 0, kBytes));
  CHECK(cudaMemcpy(received.data(), second, kBytes, cudaMemcpyDeviceToHost));
  printf("same bytes: %s\n", sent == received ? "yes" : "no");
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, second));
  printf("memory of device %d\n", attributes.device);

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaSetDevice(0));
  kernel<<<1, 1, 0, stream>>>();
  printf("launch on the other's stream: %s\n", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaDeviceDisablePeerAccess(1));
  CHECK(cudaFree(first));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}

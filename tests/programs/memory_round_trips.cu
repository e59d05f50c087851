// Bytes that go to the device and back in every way there is, and fills that are read back. Prints
// "same" or "different" for each.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

__constant__ int constants[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int variable[8];
__managed__ int managed_value = 41;
__global__ void uses() { variable[0] += constants[threadIdx.x] + managed_value; }

namespace {

constexpr size_t kBytes = 1 << 16;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  exit(1);
}
#define CHECK(call) Check(call, #call)

void Compare(const char* what, const void* left, const void* right, size_t bytes) {
  printf("%s: %s\n", what, memcmp(left, right, bytes) == 0 ? "same" : "different");
}

}  // namespace

int main() {
  std::vector<char> sent(kBytes), received(kBytes);
  for (size_t i = 0; i < kBytes; ++i) sent[i] = static_cast<char>(i * 7);
  char *device, *second, *pinned, *managed;
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMalloc(&second, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaMallocManaged(&managed, kBytes));

  CHECK(cudaMemcpy(device, sent.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(second, device, kBytes, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy(received.data(), second, kBytes, cudaMemcpyDeviceToHost));
  Compare("synchronous", sent.data(), received.data(), kBytes);

  memcpy(pinned, sent.data(), kBytes);
  CHECK(cudaMemset(second, 0, kBytes));
  CHECK(cudaMemcpyAsync(second, pinned, kBytes, cudaMemcpyDefault));
  memset(received.data(), 0, kBytes);
  CHECK(cudaMemcpyAsync(received.data(), second, kBytes, cudaMemcpyDefault));
  CHECK(cudaDeviceSynchronize());
  Compare("default direction", sent.data(), received.data(), kBytes);

  CHECK(cudaMemcpy(managed, device, kBytes, cudaMemcpyDefault));
  CHECK(cudaDeviceSynchronize());
  Compare("managed", sent.data(), managed, kBytes);

  CHECK(cudaMemset(device, 0x5a, kBytes));
  CHECK(cudaMemset2DAsync(device, 256, 0x11, 16, 4));
  CHECK(cudaMemcpy(received.data(), device, kBytes, cudaMemcpyDeviceToHost));
  printf("filled: %x %x %x\n", received[15], received[16], received[3 * 256]);

  size_t pitch;
  char* pitched;
  CHECK(cudaMallocPitch(&pitched, &pitch, 100, 50));
  CHECK(cudaMemcpy2D(pitched, pitch, sent.data(), 100, 100, 50, cudaMemcpyHostToDevice));
  memset(received.data(), 0, kBytes);
  CHECK(cudaMemcpy2D(received.data(), 100, pitched, pitch, 100, 50, cudaMemcpyDeviceToHost));
  Compare("two dimensions", sent.data(), received.data(), 5000);

  int values[8];
  CHECK(cudaMemcpyFromSymbol(values, constants, sizeof(values)));
  printf("constants: %d %d\n", values[0], values[7]);
  values[0] = 99;
  CHECK(cudaMemcpyToSymbol(variable, values, sizeof(int)));
  values[0] = 0;
  CHECK(cudaMemcpyFromSymbol(values, variable, sizeof(int)));
  printf("variable: %d\n", values[0]);
  printf("managed variable: %d\n", managed_value);

  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &format, 32, 16));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, sent.data(), 128, 128, 16, cudaMemcpyHostToDevice));
  memset(received.data(), 0, kBytes);
  CHECK(cudaMemcpy2DFromArray(received.data(), 128, array, 0, 0, 128, 16, cudaMemcpyDeviceToHost));
  Compare("array", sent.data(), received.data(), 128 * 16);
  CHECK(cudaFreeArray(array));

  char* pooled;
  CHECK(cudaMallocAsync(&pooled, kBytes, nullptr));
  CHECK(cudaMemcpyAsync(pooled, sent.data(), kBytes, cudaMemcpyHostToDevice, nullptr));
  memset(received.data(), 0, kBytes);
  CHECK(cudaMemcpyAsync(received.data(), pooled, kBytes, cudaMemcpyDeviceToHost, nullptr));
  CHECK(cudaFreeAsync(pooled, nullptr));
  CHECK(cudaDeviceSynchronize());
  Compare("stream-ordered", sent.data(), received.data(), kBytes);

  for (void* pointer : {static_cast<void*>(device), static_cast<void*>(pinned),
                        static_cast<void*>(managed), static_cast<void*>(sent.data())}) {
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    printf("memory type %d\n", attributes.type);
  }
  uses<<<1, 8>>>();
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, uses));
  printf("registers known: %s\n", attributes.numRegs > 0 ? "yes" : "no");

  size_t free_before, free_after, total;
  CHECK(cudaMemGetInfo(&free_before, &total));
  CHECK(cudaFree(device));
  CHECK(cudaMemGetInfo(&free_after, &total));
  printf("freed: %zu\n", free_after - free_before);
  CHECK(cudaFree(second));
  CHECK(cudaFree(pitched));
  CHECK(cudaFree(managed));
  CHECK(cudaFreeHost(pinned));
  return 0;
}

// Order in and between streams as events show it, host functions and callbacks at their place,
// queries before and after. The kernel takes 100 ms on the simulated device.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>

__global__ void step() {}

namespace {

std::string order;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  exit(1);
}
#define CHECK(call) Check(call, #call)

void Append(void* text) { order += static_cast<const char*>(text); }
void AppendCallback(cudaStream_t, cudaError_t, void* text) { Append(text); }

// In whole kernels.
int Kernels(cudaEvent_t start, cudaEvent_t end) {
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, start, end));
  return static_cast<int>(milliseconds / 100);
}

}  // namespace

int main() {
  cudaStream_t first, second, apart;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, -1));
  CHECK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  cudaEvent_t events[6];
  for (cudaEvent_t& event : events) CHECK(cudaEventCreate(&event));

  // A kernel in front keeps the streams busy, so that it does not matter how fast the launches
  // follow.
  step<<<1, 32, 0, first>>>();
  CHECK(cudaEventRecord(events[0], first));
  step<<<1, 32, 0, first>>>();
  step<<<1, 32, 0, first>>>();
  CHECK(cudaEventRecord(events[1], first));
  printf("before: %s\n", cudaGetErrorName(cudaEventQuery(events[1])));
  CHECK(cudaEventSynchronize(events[1]));
  printf("after: %s\n", cudaGetErrorName(cudaEventQuery(events[1])));
  printf("one stream: %d\n", Kernels(events[0], events[1]));

  step<<<1, 32, 0, apart>>>();
  CHECK(cudaEventRecord(events[2], apart));
  CHECK(cudaStreamWaitEvent(second, events[2], 0));
  step<<<1, 32, 0, second>>>();
  CHECK(cudaEventRecord(events[3], second));
  CHECK(cudaStreamWaitEvent(apart, events[3], 0));
  step<<<1, 32, 0, apart>>>();
  CHECK(cudaEventRecord(events[4], apart));
  CHECK(cudaStreamSynchronize(apart));
  printf("one waits for the other: %d\n", Kernels(events[2], events[4]));

  step<<<1, 32, 0, first>>>();
  CHECK(cudaLaunchHostFunc(first, Append, const_cast<char*>("a")));
  CHECK(cudaEventRecord(events[5], first));
  CHECK(cudaStreamWaitEvent(second, events[5], 0));
  CHECK(cudaStreamAddCallback(second, AppendCallback, const_cast<char*>("b"), 0));
  CHECK(cudaLaunchHostFunc(first, Append, const_cast<char*>("c")));
  printf("stream busy: %s\n", cudaGetErrorName(cudaStreamQuery(first)));
  CHECK(cudaDeviceSynchronize());
  bool in_order = order == "abc" || order == "acb";
  printf("host functions in order: %s\n", in_order ? "yes" : order.c_str());
  printf("stream idle: %s\n", cudaGetErrorName(cudaStreamQuery(first)));

  int least, greatest, priority;
  unsigned flags;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(cudaStreamGetPriority(second, &priority));
  CHECK(cudaStreamGetFlags(second, &flags));
  printf("priorities %d to %d: %d, flags %u\n", least, greatest, priority, flags);
  for (cudaEvent_t event : events) CHECK(cudaEventDestroy(event));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaStreamDestroy(apart));
  CHECK(cudaDeviceReset());
  return 0;
}

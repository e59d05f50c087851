// Calls that are wrong, and the error of each.

#include <cuda_runtime.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void kernel(int* data) { data[threadIdx.x] = 1; }
__global__ void faulty(int* data) { data[threadIdx.x] = 1; }

namespace {

void Show(const char* what, cudaError_t error) {
  printf("%s: %s\n", what, cudaGetErrorName(error));
}

void ShowLast(const char* what) {
  cudaError_t peeked = cudaPeekAtLastError();
  cudaError_t last = cudaGetLastError();
  printf("%s: %s %s then %s\n", what, cudaGetErrorName(peeked), cudaGetErrorName(last),
         cudaGetErrorName(cudaGetLastError()));
}

int host_function_stand_in;

}  // namespace

int main() {
  int* data;
  int host[16];
  void* pointer;
  cudaStream_t stream, other;
  cudaEvent_t event, untimed;
  cudaDeviceProp properties;
  Show("set a device that is not there", cudaSetDevice(99));
  Show("properties of a device that is not there", cudaGetDeviceProperties(&properties, -1));
  Show("malloc", cudaMalloc(&data, 64));
  Show("malloc to nowhere", cudaMalloc(static_cast<void**>(nullptr), 64));
  Show("malloc too much", cudaMalloc(&pointer, size_t{1} << 50));
  cudaGetLastError();

  kernel<<<1, 2048>>>(data);
  ShowLast("launch with too large a block");
  kernel<<<0, 32>>>(data);
  ShowLast("launch without blocks");
  kernel<<<1, 32, 1 << 20>>>(data);
  ShowLast("launch with too much shared memory");
  Show("launch of no kernel",
       cudaLaunchKernel(&host_function_stand_in, dim3(1), dim3(1), nullptr, 0, nullptr));
  Show("copy in no direction", cudaMemcpy(data, host, 64, static_cast<cudaMemcpyKind>(9)));
  Show("copy past the end", cudaMemcpy(host, data + (1 << 20), 64, cudaMemcpyDeviceToHost));
  Show("copy with a pitch that is too small",
       cudaMemcpy2D(data, 4, host, 4, 8, 2, cudaMemcpyHostToDevice));
  Show("fill of host memory", cudaMemset(host, 0, 4));
  Show("a symbol that is none", cudaGetSymbolAddress(&pointer, host));

  Show("stream", cudaStreamCreate(&stream));
  Show("destroy it", cudaStreamDestroy(stream));
  Show("destroy it again", cudaStreamDestroy(stream));
  Show("wait for a stream that is none",
       cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(0x1230)));
  Show("event", cudaEventCreate(&event));
  float milliseconds;
  Show("time between events that were not recorded",
       cudaEventElapsedTime(&milliseconds, event, event));
  Show("untimed event", cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  Show("record it", cudaEventRecord(untimed));
  Show("time between untimed events", cudaEventElapsedTime(&milliseconds, untimed, untimed));
  Show("record no event", cudaEventRecord(nullptr));

  Show("stream", cudaStreamCreate(&stream));
  Show("stream", cudaStreamCreate(&other));
  cudaGraph_t graph;
  Show("end a capture that was not begun", cudaStreamEndCapture(stream, &graph));
  Show("begin a capture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  Show("wait while capturing", cudaStreamSynchronize(stream));
  Show("end the capture", cudaStreamEndCapture(stream, &graph));
  Show("begin a capture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  kernel<<<1, 32, 0, stream>>>(data);
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(other, event, 0);
  kernel<<<1, 32, 0, other>>>(data);
  Show("end a capture that was not joined", cudaStreamEndCapture(stream, &graph));

  Show("free", cudaFree(data));
  Show("free it again", cudaFree(data));
  Show("free nothing", cudaFree(nullptr));
  Show("free host memory as device memory", cudaFree(host));
  fflush(stdout);
  cudaGetLastError();

  // A process that has used CUDA leaves its children nothing of it.
  if (fork() == 0) {
    Show("in a child", cudaMalloc(&data, 64));
    fflush(stdout);
    _exit(0);
  }
  wait(nullptr);

  // SIMCUDA_KERNEL_FAULT names this kernel: the error stays.
  Show("malloc", cudaMalloc(&data, 64));
  faulty<<<1, 32>>>(data);
  Show("launch", cudaGetLastError());
  Show("wait for the faulty kernel", cudaDeviceSynchronize());
  cudaGetLastError();
  Show("malloc after it", cudaMalloc(&pointer, 64));
  return 0;
}

// A small "training loop", for looking at: kernels with the names that one meets, NVTX ranges
// around the steps' parts, input copies and fills. Nothing is computed that anybody would want.
//
//   sample [--seconds S]

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace ml {

template <int kTile>
__global__ void matmul_kernel(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * kTile + threadIdx.x;
  if (i < n) c[i] = a[i] * b[i];
}

__global__ void softmax_kernel(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = 1.0f / (1.0f + data[i] * data[i]);
}

__global__ void layer_norm_kernel(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 0.5f;
}

template <typename T>
__global__ void adam_kernel(T* weights, const T* gradients, T rate, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weights[i] -= rate * gradients[i];
}

}  // namespace ml

namespace {

constexpr int kElements = 1 << 20;
constexpr size_t kBytes = kElements * sizeof(float);
constexpr int kLayers = 4;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "sample: %s: %s\n", what, cudaGetErrorString(error));
  exit(1);
}

class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
};

struct Model {
  float *input, *weights, *activations, *gradients;
  cudaStream_t compute, copy;
};

void Forward(const Model& model) {
  Range range("forward");
  for (int layer = 0; layer < kLayers; ++layer) {
    {
      Range attention("attention");
      ml::matmul_kernel<64><<<512, 256, 0, model.compute>>>(model.input, model.weights,
                                                            model.activations, kElements);
      ml::softmax_kernel<<<256, 256, 0, model.compute>>>(model.activations, kElements);
    }
    Range mlp("mlp");
    ml::matmul_kernel<128><<<1024, 256, 0, model.compute>>>(model.activations, model.weights,
                                                            model.activations, kElements);
    ml::layer_norm_kernel<<<128, 256, 0, model.compute>>>(model.activations, kElements);
  }
}

void Backward(const Model& model) {
  Range range("backward");
  for (int layer = 0; layer < 2 * kLayers; ++layer) {
    ml::matmul_kernel<128><<<1024, 256, 0, model.compute>>>(model.activations, model.weights,
                                                            model.gradients, kElements);
  }
}

void Step(const Model& model, const float* batch, float* loss) {
  Range range("step");
  {
    Range input("input");
    Check(cudaMemcpyAsync(model.input, batch, kBytes, cudaMemcpyHostToDevice, model.copy),
          "the input's copy");
    Check(cudaStreamSynchronize(model.copy), "cudaStreamSynchronize");
  }
  Forward(model);
  Check(cudaMemsetAsync(model.gradients, 0, kBytes, model.compute), "a fill");
  Backward(model);
  {
    Range optimizer("optimizer");
    ml::adam_kernel<float>
        <<<512, 256, 0, model.compute>>>(model.weights, model.gradients, 1e-3f, kElements);
  }
  Range loss_range("loss");
  Check(cudaMemcpyAsync(loss, model.activations, sizeof(float), cudaMemcpyDeviceToHost,
                        model.compute),
        "the loss's copy");
  Check(cudaStreamSynchronize(model.compute), "cudaStreamSynchronize");
}

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 3;
  if (argc == 3 && strcmp(argv[1], "--seconds") == 0) {
    seconds = atof(argv[2]);
  } else if (argc != 1) {
    fprintf(stderr, "usage: sample [--seconds S]\n");
    return 64;
  }
  Model model;
  float *batch, *loss;
  Check(cudaMalloc(&model.input, kBytes), "cudaMalloc");
  Check(cudaMalloc(&model.weights, kBytes), "cudaMalloc");
  Check(cudaMalloc(&model.activations, kBytes), "cudaMalloc");
  Check(cudaMalloc(&model.gradients, kBytes), "cudaMalloc");
  Check(cudaMallocHost(&batch, kBytes), "cudaMallocHost");
  Check(cudaMallocHost(&loss, sizeof(float)), "cudaMallocHost");
  memset(batch, 0, kBytes);
  Check(cudaStreamCreateWithFlags(&model.compute, cudaStreamNonBlocking), "a stream");
  Check(cudaStreamCreateWithFlags(&model.copy, cudaStreamNonBlocking), "a stream");

  long steps = 0;
  double end = Now() + seconds;
  {
    Range epoch("epoch");
    for (; Now() < end; ++steps) {
      Step(model, batch, loss);
      Range data("load next batch");
      usleep(2000);
    }
  }
  printf("%ld steps\n", steps);
  return 0;
}

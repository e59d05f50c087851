// Device code for image_test.cc: kernels whose properties are known from the source.
namespace outer {
__global__ void with_shared(float* data) {
  __shared__ float tile[128];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[127 - threadIdx.x];
}
}  // namespace outer

template <typename T>
__global__ void __launch_bounds__(96) bounded(T* data, int stride) {
  data[threadIdx.x * stride] *= 2;
}
template __global__ void bounded<double>(double*, int);

__constant__ int table[4] = {10, 20, 30, 40};
__device__ int counter;
__device__ __noinline__ void no_kernel(int* data) { *data += table[*data & 3]; }
__global__ void uses(int* data) {
  no_kernel(data);
  counter += *data;
}

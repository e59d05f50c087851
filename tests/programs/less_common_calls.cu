// Calls of the runtime and the driver API that samples make now and then: arrays, textures and
// surfaces, registered memory, cooperative launches, limits and attributes, and linking at run
// time. Prints what they gave.

#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__device__ float coefficients[4];

__global__ void read_texture(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0) + coefficients[0];
}
__global__ void together(float* out) { out[threadIdx.x] = 1; }

namespace {

constexpr size_t kWidth = 64, kHeight = 16, kDepth = 4;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorName(error));
  exit(1);
}
void Check(CUresult error, const char* what) {
  if (error == CUDA_SUCCESS) return;
  printf("%s: %d\n", what, static_cast<int>(error));
  exit(1);
}
#define CHECK(call) Check(call, #call)

void Arrays(float* out) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array, volume;
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
  float rows[kHeight][kWidth];
  for (auto& row : rows) {
    for (float& value : row) value = 2;
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  CHECK(cudaMemcpyToArray(array, 0, 0, rows, sizeof(rows), cudaMemcpyHostToDevice));
#pragma GCC diagnostic pop
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  read_texture<<<1, kWidth>>>(texture, out);
  CHECK(cudaDestroyTextureObject(texture));
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  CHECK(cudaDestroySurfaceObject(surface));

  CHECK(cudaMalloc3DArray(&volume, &format, make_cudaExtent(kWidth, kHeight, kDepth)));
  float* host = static_cast<float*>(calloc(kWidth * kHeight * kDepth, sizeof(float)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host, kWidth * sizeof(float), kWidth, kHeight);
  copy.dstArray = volume;
  copy.extent = make_cudaExtent(kWidth, kHeight, kDepth);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  free(host);
  CHECK(cudaFreeArray(volume));
  CHECK(cudaFreeArray(array));

  void* pitched;
  size_t pitch;
  CHECK(cudaMallocPitch(&pitched, &pitch, kWidth, kHeight));
  CHECK(cudaMemset2D(pitched, pitch, 3, kWidth, kHeight));
  unsigned char bytes[kHeight][kWidth];
  CHECK(cudaMemcpy2D(bytes, kWidth, pitched, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(pitched));
  printf("arrays: pitch %d, last byte %d\n", pitch >= kWidth, bytes[kHeight - 1][kWidth - 1]);
}

void HostMemory() {
  static char memory[1 << 16];
  CHECK(cudaHostRegister(memory, sizeof(memory), cudaHostRegisterMapped));
  void* device;
  CHECK(cudaHostGetDevicePointer(&device, memory, 0));
  CHECK(cudaMemset(device, 5, sizeof(memory)));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaHostUnregister(memory));
  const float values[4] = {1, 2, 3, 4};
  CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof(values)));
  printf("host memory: %d\n", memory[100]);
}

void Attributes(float* out) {
  int cooperative = 0, version = 0, blocks = 0;
  CHECK(cudaDriverGetVersion(&version));
  CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
  CHECK(cudaFuncSetAttribute(together, cudaFuncAttributeMaxDynamicSharedMemorySize, 32 << 10));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, together, 128, 0,
                                                               cudaOccupancyDefault));
  void* arguments[] = {&out};
  CHECK(cudaLaunchCooperativeKernel(together, dim3(2), dim3(64), arguments, 0, nullptr));
  cudaStream_t stream;
  int least, greatest;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  cudaStreamAttrValue value = {};
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
  CHECK(cudaCtxResetPersistingL2Cache());
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  CHECK(cudaStreamDestroy(stream));
  printf("attributes: version %d, cooperative %d, blocks %d\n", version >= 12000, cooperative,
         blocks > 0);
}

// The driver's functions by their names in the library, as older programs link them.
template <typename Function>
Function* Driver(const char* name, Function*) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    printf("no %s\n", name);
    exit(1);
  }
  return reinterpret_cast<Function*>(function);
}
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)
#define DRIVER(name) Driver(NAME_OF(name), &name)

constexpr char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry linked() { ret; }\n";

void DriverCalls() {
  CUdevice device;
  int warp = 0;
  size_t bytes = 0;
  const char* text = nullptr;
  CHECK(DRIVER(cuDeviceGet)(&device, 0));
  CHECK(DRIVER(cuDeviceGetAttribute)(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
  CHECK(DRIVER(cuDeviceTotalMem)(&bytes, device));
  CHECK(DRIVER(cuGetErrorString)(CUDA_ERROR_INVALID_VALUE, &text));
  CHECK(DRIVER(cuCtxGetDevice)(&device));
  printf("driver: warp %d, memory %d, error text %d\n", warp, bytes > 0, text != nullptr);

  CUlinkState state;
  void* image = nullptr;
  size_t image_bytes = 0;
  CHECK(DRIVER(cuLinkCreate)(0, nullptr, nullptr, &state));
  CHECK(DRIVER(cuLinkAddData)(state, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx), sizeof(kPtx),
                              "linked", 0, nullptr, nullptr));
  CHECK(DRIVER(cuLinkComplete)(state, &image, &image_bytes));
  CUmodule module;
  CUfunction function;
  CHECK(DRIVER(cuModuleLoadData)(&module, image));
  CHECK(DRIVER(cuLinkDestroy)(state));
  CHECK(DRIVER(cuModuleGetFunction)(&function, module, "linked"));
  int grid = 0, block = 0;
  CHECK(DRIVER(cuOccupancyMaxPotentialBlockSize)(&grid, &block, function, nullptr, 0, 0));
  CHECK(DRIVER(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  CHECK(DRIVER(cuCtxSynchronize)());
  CHECK(DRIVER(cuModuleUnload)(module));
  printf("linked: block %d\n", block > 0);

  CUDA_ARRAY_DESCRIPTOR shape = {kWidth, kHeight, CU_AD_FORMAT_FLOAT, 1};
  CUarray array;
  CHECK(DRIVER(cuArrayCreate)(&array, &shape));
  float rows[kHeight][kWidth] = {};
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = rows;
  copy.srcPitch = sizeof(rows[0]);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = sizeof(rows[0]);
  copy.Height = kHeight;
  CHECK(DRIVER(cuMemcpy2D)(&copy));
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC description = {};
  CUtexObject texture;
  CHECK(DRIVER(cuTexObjectCreate)(&texture, &resource, &description, nullptr));
  CHECK(DRIVER(cuTexObjectDestroy)(texture));
  CHECK(DRIVER(cuArrayDestroy)(array));

  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t granularity = 0;
  CHECK(DRIVER(cuMemGetAllocationGranularity)(&granularity, &properties,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUmemGenericAllocationHandle handle;
  CHECK(DRIVER(cuMemCreate)(&handle, granularity, &properties, 0));
  CUmemAllocationProp found = {};
  CHECK(DRIVER(cuMemGetAllocationPropertiesFromHandle)(&found, handle));
  CHECK(DRIVER(cuMemRelease)(handle));
  printf("mapped memory: the same kind %d\n", found.type == properties.type);
}

}  // namespace

int main() {
  CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  CHECK(cudaProfilerStart());
  float* out;
  CHECK(cudaMalloc(&out, kWidth * sizeof(float)));
  Arrays(out);
  HostMemory();
  Attributes(out);
  DriverCalls();
  CHECK(cudaFree(out));
  CHECK(cudaProfilerStop());
  CHECK(cudaDeviceSynchronize());
  return 0;
}

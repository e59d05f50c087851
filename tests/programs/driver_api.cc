// A program of the driver API alone: loads libcuda.so.1 itself, asks for its functions by
// cuGetProcAddress, and launches a kernel from PTX text. Prints what it has found.

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 data, .param .f32 factor) { ret; }
.visible .entry shift(.param .u64 data) { ret; }
)";

decltype(&cuGetProcAddress) get_address;

// The symbol of a function in the form that cuda.h declares.
template <typename Function>
Function Get(const char* name) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  if (get_address(name, &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status) !=
      CUDA_SUCCESS) {
    printf("no %s\n", name);
    exit(1);
  }
  return reinterpret_cast<Function>(function);
}

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("%s: %d\n", what, result);
  exit(1);
}
#define CHECK(call) Check(call, #call)

}  // namespace

// cuGetProcAddress wants the base name, which # keeps: the macros of cuda.h would turn it into its
// versioned form.
#define GET(name) Get<decltype(&name)>(#name)

int main() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    printf("no libcuda.so.1\n");
    return 1;
  }
  get_address = reinterpret_cast<decltype(get_address)>(dlsym(library, "cuGetProcAddress_v2"));
  CHECK(GET(cuInit)(0));
  int devices = 0;
  CHECK(GET(cuDeviceGetCount)(&devices));
  char name[64];
  CHECK(GET(cuDeviceGetName)(name, sizeof(name), 0));
  printf("%d device: %s\n", devices, name);

  CUcontext context;
  CHECK(GET(cuCtxCreate)(&context, nullptr, 0, 0));
  CUmodule module;
  CHECK(GET(cuModuleLoadData)(&module, kPtx));
  CUfunction scale;
  auto get_function = GET(cuModuleGetFunction);
  CHECK(get_function(&scale, module, "scale"));
  CUfunction missing;
  printf("a kernel that is not there: %d\n", get_function(&missing, module, "absent"));

  constexpr size_t kCount = 1000;
  CUdeviceptr data;
  CHECK(GET(cuMemAlloc)(&data, kCount * 4));
  std::vector<unsigned> sent(kCount), received(kCount);
  for (size_t i = 0; i < kCount; ++i) sent[i] = static_cast<unsigned>(i * i);
  CHECK(GET(cuMemcpyHtoD)(data, sent.data(), kCount * 4));

  CUstream stream;
  CHECK(GET(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  float factor = 2;
  void* parameters[] = {&data, &factor};
  CHECK(GET(cuLaunchKernel)(scale, 8, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  CHECK(GET(cuLaunchKernelEx)(&config, scale, parameters, nullptr));
  CHECK(GET(cuStreamSynchronize)(stream));
  CHECK(GET(cuMemcpyDtoH)(received.data(), data, kCount * 4));
  printf("the bytes came back: %s\n", sent == received ? "yes" : "no");
  CHECK(GET(cuMemsetD32)(data, 0xabcd1234, kCount));
  CHECK(GET(cuMemcpyDtoH)(received.data(), data, kCount * 4));
  printf("filled with %x\n", received[kCount - 1]);

  const char* text = nullptr;
  GET(cuGetErrorName)(CUDA_ERROR_INVALID_HANDLE, &text);
  printf("%s\n", text);
  CHECK(GET(cuModuleUnload)(module));
  CHECK(GET(cuMemFree)(data));
  CHECK(GET(cuStreamDestroy)(stream));
  CHECK(GET(cuCtxDestroy)(context));
  return 0;
}

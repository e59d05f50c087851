// How runtime calls are reported: under which id, with which driver call inside, with which work.
#include <cuda_runtime_api.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <generated_cuda_runtime_api_meta.h>

#include <string>
#include <vector>

#include "tests/simcuda/core/observer.h"

extern "C" cudaError_t cudaLaunchKernel_ptsz(const void* func, dim3 grid, dim3 block, void** args,
                                             size_t shared, cudaStream_t stream);

namespace simcuda {
namespace {

constexpr char kPtx[] = ".version 8.0\n.target sm_90\n.visible .entry _Z4workv() { ret; }\n";

struct Entered {
  ApiCall call;
  std::string function, symbol;
  size_t malloc_bytes = 0;
};
std::vector<Entered> entered;
std::vector<ApiCall> exited;
std::vector<DeviceWork> works;

const Observer kObserver = {
    [](ApiCall* call) {
      Entered copy = {*call, call->function_name,
                      call->symbol_name == nullptr ? "" : call->symbol_name};
      if (call->domain == ApiDomain::kRuntime &&
          call->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020) {
        copy.malloc_bytes = static_cast<const cudaMalloc_v3020_params*>(call->params)->size;
      }
      entered.push_back(copy);
    },
    [](ApiCall* call) { exited.push_back(*call); },
    nullptr,
    [](const DeviceWork& work) {
      if (work.end_ns != 0) works.push_back(work);
    },
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

class ReportingTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    ASSERT_EQ(cudaLibraryLoadData(&library_, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&kernel_, library_, "_Z4workv"), cudaSuccess);
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(driver, nullptr);
    set_ = reinterpret_cast<decltype(set_)>(dlsym(driver, "simcuda_set_observer"));
    entered.clear();
    exited.clear();
    works.clear();
    driver_ = set_(&kObserver);
  }

  void TearDown() override {
    set_(nullptr);
    EXPECT_EQ(cudaLibraryUnload(library_), cudaSuccess);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  }

  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  const Driver* driver_ = nullptr;
  decltype(&simcuda_set_observer) set_ = nullptr;
};

TEST_F(ReportingTest, ALaunchEnclosesTheDriversAndSharesItsCorrelation) {
  ASSERT_EQ(cudaLaunchKernel(kernel_, dim3(2), dim3(32), nullptr, 0, nullptr), cudaSuccess);
  driver_->deliver(true);
  ASSERT_EQ(entered.size(), 2u);
  EXPECT_EQ(entered[0].call.cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(entered[0].call.domain, ApiDomain::kRuntime);
  EXPECT_EQ(entered[0].function, "cudaLaunchKernel_v7000");
  EXPECT_EQ(entered[0].symbol, "_Z4workv");
  EXPECT_FALSE(entered[0].call.nested);
  EXPECT_EQ(entered[1].call.cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  EXPECT_EQ(entered[1].symbol, "_Z4workv");
  EXPECT_TRUE(entered[1].call.nested);
  EXPECT_EQ(entered[1].call.correlation_id, entered[0].call.correlation_id);
  ASSERT_EQ(exited.size(), 2u);
  EXPECT_EQ(exited[0].domain, ApiDomain::kDriver) << "the inner one ends first";
  ASSERT_EQ(works.size(), 1u);
  EXPECT_EQ(works[0].correlation_id, entered[0].call.correlation_id);
  EXPECT_EQ(works[0].grid_x, 2u);
  EXPECT_EQ(works[0].stream_id, 7u);
}

TEST_F(ReportingTest, ThePerThreadTwinHasItsOwnIdAndStream) {
  ASSERT_EQ(cudaLaunchKernel_ptsz(kernel_, dim3(1), dim3(32), nullptr, 0, nullptr), cudaSuccess);
  driver_->deliver(true);
  ASSERT_FALSE(entered.empty());
  EXPECT_EQ(entered[0].call.cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_NE(works[0].stream_id, 7u);
  EXPECT_TRUE(works[0].per_thread_default_stream);
}

TEST_F(ReportingTest, ParametersCanBeReadAndErrorsAreReported) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 12345), cudaSuccess);
  ASSERT_FALSE(entered.empty());
  EXPECT_EQ(entered[0].malloc_bytes, 12345u);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  exited.clear();
  EXPECT_EQ(cudaStreamDestroy(reinterpret_cast<cudaStream_t>(0x1230)),
            cudaErrorInvalidResourceHandle);
  ASSERT_FALSE(exited.empty());
  EXPECT_EQ(exited.back().result, static_cast<uint32_t>(cudaErrorInvalidResourceHandle));
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

TEST_F(ReportingTest, CorrelationsOfCallsDiffer) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  std::vector<uint32_t> of_runtime;
  for (const Entered& one : entered) {
    if (one.call.domain == ApiDomain::kRuntime) of_runtime.push_back(one.call.correlation_id);
  }
  ASSERT_EQ(of_runtime.size(), 2u);
  EXPECT_NE(of_runtime[0], of_runtime[1]);
}

}  // namespace
}  // namespace simcuda

#include "proto/function_name.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(RuntimeFunctionName, IsWhatTheProgramCalls) {
  EXPECT_EQ(RuntimeFunctionName("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(RuntimeFunctionName("cudaMemcpyAsync_ptsz_v7000"), "cudaMemcpyAsync");
  EXPECT_EQ(RuntimeFunctionName("cudaMemcpy_ptds"), "cudaMemcpy");
}

TEST(RuntimeFunctionName, KeepsWhatIsNoVersionOfCuda) {
  EXPECT_EQ(RuntimeFunctionName("cudaStreamGetCaptureInfo_v2_v11030"),
            "cudaStreamGetCaptureInfo_v2");
  EXPECT_EQ(RuntimeFunctionName("cuda_very"), "cuda_very");
  EXPECT_EQ(RuntimeFunctionName(""), "");
}

}  // namespace
}  // namespace tp

#include "collector/cupti/other_profilers.h"

#include <gtest/gtest.h>

namespace tp::collect {
namespace {

TEST(OtherProfilers, AreKnownByTheFilesOfTheirLibraries) {
  EXPECT_EQ(ProfilerIn("/opt/conda/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"),
            "PyTorch's profiler");
  EXPECT_EQ(ProfilerIn("libToolsInjection64.so"), "Nsight Systems");
  EXPECT_EQ(ProfilerIn("/usr/lib/libcuda.so.1"), "");
  EXPECT_EQ(ProfilerIn("/opt/libtorch_cpu.so/libc.so.6"), "");
  EXPECT_EQ(ProfilerIn(""), "");
}

TEST(OtherProfilers, NoneIsLoadedHere) {
  EXPECT_EQ(LoadedProfilers(), "");
  EXPECT_FALSE(LoadedProfilersSubscribe());
}

}  // namespace
}  // namespace tp::collect

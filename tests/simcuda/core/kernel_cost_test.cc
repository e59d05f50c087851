#include "tests/simcuda/core/kernel_cost.h"

#include <gtest/gtest.h>

namespace simcuda {
namespace {

TEST(DefaultKernelNsTest, FollowsTheDocumentedFormula) {
  EXPECT_EQ(DefaultKernelNs(1, 32), 2000u + 1000u + 64u);
  // 132 multiprocessors with 8 blocks of 256 threads each make a wave.
  EXPECT_EQ(DefaultKernelNs(132 * 8, 256), 2000u + 1512u);
  EXPECT_EQ(DefaultKernelNs(132 * 8 + 1, 256), 2000u + 2 * 1512u);
}

TEST(KernelCostsTest, TheFirstEntryThatFitsHolds) {
  KernelCosts costs("matmul=500, mat=7\n# comment=1\nbad=x,soft = 9");
  uint64_t ns = 0;
  EXPECT_TRUE(costs.Find("_Z6matmulv", &ns));
  EXPECT_EQ(ns, 500u);
  EXPECT_TRUE(costs.Find("mats", &ns));
  EXPECT_EQ(ns, 7u);
  EXPECT_TRUE(costs.Find("softmax", &ns));
  EXPECT_EQ(ns, 9u);
  EXPECT_FALSE(costs.Find("bad", &ns));
  EXPECT_FALSE(costs.Find("comment", &ns));
}

}  // namespace
}  // namespace simcuda

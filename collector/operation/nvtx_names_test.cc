#include "collector/operation/nvtx_names.h"

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <string>
#include <vector>

namespace tp::collect {
namespace {

void NameDevice(int device, const char* name) {
  for (const NvtxReplacement& replacement : NamingFunctions(NVTX_CB_MODULE_CUDART)) {
    if (replacement.id != NVTX_CBID_CUDART_NameCudaDeviceA) continue;
    reinterpret_cast<void(NVTX_API*)(int, const char*)>(replacement.function)(device, name);
  }
}

TEST(NvtxNames, OfDevicesAreTakenOnceInTheirOrder) {
  NameDevice(1, "one");
  NameDevice(0, "zero");
  NameDevice(2, "");
  NameDevice(3, nullptr);
  const std::vector<GivenName> names = TakeGivenNames();
  ASSERT_EQ(names.size(), 2u);
  EXPECT_FALSE(names[0].is_thread);
  EXPECT_EQ(names[0].id, 1u);
  EXPECT_EQ(names[0].name, "one");
  EXPECT_EQ(names[1].name, "zero");
  EXPECT_TRUE(TakeGivenNames().empty());
}

TEST(NvtxNames, ThatNobodyTakesAreBoundedAndTheRestIsCounted) {
  const uint64_t before = GivenNamesLeftOut();
  const std::string longest(100'000, 'x');
  for (int i = 0; i < 5000; ++i) NameDevice(i, longest.c_str());
  const std::vector<GivenName> names = TakeGivenNames();
  EXPECT_EQ(names.size(), 1024u);
  EXPECT_EQ(names.size() + (GivenNamesLeftOut() - before), 5000u);
  EXPECT_LE(names.front().name.size(), 256u);
}

}  // namespace
}  // namespace tp::collect

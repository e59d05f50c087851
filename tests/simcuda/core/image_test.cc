#include "tests/simcuda/core/image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace simcuda {
namespace {

std::vector<char> Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const KernelInfo* Find(const Image& image, const std::string& name) {
  for (const KernelInfo& kernel : image.kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

class ImageOfFormat : public testing::TestWithParam<const char*> {};

TEST_P(ImageOfFormat, TellsKernelsAndVariables) {
  std::vector<char> bytes = Read(GetParam());
  ASSERT_FALSE(bytes.empty());
  Image image;
  ASSERT_TRUE(ReadImage(bytes.data(), &image));
  EXPECT_EQ(image.kernels.size(), 3u) << "a device function is no kernel";
  const KernelInfo* shared = Find(image, "_ZN5outer11with_sharedEPf");
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(shared->static_shared_bytes, 512u);
  EXPECT_GT(shared->registers_per_thread, 0u);
  EXPECT_LT(shared->registers_per_thread, 32u) << "read from the image, not the default";
  const KernelInfo* bounded = Find(image, "_Z7boundedIdEvPT_i");
  ASSERT_NE(bounded, nullptr);
  EXPECT_EQ(bounded->max_threads_per_block, 96u);
  ASSERT_EQ(bounded->parameters.size(), 2u);
  EXPECT_EQ(bounded->parameters[1].offset, 8u);
  EXPECT_EQ(bounded->parameters[1].bytes, 4u);
  ASSERT_EQ(image.variables.size(), 2u);
  for (const VariableInfo& variable : image.variables) {
    if (variable.name != "table") continue;
    int values[4];
    ASSERT_EQ(variable.initial.size(), sizeof(values));
    memcpy(values, variable.initial.data(), sizeof(values));
    EXPECT_EQ(values[3], 40);
  }
  EXPECT_EQ(memcmp(image.cubin.data(), "\177ELF", 4), 0);
}

INSTANTIATE_TEST_SUITE_P(All, ImageOfFormat,
                         testing::Values("tests/simcuda/core/image_test.cubin",
                                         "tests/simcuda/core/image_test.fatbin"));

TEST(ImageTest, PtxTextTellsItsEntries) {
  Image image;
  ASSERT_TRUE(
      ReadImage(".version 8.0\n.target sm_90\n.visible .entry one(.param .u64 a)\n{ ret; }"
                "\n.func two() { ret; }\n.entry three\n(\n)\n{ ret; }\n",
                &image));
  ASSERT_EQ(image.kernels.size(), 2u);
  EXPECT_EQ(image.kernels[0].name, "one");
  EXPECT_EQ(image.kernels[1].name, "three");
  EXPECT_TRUE(image.cubin.empty());
}

TEST(ImageTest, WhatIsNoImageIsRefused) {
  Image image;
  EXPECT_FALSE(ReadImage("", &image));
  EXPECT_FALSE(ReadImage("hello", &image));
  EXPECT_FALSE(ReadImage(nullptr, &image));
}

}  // namespace
}  // namespace simcuda

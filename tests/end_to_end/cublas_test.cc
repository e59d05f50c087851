// Programs whose cuBLAS calls are made operations by the library that `tpctl run --cublas`
// preloads: they do what they did without it, and what is told of each call is right.

#include <gtest/gtest.h>

#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

class Cublas : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  // With the simulated cuBLAS beside the simulated CUDA.
  Environment Untraced() const {
    Environment environment = sandbox_.Untraced();
    for (auto& [name, value] : environment) {
      if (name == "LD_LIBRARY_PATH") value += ":" + Sandbox::Built("tests/simcuda/cublas");
    }
    return environment;
  }
  Environment With(const std::string& libraries) const {
    Environment environment = Untraced();
    environment.emplace_back("LD_PRELOAD", libraries);
    return environment;
  }

  Sandbox sandbox_;
  const std::string program_ = Sandbox::Built("tests/programs/matrix_products");
  const std::string collector_ = Sandbox::Built("collector/libtpcollect.so");
  const std::string shim_ = Sandbox::Built("collector/libtpcollect_cublas.so");
};

TEST_F(Cublas, AProgramDoesWhatItDidWithoutUs) {
  const Arguments command = {program_, "--threads", "4"};
  const Result untraced = sandbox_.Run(command, Untraced());
  ASSERT_EQ(untraced.status, 0) << untraced.err;
  ASSERT_NE(untraced.out.find("LtMatmul: status 0"), std::string::npos) << untraced.out;
  // Alone it has nobody to tell.
  for (const std::string& libraries : {collector_ + ":" + shim_, shim_}) {
    const Result traced = sandbox_.Run(command, With(libraries));
    EXPECT_EQ(traced.status, 0);
    EXPECT_EQ(traced.out, untraced.out);
    EXPECT_EQ(traced.err, untraced.err);
  }
}

}  // namespace
}  // namespace tp::test

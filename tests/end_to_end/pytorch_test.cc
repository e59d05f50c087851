// Real PyTorch with the collector preloaded: nothing clashes, and its ranges arrive. Runs where
// TP_TEST_TORCH_PYTHON names a python with a CUDA build of torch in it (`pip install torch`).
//
// PyTorch's own CUDA libraries do not work on the simulated driver, so the model is trained on the
// CPU; the simulated driver is there for the collector to begin, with the simulated CUPTI, since
// some versions of NVIDIA's crash on a driver that is not theirs.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <regex>
#include <string>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

// PyTorch's messages, without the time and the ids of process and thread in them.
std::string WithoutTimes(const std::string& text) {
  return std::regex_replace(text, std::regex("[0-9-]{10} [0-9:]{8} [0-9]+:[0-9]+"), "TIME");
}

class PyTorch : public testing::Test {
 protected:
  void SetUp() override {
    const char* python = getenv("TP_TEST_TORCH_PYTHON");
    if (python == nullptr || python[0] == '\0') {
      GTEST_SKIP() << "TP_TEST_TORCH_PYTHON names no python with torch";
    }
    command_ = {python, Sandbox::Built("tests/programs/pytorch_step.py")};
    sandbox_.StartDaemon();
    // Nothing else of the simulated CUDA may take the place of PyTorch's own.
    std::string driver = sandbox_.folder() + "/driver";
    std::filesystem::create_directory(driver);
    std::filesystem::create_symlink(Sandbox::Built("tests/simcuda/libcuda.so.1"),
                                    driver + "/libcuda.so.1");
    environment_ = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                    {"HOME", sandbox_.folder()},
                    {"LC_ALL", "C.UTF-8"},
                    {"TP_SOCKET", sandbox_.socket()}};
    if (getenv("TP_TEST_CUDA_LIBRARIES") == nullptr) {
      environment_.emplace_back("LD_LIBRARY_PATH", driver);
      cupti_ = Sandbox::Built("tests/simcuda/libcupti.so.13");
    }
  }

  Environment Preloading(const std::string& libraries) const {
    Environment environment = environment_;
    if (!libraries.empty()) Preload(libraries, &environment);
    return environment;
  }

  Sandbox sandbox_;
  Arguments command_;
  Environment environment_;
  std::string cupti_;  // To be preloaded as well; empty: its own.
};

TEST_F(PyTorch, TrainsAsWithoutUsAndItsRangesArrive) {
  Result untraced = sandbox_.Run(command_, Preloading(cupti_));
  ASSERT_EQ(untraced.status, 0) << untraced.err;
  ASSERT_NE(untraced.out.find("cuInit 0"), std::string::npos) << untraced.out;
  Program program = sandbox_.Start(
      command_, Preloading(Sandbox::Built("collector/libtpcollect.so") + ":" + cupti_));
  pid_t pid = program.pid();
  Result traced = program.Wait();
  EXPECT_EQ(traced.status, 0);
  EXPECT_EQ(traced.out, untraced.out);
  EXPECT_EQ(WithoutTimes(traced.err), WithoutTimes(untraced.err));
  Json process = sandbox_.ProcessOf(pid);
  ASSERT_FALSE(process.is_null());
  EXPECT_TRUE(process["losses"].empty()) << process;
  std::map<std::string, Json> rows = RowsByName(sandbox_.Table({"--pid", std::to_string(pid)}));
  for (const char* name : {"step", "forward", "backward"})
    EXPECT_EQ(rows[name]["count"], 5) << name;
}

TEST_F(PyTorch, WithoutCudaWeAreNotNoticed) {
  Arguments command = {command_[0], "-c", "import torch; print(torch.ones(3).sum().item())"};
  Result untraced = sandbox_.Run(command, Preloading(""));
  Result traced = sandbox_.Run(command, Preloading(Sandbox::Built("collector/libtpcollect.so")));
  EXPECT_EQ(traced.status, 0);
  EXPECT_EQ(traced.out, untraced.out);
  EXPECT_EQ(traced.err, untraced.err);
}

}  // namespace
}  // namespace tp::test

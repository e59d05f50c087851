#include "collector/cupti/cupti_library.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace tp::collect {
namespace {

// A tree of empty files, in which places are given from its root.
class CuptiLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "cupti-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    root_ = folder;
    cuda_.usual = {root_ + "/usr/local"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Make(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << "";
  }
  // Makes it, too.
  void Load(const std::string& path) {
    Make(path);
    cuda_.loaded.push_back(root_ + path);
  }
  // The files, without the root and without detours; and the loader's names.
  std::vector<std::string> Candidates() {
    looked_in_.clear();
    std::vector<std::string> candidates = CuptiCandidates(cuda_, &looked_in_);
    for (std::string& candidate : candidates) {
      if (candidate.starts_with(root_)) {
        candidate = std::filesystem::path(candidate).lexically_normal().string();
        candidate.erase(0, root_.size());
      }
    }
    return candidates;
  }
  std::vector<std::string> Files() {
    std::vector<std::string> candidates = Candidates();
    std::erase_if(candidates, [](const std::string& path) { return path[0] != '/'; });
    return candidates;
  }

  std::string root_;
  CudaOfProcess cuda_;
  std::vector<std::string> looked_in_;
};

TEST_F(CuptiLibraryTest, OneThatIsLoadedIsFoundWhateverItsVersion) {
  EXPECT_EQ(LoadedCupti(cuda_), "");
  Load("/opt/app/libfoo.so");
  Load("/opt/app/libcupti.so.11.8");
  EXPECT_EQ(LoadedCupti(cuda_), root_ + "/opt/app/libcupti.so.11.8");
}

TEST_F(CuptiLibraryTest, TheRuntimesVersionComesFirstThenTheDriversAndOlderOnes) {
  cuda_.driver_version = 13020;
  EXPECT_EQ(FittingVersions(cuda_), (std::vector<int>{13, 12, 11}));
  Load("/usr/local/cuda-12.4/lib64/libcudart.so.12");
  EXPECT_EQ(FittingVersions(cuda_), (std::vector<int>{12, 13, 11}));
}

TEST_F(CuptiLibraryTest, OneThatIsNewerThanTheDriverIsNotTried) {
  Make("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13");
  Make("/usr/local/cuda-12.2/extras/CUPTI/lib64/libcupti.so.12");
  cuda_.driver_version = 12020;
  EXPECT_EQ(FittingVersions(cuda_), (std::vector<int>{12, 11}));
  EXPECT_EQ(Files(),
            std::vector<std::string>{"/usr/local/cuda-12.2/extras/CUPTI/lib64/libcupti.so.12"});
}

TEST_F(CuptiLibraryTest, OneThatIsLoadedAndTooNewForTheDriverIsRecognized) {
  cuda_.driver_version = 12020;
  EXPECT_TRUE(IsTooNew(cuda_, "/venv/nvidia/cu13/lib/libcupti.so.13"));
  EXPECT_FALSE(IsTooNew(cuda_, "/venv/nvidia/cuda_cupti/lib/libcupti.so.12"));
  EXPECT_FALSE(IsTooNew(cuda_, "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2024.1.0"));
  EXPECT_FALSE(IsTooNew(cuda_, "/usr/lib/libcupti.so"));
  cuda_.driver_version = 0;
  EXPECT_FALSE(IsTooNew(cuda_, "/venv/nvidia/cu13/lib/libcupti.so.13")) << "nobody knows";
}

TEST_F(CuptiLibraryTest, AToolkitsIsFoundFromItsRuntime) {
  Make("/sw/cuda/12.4/extras/CUPTI/lib64/libcupti.so.12");
  Load("/sw/cuda/12.4/lib64/libcudart.so.12.4.127");
  EXPECT_EQ(Files(), std::vector<std::string>{"/sw/cuda/12.4/extras/CUPTI/lib64/libcupti.so.12"});
}

TEST_F(CuptiLibraryTest, AToolkitsIsFoundFromItsFolderOfTargets) {
  Make("/sw/cuda/extras/CUPTI/lib64/libcupti.so.13");
  Load("/sw/cuda/targets/x86_64-linux/lib/libcublas.so.13");
  EXPECT_EQ(Files(), std::vector<std::string>{"/sw/cuda/extras/CUPTI/lib64/libcupti.so.13"});
}

TEST_F(CuptiLibraryTest, AWheelsIsFoundFromAnotherWheelsLibrary) {
  const std::string packages = "/venv/lib/python3.11/site-packages";
  Make(packages + "/nvidia/cuda_cupti/lib/libcupti.so.12");
  Make("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12");
  Load(packages + "/nvidia/cuda_runtime/lib/libcudart.so.12");
  EXPECT_EQ(Files(),
            (std::vector<std::string>{packages + "/nvidia/cuda_cupti/lib/libcupti.so.12",
                                      "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12"}))
      << "what a library of the process would open by that name, before the system's";
}

TEST_F(CuptiLibraryTest, AWheelsIsFoundFromAnyExtensionModule) {
  const std::string packages = "/usr/lib/python3/dist-packages";
  Make(packages + "/nvidia/cu13/lib/libcupti.so.13");
  Load(packages + "/torch/lib/libtorch_cuda.so");
  EXPECT_EQ(Files(), std::vector<std::string>{packages + "/nvidia/cu13/lib/libcupti.so.13"});
}

TEST_F(CuptiLibraryTest, CondasIsFoundByItsVariableAndBesideItsRuntime) {
  Make("/conda/envs/a/lib/libcupti.so.12");
  cuda_.prefixes = {root_ + "/conda/envs/a"};
  EXPECT_EQ(Files(), std::vector<std::string>{"/conda/envs/a/lib/libcupti.so.12"});
  cuda_.prefixes.clear();
  EXPECT_TRUE(Files().empty());
  Load("/conda/envs/a/lib/libcudart.so.12");
  EXPECT_EQ(Files(), std::vector<std::string>{"/conda/envs/a/lib/libcupti.so.12"});
}

TEST_F(CuptiLibraryTest, AnEnvironmentsWheelsAreFoundByItsVariable) {
  Make("/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
  cuda_.prefixes = {root_ + "/venv"};
  EXPECT_EQ(Files(), std::vector<std::string>{
                         "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13"});
}

TEST_F(CuptiLibraryTest, AFittingOneFarAwayComesBeforeANearOneThatDoesNotFit) {
  cuda_.driver_version = 13020;
  Make("/usr/local/cuda-12/extras/CUPTI/lib64/libcupti.so.12");
  Make("/app/libcupti.so.13");
  Load("/app/libcudart.so.12");
  EXPECT_EQ(Files(),
            (std::vector<std::string>{"/usr/local/cuda-12/extras/CUPTI/lib64/libcupti.so.12",
                                      "/app/libcupti.so.13"}));
}

TEST_F(CuptiLibraryTest, TheLoaderIsAskedAfterWhatIsNearAndBeforeTheUsualPlaces) {
  cuda_.driver_version = 12020;
  Make("/usr/local/cuda/lib64/libcupti.so.12");
  Make("/app/libcupti.so.12");
  Load("/app/libcudart.so.12");
  std::vector<std::string> candidates = Candidates();
  ASSERT_GE(candidates.size(), 4u);
  EXPECT_EQ(candidates[0], "/app/libcupti.so.12");
  EXPECT_EQ(candidates[1], "libcupti.so.12");
  EXPECT_EQ(candidates[2], "/usr/local/cuda/lib64/libcupti.so.12");
  EXPECT_EQ(candidates[3], "libcupti.so.11.8");
  EXPECT_EQ(candidates.back(), "libcupti.so");
}

TEST_F(CuptiLibraryTest, TheNewestOf11AndTheNewestToolkitComeFirst) {
  cuda_.driver_version = 11020;
  Make("/usr/local/cuda-11.2/extras/CUPTI/lib64/libcupti.so.11.2");
  Make("/usr/local/cuda-11.8/extras/CUPTI/lib64/libcupti.so.11.8");
  Make("/usr/local/cuda-12.8/extras/CUPTI/lib64/libcupti.so.12");
  EXPECT_EQ(Files(),
            (std::vector<std::string>{"/usr/local/cuda-11.8/extras/CUPTI/lib64/libcupti.so.11.8",
                                      "/usr/local/cuda-11.2/extras/CUPTI/lib64/libcupti.so.11.2"}));
}

TEST_F(CuptiLibraryTest, EachFolderIsLookedInOnceForTheReason) {
  cuda_.driver_version = 13020;
  cuda_.homes = {root_ + "/usr/local/cuda"};
  EXPECT_TRUE(Files().empty());
  EXPECT_EQ(looked_in_.front(), root_ + "/usr/local/cuda/extras/CUPTI/lib64");
  std::vector<std::string> sorted = looked_in_;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
}

TEST_F(CuptiLibraryTest, ThisProcessIsDescribedByWhatIsLoadedInIt) {
  EXPECT_FALSE(DescribeProcess().loaded.empty());
}

}  // namespace
}  // namespace tp::collect

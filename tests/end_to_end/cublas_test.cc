// Programs whose cuBLAS calls are made operations by the library that `tpctl run --cublas`
// preloads: they do what they did without it, and what is told of each call is right.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

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
    Preload(libraries, &environment);
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

// What the program multiplies, as tests/programs/matrix_products.cu has it: [m, k] by [k, n].
struct Product {
  const char* name;
  const char* shapes;
  int64_t count, flops_each;
};
constexpr int64_t kProduct = 3 * 5 * 7, kBatch = 4;
constexpr Product kProducts[] = {
    {"cublasSgemm", "[[3,7],[7,5]]", 4, 2 * kProduct},  // And with 64-bit sizes.
    {"cublasSgemm", "[[2,2],[2,2]]", 2, 2 * 8},
    {"cublasDgemm", "[[3,7],[7,5]]", 2, 2 * kProduct},
    {"cublasCgemm", "[[3,7],[7,5]]", 2, 8 * kProduct},
    {"cublasZgemm", "[[3,7],[7,5]]", 2, 8 * kProduct},
    {"cublasHgemm", "[[3,7],[7,5]]", 2, 2 * kProduct},
    {"cublasSgemmBatched", "[[4,3,7],[4,7,5]]", 2, 2 * kProduct* kBatch},
    {"cublasDgemmStridedBatched", "[[4,3,7],[4,7,5]]", 2, 2 * kProduct* kBatch},
    {"cublasGemmEx", "[[3,7],[7,5]]", 2, 2 * kProduct},
    {"cublasGemmBatchedEx", "[[4,3,7],[4,7,5]]", 2, 2 * kProduct* kBatch},
    {"cublasGemmStridedBatchedEx", "[[4,3,7],[4,7,5]]", 2, 2 * kProduct* kBatch},
    {"cublasLtMatmul", "[[4,3,7],[4,7,5]]", 2, 2 * kProduct* kBatch},
};

TEST_F(Cublas, EachCallIsAnOperationWithItsShapesAndFlops) {
  Environment environment = Untraced();
  environment.emplace_back("TP_COLLECTOR", collector_);
  const Result run =
      sandbox_.Run({Sandbox::Built("tools/tpctl"), "run", "--cublas", "--", program_}, environment);
  ASSERT_EQ(run.status, 0) << run.err;
  ASSERT_EQ(run.out, sandbox_.Run({program_}, Untraced()).out);

  const Json table = sandbox_.Table({"--group-by-shape", "--with-flops"});
  std::map<std::pair<std::string, std::string>, Json> rows;
  for (const Json& row : table["rows"]) rows[{row["name"], row["input_shapes"].dump()}] = row;
  for (const Product& product : kProducts) {
    SCOPED_TRACE(std::string(product.name) + " " + product.shapes);
    Json row = rows[{product.name, product.shapes}];
    ASSERT_FALSE(row.is_null()) << table.dump(1);
    // The calls that failed are of this shape, too.
    const bool has_failed_ones =
        product.shapes == std::string("[[3,7],[7,5]]") &&
        (product.name == std::string("cublasSgemm") || product.name == std::string("cublasGemmEx"));
    EXPECT_EQ(row["count"], product.count + has_failed_ones);
    EXPECT_EQ(row["flops"], (product.count + has_failed_ones) * product.flops_each);
    EXPECT_EQ(row["kind"], "o");
    // One kernel each, whatever the batch.
    EXPECT_EQ(row["kernel_count"], product.count);
    EXPECT_GT(row["self_device_time_total_ns"], 0);
  }
  // Sizes that no matrix has: the call is there, and nothing is said of flops.
  EXPECT_EQ((rows[{"cublasSgemm", "[[-1,7],[7,5]]"}]["flops"]), 0);
}

TEST_F(Cublas, ItsOwnFunctionsAreNoPlaceInTheProgram) {
  Environment environment = With(collector_ + ":" + shim_);
  environment.emplace_back("TP_STACKS", "16");
  ASSERT_EQ(sandbox_.Run({program_}, environment).status, 0);
  const Json row = RowsByName(sandbox_.Table({"--group-by-stack", "1"}))["cublasDgemm"];
  EXPECT_EQ(row["stack"], Json::array({"(anonymous namespace)::Products::All()"}));
}

TEST_F(Cublas, WithoutTheOptionNothingIsToldOfCublas) {
  const Result run = sandbox_.Run({program_}, With(collector_));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(RowsByName(sandbox_.Table({})).count("cublasSgemm"), 0u);
}

}  // namespace
}  // namespace tp::test

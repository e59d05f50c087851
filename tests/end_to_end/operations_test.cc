// What programs tell beyond names: operations with inputs, flops and output bytes, counters, and
// what NVTX's ranges carry; from the program to tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

class Operations : public testing::Test {
 protected:
  void SetUp() override { sandbox_.StartDaemon(); }

  // The pid of a program that was traced and has ended well.
  pid_t Run(const Arguments& arguments, const Environment& environment,
            std::string* out = nullptr) {
    Program program = sandbox_.Start(arguments, environment);
    const Result result = program.Wait();
    EXPECT_EQ(result.err, "");
    skipped_ = result.status == 77;
    EXPECT_TRUE(skipped_ || result.status == 0) << result.status;
    if (out != nullptr) *out = result.out;
    return program.pid();
  }
  Json View(pid_t pid, const std::string& view, Arguments more = {}) {
    more.insert(more.end(), {"--pid", std::to_string(pid), "--view", view});
    return sandbox_.Table(more);
  }
  std::string Text(pid_t pid, Arguments more) {
    more.insert(more.begin(), "table");
    more.insert(more.end(), {"--pid", std::to_string(pid)});
    return sandbox_.Tpctl(more).out;
  }
  static std::vector<Json> Named(const Json& table, const std::string& name) {
    std::vector<Json> rows;
    for (const Json& row : table["rows"]) {
      if (row["name"] == name) rows.push_back(row);
    }
    return rows;
  }

  Sandbox sandbox_;
  bool skipped_ = false;
};

void ExpectOperationsOfC(const Json& spans, const Json& counters) {
  EXPECT_EQ(spans["rows"].size(), 3u) << spans;
  std::map<std::string, Json> rows = RowsByName(spans);
  const Json& multiply = rows["multiply"];
  EXPECT_EQ(multiply["kind"], "o");
  EXPECT_EQ(multiply["flops"], 2 * 128 * 64);
  EXPECT_EQ(multiply["output_bytes"], 512);
  EXPECT_EQ(multiply["input_shapes"], Json::parse("[[128, 64], [64], []]"));
  EXPECT_EQ(multiply["input_types"], Json::parse(R"(["float", "c10::BFloat16", ""])"));
  EXPECT_EQ(rows["step, seq = 1"]["kind"], "u");
  EXPECT_EQ(rows["step, seq = 1"]["nested_output_bytes"], 512);
  EXPECT_EQ(rows.count("load"), 1u);
  std::map<std::string, Json> values = RowsByName(counters);
  EXPECT_EQ(values["loss"]["count"], 2);
  EXPECT_EQ(values["loss"]["last"], 0.25);
  EXPECT_EQ(values["loss"]["max"], 0.5);
  EXPECT_EQ(values["loss"]["average"], 0.375);
  EXPECT_EQ(values["tokens"]["last"], 9007199254740992.0);
}

TEST_F(Operations, OfAProgramInCArriveWithAllThatItTells) {
  std::string out;
  const pid_t pid =
      Run({Sandbox::Built("tests/programs/operations_in_c")}, sandbox_.Traced(), &out);
  EXPECT_EQ(out, "somebody listens\n");
  ExpectOperationsOfC(View(pid, "spans"), View(pid, "counters"));
  EXPECT_EQ(sandbox_.ProcessOf(pid)["events"]["counters"], 3);
  EXPECT_EQ(sandbox_.NotesOf(pid), "");
}

TEST_F(Operations, AProgramRunsTheSameWithoutTheCollector) {
  std::string out;
  Run({Sandbox::Built("tests/programs/operations_in_c")}, sandbox_.Untraced(), &out);
  EXPECT_EQ(out, "nobody listens\n");
}

TEST_F(Operations, ACollectorThatComesLaterIsFound) {
  const std::string library = Sandbox::Built("collector/libtpcollect.so");
  std::string out;
  const pid_t pid =
      Run({Sandbox::Built("tests/programs/operations_in_c"), "--load", library}, sandbox_.Untraced(), &out);
  EXPECT_EQ(out, "somebody listens\n");
  ExpectOperationsOfC(View(pid, "spans"), View(pid, "counters"));
}

TEST_F(Operations, OfAProgramInCppAreSummedByShapeWithTheirKernels) {
  const pid_t pid = Run({Sandbox::Built("tests/programs/operations")}, sandbox_.Traced());
  const Json table = View(pid, "operations", {"--group-by-shape"});
  const std::vector<Json> products = Named(table, "product");
  ASSERT_EQ(products.size(), 2u) << table;
  for (const Json& row : products) {
    const int64_t rows = row["input_shapes"][0][0];
    EXPECT_TRUE(rows == 128 || rows == 256) << row;
    EXPECT_EQ(row["count"], 3);
    EXPECT_EQ(row["kernel_count"], 3);
    EXPECT_EQ(row["flops"], 3 * 2 * rows * 64 * 32);
    EXPECT_EQ(row["output_bytes"], 3 * rows * 32 * 4);
  }
  for (const Json& row : Named(table, "linear")) {
    const int64_t rows = row["input_shapes"][0][0];
    EXPECT_EQ(row["kernel_count"], 3) << "the addition is its own";
    EXPECT_EQ(row["output_bytes"], 300);
    EXPECT_EQ(row["nested_output_bytes"], 300 + 3 * rows * 32 * 4);
  }
  std::map<std::string, Json> rows = RowsByName(View(pid, "operations"));
  EXPECT_EQ(rows["step"]["kind"], "u");
  EXPECT_EQ(rows["step"]["device_time_total_ns"], rows["NVTX around it"]["device_time_total_ns"]);
  EXPECT_EQ(rows["load"]["count"], 1);
  EXPECT_EQ(sandbox_.ProcessOf(pid)["unattributed_count"], 0);

  const std::string text = Text(pid, {"--group-by-shape", "--with-flops"});
  for (const char* part : {"Total MFLOPs", "Output Mem", "[[128, 64], [64, 32]]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_NE(Text(pid, {"--view", "counters"}).find("# of Values"), std::string::npos);
}

TEST_F(Operations, NcclsRangesTellTheSizeOfTheirMessages) {
  const pid_t pid = Run({Sandbox::Built("tests/programs/nccl_ranges")}, sandbox_.Traced());
  if (skipped_) GTEST_SKIP() << "this toolkit's NVTX has no payload extension";
  const Json spans = View(pid, "spans");
  const std::vector<Json> reductions = Named(spans, "ncclAllReduce");
  ASSERT_EQ(reductions.size(), 2u) << spans;
  EXPECT_EQ(reductions[0]["values"], Json({{"NCCL communicator ID", 0xf123456789abcdefu},
                                           {"Message size [bytes]", 1 << 20},
                                           {"Reduction operation", "Sum"}}));
  EXPECT_EQ(reductions[1]["values"]["Message size [bytes]"], 4 << 20);
  EXPECT_EQ(reductions[1]["values"]["Reduction operation"], "Avg");
  EXPECT_EQ(reductions[1]["kernel_count"], 1);
  EXPECT_EQ(Named(spans, "ncclBroadcast").at(0)["values"]["Root"], 1);
  EXPECT_EQ(Named(spans, "ncclCommInitRank").at(0)["values"],
            Json({{"NCCL communicator ID", 0xf123456789abcdefu},
                  {"No. of ranks", 2},
                  {"Rank", 1},
                  {"CUDA device", 0}}));
  EXPECT_NE(Text(pid, {"--view", "spans", "--max-shapes-width", "none"})
                .find("Message size [bytes]=4194304"),
            std::string::npos);
  EXPECT_EQ(sandbox_.NotesOf(pid), "");
}

// The library itself, not only what it does by our own account.
TEST_F(Operations, NcclsOwnLibraryIsReadRight) {
  const pid_t pid = Run({Sandbox::Built("tests/programs/nccl_calls")}, sandbox_.Traced());
  if (skipped_) GTEST_SKIP() << "there is no NCCL here (TP_TEST_NCCL may name it)";
  const Json spans = View(pid, "spans");
  const std::vector<Json> reductions = Named(spans, "ncclAllReduce");
  ASSERT_EQ(reductions.size(), 2u) << spans;
  EXPECT_EQ(reductions[0]["values"]["Message size [bytes]"], 4 * 1000);
  EXPECT_EQ(reductions[0]["values"]["Reduction operation"], "Sum");
  EXPECT_EQ(reductions[1]["values"]["Message size [bytes]"], 8 * 2000);
  EXPECT_EQ(reductions[1]["values"]["Reduction operation"], "Max");
  EXPECT_EQ(Named(spans, "ncclBroadcast").at(0)["values"]["Root"], 3);
}

TEST_F(Operations, CategoriesAndPayloadsOfNvtxArriveWithTheirRanges) {
  const pid_t pid = Run({Sandbox::Built("tests/programs/nvtx_forms")}, sandbox_.Traced());
  const Json spans = View(pid, "spans");
  EXPECT_EQ(Named(spans, "push_ex").at(0)["values"],
            Json({{"category", "third category"}, {"payload", -42}}));
  EXPECT_EQ(Named(spans, "push").at(0)["values"], nullptr);
}

}  // namespace
}  // namespace tp::test

// A real workload: a PyTorch trace replayed through the simulated CUDA comes out of the tables with
// the same names, counts and durations as the golden outputs have, which were made from the trace
// itself.

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <map>
#include <string>
#include <tuple>

#include "tests/end_to_end/sandbox.h"

namespace tp::test {
namespace {

using Json = nlohmann::json;

// Rows of a golden file ("columns" and "rows") as objects.
std::vector<Json> GoldenRows(const std::filesystem::path& file) {
  // Large ones are compressed; gzopen reads both.
  std::string path = std::filesystem::exists(file) ? file.string() : file.string() + ".gz";
  std::string content;
  char block[65536];
  gzFile input = gzopen(path.c_str(), "rb");
  for (int got; input != nullptr && (got = gzread(input, block, sizeof(block))) > 0;) {
    content.append(block, got);
  }
  if (input != nullptr) gzclose(input);
  Json golden = Json::parse(content);
  std::vector<Json> rows;
  for (const Json& values : golden["rows"]) {
    Json row;
    for (size_t i = 0; i < values.size(); ++i)
      row[golden["columns"][i].get<std::string>()] = values[i];
    rows.push_back(row);
  }
  return rows;
}

using Key = std::pair<std::string, std::string>;  // Name and kind.

using Numbers = std::tuple<long, long, long, long>;

// The rows that differ, a line each.
std::string Differences(const std::map<Key, Numbers>& actual,
                        const std::map<Key, Numbers>& expected) {
  std::map<Key, std::pair<const Numbers*, const Numbers*>> both;
  for (const auto& [key, numbers] : actual) both[key].first = &numbers;
  for (const auto& [key, numbers] : expected) both[key].second = &numbers;
  std::string text;
  for (const auto& [key, pair] : both) {
    if (pair.first != nullptr && pair.second != nullptr && *pair.first == *pair.second) continue;
    text += key.first.substr(0, 80) + " " + key.second + ":";
    for (const Numbers* numbers : {pair.first, pair.second}) {
      text += numbers == nullptr ? " none" : " " + testing::PrintToString(*numbers);
    }
    text += "\n";
  }
  return text;
}

class Replay : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* shared = getenv("TP_SHARED");
    case_ = std::filesystem::path(shared != nullptr ? shared : "../shared") / "golden/real" /
            GetParam();
    if (!std::filesystem::exists(case_ / "trace.json.gz")) {
      GTEST_SKIP() << "no real trace here: " << case_;
    }
    sandbox_.StartDaemon();
    Environment environment = sandbox_.Traced();
    environment.emplace_back("SIMCUDA_SPEED", "0");
    Program program = sandbox_.Start(
        {Sandbox::Built("tests/programs/replay_trace"), case_ / "trace.json.gz"}, environment);
    Result result = program.Wait();
    ASSERT_EQ(result.status, 0) << result.err;
    ASSERT_EQ(result.err, "");
    ASSERT_TRUE(sandbox_.ProcessOf(program.pid())["losses"].empty());
  }

  Sandbox sandbox_;
  std::filesystem::path case_;
};

TEST_P(Replay, KernelsCopiesAndFillsHaveTheTracesNamesCountsAndDurations) {
  std::map<Key, Numbers> expected, actual;
  for (const Json& row : GoldenRows(case_ / "expected/device_kernels.json")) {
    expected[{row["name"], row["kind"]}] = {row["count"], row["total_ns"], row["min_ns"],
                                            row["max_ns"]};
  }
  Json table = sandbox_.Table({"--view", "kernels"});
  for (const Json& row : table["rows"]) {
    actual[{row["name"], row["kind"]}] = {row["count"], row["total_ns"], row["min_ns"],
                                          row["max_ns"]};
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(Differences(actual, expected), "");
}

TEST_P(Replay, OperationsHaveTheTracesCallsAndDeviceTimes) {
  std::map<Key, Numbers> expected, actual;
  for (const Json& row : GoldenRows(case_ / "expected/key_averages.json")) {
    expected[{row["name"], row["kind"]}] = {row["count"], row["cuda_ns"], row["self_cuda_ns"],
                                            row["kernel_count"]};
  }
  Json table = sandbox_.Table({});
  for (const Json& row : table["rows"]) {
    actual[{row["name"], row["kind"]}] = {row["count"], row["device_time_total_ns"],
                                          row["self_device_time_total_ns"], row["kernel_count"]};
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(Differences(actual, expected), "");
}

INSTANTIATE_TEST_SUITE_P(Traces, Replay,
                         testing::Values("alexnet", "nccl", "ns_resolution", "sampled_rank0",
                                         "triton"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tp::test

// Tools of others read what we export, and come to our numbers: HolisticTraceAnalysis and
// TensorBoard's PyTorch plugin to our sums of kernels, inferno to our stacks.
//
// They are looked for in the virtual environment that TP_TRACE_READERS names, as
// tests/compare/fetch_readers.sh makes it; the test skips without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/export/folded_stacks.h"
#include "analyzer/export/merge.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"
#include "tests/golden/golden_case.h"

namespace tp {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Readers : public testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("TP_TRACE_READERS");
    python_ = fs::path(named == nullptr ? "" : named) / "bin/python";
    if (named == nullptr || !fs::exists(fs::path(named) / "complete")) {
      GTEST_SKIP() << "the tools that read traces are not here: tests/compare/fetch_readers.sh "
                      "fetches them, TP_TRACE_READERS names their folder";
    }
    const std::optional<fs::path> traces = RealTraces();
    if (!traces) GTEST_SKIP() << kNoRealTraces;
    traces_ = *traces;
    fs::create_directories(folder_);
  }
  ~Readers() override { fs::remove_all(folder_); }

  std::string Trace(const std::string& name) const { return traces_ / name; }

  static WholeRecording Imported(const std::string& path) {
    absl::StatusOr<WholeRecording> recording = ImportFile(path);
    EXPECT_TRUE(recording.ok()) << recording.status();
    return recording.ok() ? *std::move(recording) : WholeRecording();
  }

  // The path of a new file that `write` fills.
  std::string Written(const std::string& name, const std::function<void(OutputFile*)>& write) {
    const std::string path = folder_ / name;
    auto file = OutputFile::Create(path);
    EXPECT_TRUE(file.ok()) << file.status();
    write(file->get());
    EXPECT_TRUE((*file)->Finish().ok());
    return path;
  }
  std::string Exported(const WholeRecording& recording) {
    ChromeTraceOptions options;
    options.torch_compat = true;
    return Written("trace.json", [&](OutputFile* out) {
      WriteChromeTrace(recording, Summarize(recording), options, out);
    });
  }

  // What a script of this folder prints, which is JSON.
  json Run(const std::string& script, const std::string& arguments) const {
    const std::string command = absl::StrCat(python_.string(), " tests/compare/", script, " ",
                                             arguments, " 2>", (folder_ / "errors").string());
    FILE* pipe = popen(command.c_str(), "r");
    std::string text;
    char bytes[1 << 16];
    for (size_t got; (got = fread(bytes, 1, sizeof(bytes), pipe)) > 0;) text.append(bytes, got);
    EXPECT_EQ(pclose(pipe), 0) << command << "\n" << ReadFile(folder_ / "errors");
    return json::parse(text, nullptr, /*allow_exceptions=*/false);
  }

  // {NAME: [COUNT, TOTAL_NS, LARGEST_NS, SMALLEST_NS]}
  static json OurKernels(const WholeRecording& recording) {
    json kernels = json::object();
    const query::Table table =
        TabulateWhole(recording, Summarize(recording), TableOptions{.view = query::KERNELS});
    for (const query::WorkRow& row : table.kernels()) {
      if (row.kind() != "k") continue;
      kernels[row.name()] = {row.count(), row.total_ns(), row.max_ns(), row.min_ns()};
    }
    return kernels;
  }
  void ExpectOurKernels(const json& ours, const std::string& trace) const {
    for (const char* tool : {"hta", "tensorboard"}) {
      SCOPED_TRACE(tool);
      const json theirs = Run("kernel_sums.py", absl::StrCat(tool, " ", trace));
      EXPECT_EQ(json::diff(ours, theirs), json::array());
    }
  }

  fs::path python_, traces_;
  fs::path folder_ = fs::path(testing::TempDir()) / absl::StrCat("readers_", getpid());
};

TEST_F(Readers, OfTracesHaveOurSumsOfKernels) {
  for (const char* name : {"nsys_2gpu.sqlite.gz", "h100_vit.json.gz", "ranks_0.json.gz"}) {
    SCOPED_TRACE(name);
    const WholeRecording recording = Imported(Trace(name));
    const json ours = OurKernels(recording);
    ASSERT_GT(ours.size(), 10u);
    ExpectOurKernels(ours, Exported(recording));
  }
}

TEST_F(Readers, OfTracesHaveTheSumsOfAllRanksInAMergedOne) {
  const std::vector<std::string> ranks = {Trace("ranks_0.json.gz"), Trace("ranks_1.json.gz")};
  const std::string merged = Written(
      "merged.json", [&](OutputFile* out) { EXPECT_TRUE(MergeTraces(ranks, {}, out).ok()); });
  json both = OurKernels(Imported(ranks[0]));
  const json second = OurKernels(Imported(ranks[1]));
  for (const auto& [name, sums] : second.items()) {
    if (!both.contains(name)) {
      both[name] = sums;
      continue;
    }
    json& sum = both[name];
    sum = {sum[0].get<int64_t>() + sums[0].get<int64_t>(),
           sum[1].get<int64_t>() + sums[1].get<int64_t>(), std::max(sum[2], sums[2]),
           std::min(sum[3], sums[3])};
  }
  ExpectOurKernels(both, merged);
}

// Boxes of a flame graph: a frame with all that is above it, by their names and values.
std::multimap<std::string, int64_t> BoxesOf(const std::string& folded, int64_t* all) {
  std::map<std::vector<std::string>, int64_t> sums;
  std::ifstream lines(folded);
  for (std::string line; std::getline(lines, line);) {
    const size_t blank = line.rfind(' ');
    const int64_t value = std::stoll(line.substr(blank + 1));
    *all += value;
    std::vector<std::string> frames;
    for (size_t at = 0; at < blank;) {
      const size_t end = std::min(line.find(';', at), blank);
      frames.push_back(line.substr(at, end - at));
      sums[frames] += value;
      at = end + 1;
    }
  }
  std::multimap<std::string, int64_t> boxes;
  for (const auto& [path, value] : sums) boxes.emplace(path.back(), value);
  return boxes;
}

TEST_F(Readers, OfFoldedStacksDrawOurTimes) {
  // Beside the case's own frames, some that could be taken for something else.
  const GoldenCase golden(MadeUpCase("random/mixed_a"));
  const WholeRecording& recording = golden.recording();
  auto stacks = FoldStacks(recording, Summarize(recording), "self_cpu_time");
  ASSERT_TRUE(stacks.ok()) << stacks.status();
  stacks->push_back({"main;a b 12;<lambda> & \"quotes\";Größe 大小", 5'000'000'000});
  stacks->push_back({"main;#1", 2'000'000'000});
  const std::string folded =
      Written("stacks.txt", [&](OutputFile* out) { WriteFoldedStacks(*stacks, out); });
  int64_t all = 0;
  std::multimap<std::string, int64_t> ours = BoxesOf(folded, &all);
  ours.emplace("all", all);
  // No line may lose more than half a microsecond.
  int64_t sum_ns = 0;
  for (const FoldedStack& stack : *stacks) sum_ns += stack.value_ns;
  EXPECT_NEAR(static_cast<double>(all), static_cast<double>(sum_ns) / 1000,
              static_cast<double>(stacks->size()) / 2);

  const json theirs = Run("flame_frames.py", folded);
  ASSERT_GT(theirs.size(), 20u);
  for (const json& box : theirs) {
    const auto [begin, end] = ours.equal_range(box[0]);
    const auto same =
        std::find_if(begin, end, [&](const auto& our) { return our.second == box[1]; });
    ASSERT_NE(same, end) << box;
    ours.erase(same);
  }
  for (const auto& [name, value] : ours) {
    EXPECT_LT(static_cast<double>(value), 1e-4 * static_cast<double>(all)) << name;
  }
}

}  // namespace
}  // namespace tp

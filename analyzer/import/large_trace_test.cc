// A million spans, thousands deep or on thousands of threads, from the file to the table: the right
// numbers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/whole_summary.h"

namespace tp {
namespace {

constexpr int kSpans = 1'000'000;

// Writes nests of spans: each contains the next, and the innermost launches a kernel of 7 us.
class NestWriter {
 public:
  explicit NestWriter(const std::string& path) : file_(path) { file_ << "{\"traceEvents\": ["; }
  ~NestWriter() { file_ << "\n]}"; }

  void Add(int depth, int thread) {
    const auto event = [&](const char* category, const char* name, int64_t start_us,
                           int64_t duration_us, int64_t correlation) {
      text_ += is_first_ ? "\n" : ",\n";
      is_first_ = false;
      absl::StrAppend(&text_, R"({"ph":"X","cat":")", category, R"(","name":")", name,
                      R"(","pid":1,"tid":)", thread, R"(,"ts":)", start_us, R"(,"dur":)",
                      duration_us);
      if (correlation != 0) {
        absl::StrAppend(&text_, R"(,"args":{"correlation":)", correlation, "}");
      }
      text_ += '}';
    };
    for (int level = 0; level < depth; ++level) {
      const char* name = level == 0 ? "outermost" : level + 1 == depth ? "innermost" : "between";
      event("cpu_op", name, start_us_ + level, 2 * (depth - level), 0);
    }
    ++correlation_;
    event("cuda_runtime", "cudaLaunchKernel", start_us_ + depth, 1, correlation_);
    event("kernel", "gemm", start_us_ + 3 * depth, 7, correlation_);
    start_us_ += 2 * depth;
    file_ << text_;
    text_.clear();
  }

 private:
  std::ofstream file_;
  std::string text_;
  bool is_first_ = true;
  int64_t start_us_ = 1'700'000'000'000'000;
  int64_t correlation_ = 0;
};

class LargeTraceTest : public testing::Test {
 protected:
  LargeTraceTest() : path_(std::string(std::getenv("TEST_TMPDIR")) + "/trace.json") {}
  ~LargeTraceTest() override { unlink(path_.c_str()); }

  // What the table says of nests of this depth, made by `write`.
  template <typename Write>
  void CheckNests(int depth, int threads, Write write) {
    {
      NestWriter writer(path_);
      write(&writer);
    }
    const int nests = kSpans / depth;
    const absl::StatusOr<WholeRecording> recording = ImportFile(path_);
    ASSERT_TRUE(recording.ok()) << recording.status();
    EXPECT_TRUE(recording->notes.empty());
    EXPECT_EQ(recording->threads.size(), static_cast<size_t>(threads));
    const query::Table table = TabulateWhole(*recording, Summarize(*recording), {});
    EXPECT_EQ(table.losses_size(), 0);
    std::map<std::string, query::OperationRow> rows;
    for (const query::OperationRow& row : table.operations()) rows[row.name()] = row;
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows["outermost"].count(), nests);
    EXPECT_EQ(rows["between"].count(), int64_t{nests} * (depth - 2));
    EXPECT_EQ(rows["innermost"].count(), nests);
    EXPECT_EQ(rows["outermost"].cpu_time_total_ns(), int64_t{nests} * depth * 2000);
    EXPECT_EQ(rows["outermost"].self_cpu_time_total_ns(), int64_t{nests} * 2000);
    EXPECT_EQ(rows["between"].self_cpu_time_total_ns(), int64_t{nests} * (depth - 2) * 2000);
    EXPECT_EQ(rows["innermost"].self_cpu_time_total_ns(), int64_t{nests} * 2000);
    EXPECT_EQ(rows["innermost"].self_device_time_total_ns(), int64_t{nests} * 7000);
    EXPECT_EQ(rows["outermost"].self_device_time_total_ns(), 0);
    EXPECT_EQ(rows["outermost"].device_time_total_ns(), int64_t{nests} * 7000);
  }

  std::string path_;
};

TEST_F(LargeTraceTest, AMillionSpansTenThousandDeepOnOneThread) {
  constexpr int kDepth = 10'000;
  CheckNests(kDepth, 1, [](NestWriter* writer) {
    for (int nest = 0; nest < kSpans / kDepth; ++nest) writer->Add(kDepth, 1);
  });
}

TEST_F(LargeTraceTest, AMillionSpansOnFiveThousandThreads) {
  constexpr int kThreads = 5'000, kDepth = 20;
  CheckNests(kDepth, kThreads, [](NestWriter* writer) {
    for (int nest = 0; nest < kSpans / kDepth; ++nest) writer->Add(kDepth, nest % kThreads);
  });
}

}  // namespace
}  // namespace tp

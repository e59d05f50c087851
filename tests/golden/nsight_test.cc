// A real export of Nsight Systems: two processes on a GPU each. The numbers are those of SQL and
// plain loops over the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/import/import.h"
#include "analyzer/import/nsight_export.h"
#include "tests/golden/golden_case.h"

namespace tp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RealExport : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::filesystem::path> traces = RealTraces();
    if (!traces) GTEST_SKIP() << kNoRealTraces;
    absl::StatusOr<WholeRecording> recording = ImportFile(*traces / "nsys_2gpu.sqlite.gz");
    ASSERT_TRUE(recording.ok()) << recording.status();
    recording_ = *std::move(recording);
  }

  // Records and the sum of their durations.
  std::pair<int64_t, int64_t> Sums(ActivityKind kind) const {
    std::pair<int64_t, int64_t> sums;
    for (const DeviceActivity& activity : recording_.activities) {
      if (activity.kind != kind) continue;
      ++sums.first;
      sums.second += activity.end_ns - activity.start_ns;
    }
    return sums;
  }

  WholeRecording recording_;
};

TEST_F(RealExport, HoldsAllRecordsOfTheFile) {
  EXPECT_THAT(recording_.notes,
              ElementsAre(HasSubstr("366 waits of streams and events left out")));
  ASSERT_EQ(recording_.spans.size(), 19118u);
  const auto operations =
      std::count_if(recording_.spans.begin(), recording_.spans.end(),
                    [](const Span& span) { return span.kind == SpanKind::kOperation; });
  EXPECT_EQ(operations, 18656);
  EXPECT_EQ(Sums(ActivityKind::kRuntimeCall), std::pair(int64_t{6392}, int64_t{366524413}));
  EXPECT_EQ(Sums(ActivityKind::kDriverCall), std::pair(int64_t{1074}, int64_t{3644576}));
  EXPECT_EQ(Sums(ActivityKind::kKernel), std::pair(int64_t{4010}, int64_t{535200650}));
  EXPECT_EQ(Sums(ActivityKind::kCopy), std::pair(int64_t{1020}, int64_t{5692087}));
  EXPECT_EQ(Sums(ActivityKind::kFill), std::pair(int64_t{269}, int64_t{213408}));
  EXPECT_EQ(Sums(ActivityKind::kOverhead), std::pair(int64_t{6}, int64_t{2009505}));
  EXPECT_EQ(recording_.base_ns, 60111430336);
  EXPECT_EQ(recording_.threads.at(GlobalId(144, 245)).process_name, "python3");
}

TEST_F(RealExport, AttributesDeviceWorkAsAPlainSearchForTheEnclosingRangeDoes) {
  const query::Table table = TableOf(recording_, query::OPERATIONS);
  EXPECT_EQ(table.operations_size(), 93);
  EXPECT_EQ(table.device_time_total_ns(), 541106145);
  EXPECT_EQ(table.self_device_time_total_ns(), 541106145 - 18700516);
  EXPECT_THAT(table.notes(),
              ElementsAre("device work without an operation: 31 records, 18.701ms",
                          HasSubstr("366 waits of streams and events left out")));
  const std::map<std::string, int64_t> times = DeviceTimes(recording_);
  EXPECT_EQ(times.at("flash_attn::_flash_attn_forward"), 256586234);
  EXPECT_EQ(times.at("aten::copy_"), 69869064);
  EXPECT_EQ(times.at("aten::addmm"), 57807320);
  EXPECT_EQ(times.at("aten::mul"), 42979045);
  EXPECT_EQ(times.at("ncclGroupEnd"), 25179513);
}

TEST_F(RealExport, HasTheKernelsCopiesAndCallsThatSqlCounts) {
  const query::Table kernels = TableOf(recording_, query::KERNELS);
  EXPECT_EQ(kernels.kernels_size(), 27 + 2 + 1);
  EXPECT_EQ(kernels.kernels(0).count(), 68);
  EXPECT_EQ(kernels.kernels(0).total_ns(), 272317378);
  EXPECT_EQ(kernels.kernels(1).name(), "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN");
  EXPECT_EQ(kernels.kernels(1).total_ns(), 38226009);
  EXPECT_EQ(kernels.kernels(1).min_ns(), 97696);
  EXPECT_EQ(kernels.kernels(1).max_ns(), 527903);

  const query::Table copies = TableOf(recording_, query::COPIES);
  ASSERT_EQ(copies.copies_size(), 3);
  EXPECT_EQ(copies.copies(0).direction(), "DtoD");
  EXPECT_EQ(copies.copies(0).count(), 986);
  EXPECT_EQ(copies.copies(0).bytes(), 8046134272);
  EXPECT_EQ(copies.copies(0).total_ns(), 5665431);
  EXPECT_EQ(copies.copies(2).source_memory(), "pageable");
  EXPECT_EQ(copies.copies(2).bytes(), 272);

  const query::Table processes = TableOf(recording_, query::PROCESSES);
  ASSERT_EQ(processes.processes_size(), 2);
  EXPECT_EQ(processes.processes(0).pid(), 144);
  EXPECT_EQ(processes.processes(0).device_time_ns(), 273830229);
  EXPECT_EQ(processes.processes(1).device_time_ns(), 267275916);

  const query::Table calls = TableOf(recording_, query::API);
  EXPECT_EQ(calls.calls(0).name(), "cudaStreamSynchronize");
  EXPECT_EQ(calls.calls(0).total_ns(), 324534733);
  EXPECT_EQ(calls.calls(1).name(), "cudaLaunchKernel");
  EXPECT_EQ(calls.calls(1).count(), 3604);
}

}  // namespace
}  // namespace tp

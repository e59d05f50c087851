// Real traces of two ranks, merged: each rank's numbers are those of its own trace.
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/export/merge.h"
#include "analyzer/import/import.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/same_summary.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

// What `merged` holds of the rank whose processes are named so. Its device, whose number there is
// returned in `new_device`, was number `device` in its own trace.
WholeRecording OfRank(const WholeRecording& merged, const std::string& label, int32_t device,
                      int32_t* new_device) {
  WholeRecording one;
  const auto text = [&](StringId id) { return one.strings->Intern(merged.strings->Text(id)); };
  const auto is_its_own = [&](int64_t thread) {
    return merged.threads.at(thread).process_name.rfind(label + ": ", 0) == 0;
  };
  for (Span span : merged.spans) {
    if (!is_its_own(span.thread)) continue;
    for (StringId* id : {&span.name, &span.shapes, &span.dtypes, &span.stack, &span.call_site}) {
      *id = text(*id);
    }
    one.spans.push_back(span);
  }
  std::set<uint64_t> correlations;
  for (const DeviceActivity& call : merged.activities) {
    if (IsHostCall(call.kind) && is_its_own(call.thread)) correlations.insert(call.correlation);
  }
  std::set<int32_t> devices;
  for (const DeviceActivity& work : merged.activities) {
    if (IsDeviceWork(work.kind) && correlations.count(work.correlation) > 0) {
      devices.insert(work.device);
      EXPECT_TRUE(is_its_own(work.thread)) << "device work is said to be another process's";
    }
  }
  EXPECT_EQ(devices.size(), 1u) << "launches of one rank reach the devices of others";
  *new_device = *devices.begin();
  const auto described = merged.descriptions.devices.find(*new_device);
  if (described != merged.descriptions.devices.end()) {
    one.descriptions.devices[device] = described->second;
  }
  for (DeviceActivity activity : merged.activities) {
    const bool is_call = IsHostCall(activity.kind);
    if (is_call ? !is_its_own(activity.thread) : activity.device != *new_device) continue;
    activity.name = text(activity.name);
    if (!is_call) activity.device = device;
    one.activities.push_back(activity);
  }
  return one;
}

class MergedRanks : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<fs::path> traces = RealTraces();
    if (!traces) GTEST_SKIP() << kNoRealTraces;
    traces_ = *traces;
  }
  std::string Path(const std::string& name) const { return traces_ / name; }
  static WholeRecording Imported(const std::string& path) {
    absl::StatusOr<WholeRecording> recording = ImportFile(path);
    EXPECT_TRUE(recording.ok()) << recording.status();
    return recording.ok() ? *std::move(recording) : WholeRecording();
  }
  static WholeRecording Merged(const std::vector<std::string>& paths,
                               std::vector<std::string>* notes) {
    const std::string path = absl::StrCat(testing::TempDir(), "/merged_", getpid(), ".json.gz");
    auto file = OutputFile::Create(path);
    auto merged = MergeTraces(paths, {}, file->get());
    EXPECT_TRUE(merged.ok()) << merged.status();
    EXPECT_TRUE((*file)->Finish().ok());
    if (merged.ok()) *notes = *merged;
    WholeRecording recording = Imported(path);
    fs::remove(path);
    return recording;
  }

  fs::path traces_;
  std::vector<std::string> notes_;
};

TEST_F(MergedRanks, HaveTheNumbersOfTheirOwnTraces) {
  const WholeRecording merged = Merged({Path("ranks_0.json.gz"), Path("ranks_1.json.gz")}, &notes_);
  EXPECT_EQ(notes_, std::vector<std::string>());
  for (const int32_t rank : {0, 1}) {
    SCOPED_TRACE(rank);
    int32_t device = -1;
    const WholeRecording one = OfRank(merged, absl::StrCat("rank ", rank), rank, &device);
    EXPECT_EQ(device, rank) << "a number that no other rank uses need not change";
    const WholeRecording alone = Imported(Path(absl::StrCat("ranks_", rank, ".json.gz")));
    EXPECT_EQ(FirstDifference(AllTables(one, false), AllTables(alone, false)), "");
  }
}

TEST_F(MergedRanks, AreNotMixedUpThoughAllTheirNumbersAreTheSame) {
  // The same trace twice: processes, threads, devices, streams and ids clash without exception.
  for (const char* name : {"ranks_0.json.gz", "h100_vit.json.gz"}) {
    SCOPED_TRACE(name);
    const WholeRecording merged = Merged({Path(name), Path(name)}, &notes_);
    const std::string alone = AllTables(Imported(Path(name)), false);
    int32_t first = -1, second = -1;
    EXPECT_EQ(FirstDifference(AllTables(OfRank(merged, "rank 0", 0, &first), false), alone), "");
    EXPECT_EQ(FirstDifference(AllTables(OfRank(merged, "rank 1", 0, &second), false), alone), "");
    EXPECT_NE(first, second);
  }
}

}  // namespace
}  // namespace tp

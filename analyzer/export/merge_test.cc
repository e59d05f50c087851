#include "analyzer/export/merge.h"

#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Test;

class MergeTest : public Test {
 protected:
  MergeTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~MergeTest() override { fs::remove_all(folder_); }

  std::string Trace(const std::string& text) {
    const std::string path = folder_ / absl::StrCat("trace", traces_.size(), ".json");
    std::ofstream(path) << text;
    traces_.push_back(path);
    return path;
  }
  // The merged trace of all that were written.
  json Merged() {
    auto file = OutputFile::Create(folder_ / "merged.json");
    auto merged = MergeTraces(traces_, {}, file->get());
    EXPECT_TRUE(merged.ok()) << merged.status();
    EXPECT_TRUE((*file)->Finish().ok());
    if (merged.ok()) notes_ = *merged;
    std::stringstream text;
    text << std::ifstream(folder_ / "merged.json").rdbuf();
    text_ = text.str();
    return json::parse(text_);
  }
  absl::Status Refused() {
    auto file = OutputFile::Create(folder_ / "merged.json");
    return MergeTraces(traces_, {}, file->get()).status();
  }

  fs::path folder_ = fs::path(testing::TempDir()) / absl::StrCat("merge_test_", getpid());
  std::vector<std::string> traces_, notes_;
  std::string text_;
};

TEST_F(MergeTest, IdsOfTwoRanksNeverMeetAndBelongTogetherAsBefore) {
  const char* const trace = R"({"traceEvents": [
{"ph": "X", "name": "op", "cat": "cpu_op", "pid": 50, "tid": 50, "ts": 1, "dur": 5, "args": {"External id": 3}},
{"ph": "X", "name": "cudaLaunchKernel", "cat": "cuda_runtime", "pid": 50, "tid": 50, "ts": 2, "dur": 1, "args": {"External id": 3, "correlation": 9}},
{"ph": "X", "name": "kernel", "cat": "kernel", "pid": 0, "tid": 7, "ts": 4, "dur": 1, "args": {"correlation": 9, "device": 0, "stream": 7, "External id": 0}},
{"ph": "i", "name": "[memory]", "pid": 50, "tid": 50, "ts": 4, "args": {"Device Id": 0, "Bytes": 0}},
{"ph": "s", "id": 9, "name": "ac2g", "cat": "ac2g", "pid": 50, "tid": 50, "ts": 2},
{"ph": "f", "id": "9", "name": "ac2g", "cat": "ac2g", "pid": 0, "tid": 7, "ts": 4, "bp": "e"},
{"ph": "n", "id": "0xab", "name": "async", "cat": "c", "pid": 50, "tid": 50, "ts": 4},
{"ph": "M", "name": "process_name", "pid": 50, "tid": 0, "args": {"name": "python"}},
{"ph": "M", "name": "process_sort_index", "pid": 50, "tid": 0, "args": {"sort_index": 50}},
{"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 9}
], "deviceProperties": [{"id": 0, "name": "GPU"}]})";
  Trace(trace);
  Trace(trace);
  const json merged = Merged();
  std::vector<json> ours[2];
  for (const json& event : merged["traceEvents"]) {
    const bool is_second = ours[0].size() == 11;  // Ten events, and a name for the device.
    ours[is_second].push_back(event);
  }
  ASSERT_EQ(ours[1].size(), 11u);
  for (int rank : {0, 1}) {
    SCOPED_TRACE(rank);
    const std::vector<json>& events = ours[rank];
    const int64_t device = rank, host = rank == 0 ? 50 : events[0]["pid"].get<int64_t>();
    const int64_t offset = rank * 9;
    EXPECT_EQ(events[0]["args"]["External id"], 3 + offset);
    EXPECT_EQ(events[1]["args"], json({{"External id", 3 + offset}, {"correlation", 9 + offset}}));
    EXPECT_EQ(events[2]["args"], json({{"correlation", 9 + offset},
                                       {"device", device},
                                       {"stream", 7},
                                       {"External id", 0},
                                       {"process", host}}));
    EXPECT_EQ(events[2]["pid"], device);
    EXPECT_EQ(events[3]["args"]["Device Id"], device);
    EXPECT_EQ(events[4]["id"], 9 + offset);
    EXPECT_EQ(events[5]["id"], 9 + offset);
    EXPECT_EQ(events[6]["id"], absl::StrCat("rank ", rank, ": 0xab"));
    EXPECT_EQ(events[7]["args"]["name"], absl::StrCat("rank ", rank, ": python"));
    EXPECT_EQ(events[8]["args"]["sort_index"], rank * 10000000 + 50);
    EXPECT_EQ(events[9]["pid"], absl::StrCat("(rank ", rank, ")"));
    EXPECT_EQ(events[10]["args"]["name"], absl::StrCat("rank ", rank));
    EXPECT_EQ(events[10]["pid"], device);
    for (size_t i : {0, 1, 3, 4, 6, 7, 8}) EXPECT_EQ(events[i]["pid"], host);
    EXPECT_EQ(events[0]["tid"], 50);
    EXPECT_EQ(merged["deviceProperties"][rank]["id"], device);
    EXPECT_EQ(merged["ranks"][rank]["file"], absl::StrCat("trace", rank, ".json"));
  }
  EXPECT_NE(ours[1][0]["pid"], 50);
}

TEST_F(MergeTest, RanksAreThoseOfTheTracesWhateverTheirOrder) {
  Trace(R"({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a"}}],
            "distributedInfo": {"rank": 3}})");
  Trace(R"({"distributedInfo": {"rank": 1}, "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "b"}}]})");
  const json merged = Merged();
  EXPECT_EQ(merged["traceEvents"][0]["args"]["name"], "rank 3: a");
  EXPECT_EQ(merged["traceEvents"][1]["args"]["name"], "rank 1: b");
  EXPECT_EQ(merged["ranks"][0]["distributedInfo"], json({{"rank", 3}}));
  EXPECT_TRUE(notes_.empty());
}

TEST_F(MergeTest, RanksAreCountedWhereTheTracesDoNotTellThemApart) {
  for (int i : {0, 1}) {
    Trace(R"({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "a"}}],
              "distributedInfo": {"rank": 3}})");
    (void)i;
  }
  const json merged = Merged();
  EXPECT_EQ(merged["traceEvents"][0]["args"]["name"], "rank 0: a");
  EXPECT_EQ(merged["traceEvents"][1]["args"]["name"], "rank 1: a");
  EXPECT_EQ(notes_.size(), 1u);
}

TEST_F(MergeTest, TimesOfDifferentBasesMeetToTheNanosecond) {
  Trace(R"({"traceEvents": [{"ph": "X", "pid": 1, "ts": 4458676522690.655, "dur": 10000000}],
            "baseTimeNanoseconds": 1711964646000000000})");
  Trace(R"({"traceEvents": [{"ph": "X", "pid": 1, "ts": 4458676522690.655, "dur": 10000000}],
            "baseTimeNanoseconds": 1711964646000000001})");
  const json merged = Merged();
  EXPECT_NE(text_.find("\"ts\": 4458676522690.655,"), std::string::npos);
  EXPECT_NE(text_.find("\"ts\": 4458676522690.656,"), std::string::npos);
  EXPECT_EQ(merged["baseTimeNanoseconds"], 1711964646000000000);
}

TEST_F(MergeTest, TimesSince1970MeetThoseOfATraceWithABase) {
  Trace(R"({"traceEvents": [{"ph": "X", "pid": 1, "ts": 5.25, "dur": 10}],
            "baseTimeNanoseconds": 1711964646000000000})");
  Trace(R"({"traceEvents": [{"ph": "X", "pid": 1, "ts": 1711964646000005.25, "dur": 10}]})");
  const json merged = Merged();
  EXPECT_NE(text_.find("\"ts\": 5.25,"), std::string::npos);
  EXPECT_EQ(merged["traceEvents"].dump().find("17119646"), std::string::npos) << text_;
  EXPECT_NE(text_.find("\"ts\": 5.250,"), std::string::npos) << text_;
  EXPECT_EQ(merged["baseTimeNanoseconds"], 1711964646000000000);
  EXPECT_TRUE(notes_.empty());
}

TEST_F(MergeTest, DeviceWorkOfATraceWithOneProcessSaysWhose) {
  const char* const trace = R"({"traceEvents": [
      {"ph": "X", "cat": "cpu_op", "pid": 50, "tid": 1, "ts": 1, "dur": 1, "name": "op"},
      {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "name": "bare"},
      {"ph": "X", "cat": "Kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "name": "with",
       "args": {"stream": 7}},
      {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "name": "told",
       "args": {"process": 51}}]})";
  Trace(trace);
  Trace(trace);
  Trace(R"({"traceEvents": [
      {"ph": "X", "cat": "cpu_op", "pid": 60, "tid": 1, "ts": 1, "dur": 1, "name": "op"},
      {"ph": "X", "cat": "cpu_op", "pid": 61, "tid": 1, "ts": 1, "dur": 1, "name": "op"},
      {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "name": "whose"}]})");
  const json events = Merged()["traceEvents"];
  std::map<std::string, std::set<json>> owners;
  json processes = json::array();
  for (const json& event : events) {
    if (event["ph"] != "X") continue;
    if (event["cat"] == "cpu_op") {
      processes.push_back(event["pid"]);
      EXPECT_FALSE(event.contains("args"));
      continue;
    }
    const bool is_told = event.contains("args") && event["args"].contains("process");
    owners[event["name"]].insert(is_told ? event["args"]["process"] : json());
  }
  EXPECT_EQ(owners["bare"], (std::set<json>{processes[0], processes[1]}));
  EXPECT_EQ(owners["with"], (std::set<json>{processes[0], processes[1]}));
  EXPECT_EQ(owners["told"].count(processes[0]), 0u);
  EXPECT_EQ(owners["whose"], (std::set<json>{json()}));
}

TEST_F(MergeTest, TimesStayWhereTheirBaseIsNotToldAndANoteSaysSo) {
  Trace(R"({"traceEvents": [{"ph": "X", "pid": 1, "ts": 5.25, "dur": 1}],
            "baseTimeNanoseconds": 1711964646000000000})");
  Trace(R"({"traceEvents": [{"ph": "X", "pid": 1, "ts": 16827258982.5, "dur": 1}]})");
  const json merged = Merged();
  EXPECT_NE(text_.find("\"ts\": 5.25,"), std::string::npos);
  EXPECT_NE(text_.find("\"ts\": 16827258982.5,"), std::string::npos);
  EXPECT_FALSE(merged.contains("baseTimeNanoseconds"));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("cannot be compared"), std::string::npos);
}

TEST_F(MergeTest, TracesThatNeverMeetInTimeAreTold) {
  Trace(R"([{"ph": "X", "pid": 1, "ts": 5, "dur": 1}])");
  Trace(R"([{"ph": "X", "pid": 1, "ts": 1682725898236567, "dur": 1}])");
  Merged();
  EXPECT_EQ(notes_.size(), 2u);
}

TEST_F(MergeTest, WhatIsBrokenCostsNoMoreThanItself) {
  Trace(
      "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\xFF\n\", \"pid\": 1, \"args\": {\"x\": "
      "NaN, \"y\": [1, "
      "inf], \"z\": 1.50}}, 5, {\"ph\": \"X\", \"name\": \"b\", \"pid\": 1}, {\"ph\": ");
  const json merged = Merged();
  ASSERT_EQ(merged["traceEvents"].size(), 3u);
  EXPECT_EQ(merged["traceEvents"][0]["name"], "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(merged["traceEvents"][0]["args"], json({{"x", nullptr}, {"y", nullptr}, {"z", 1.5}}));
  EXPECT_EQ(merged["traceEvents"][1]["name"], "b");
  EXPECT_EQ(notes_.size(), 3u);  // Cut off, one element unread, two values lost.
}

TEST_F(MergeTest, NamesThatAreNoTextAreKeptAsFarAsTheyAre) {
  Trace(
      R"({"traceEvents": [{"ph": "X", "name": "half \ud800 pair", "args": {"path": "C:\git"}}]})");
  const json merged = Merged();
  const json& event = merged["traceEvents"][0];
  EXPECT_EQ(event["name"], "half \uFFFD pair");
  EXPECT_EQ(event["args"]["path"], "C:\\git");
  EXPECT_TRUE(notes_.empty()) << notes_.front();
}

TEST_F(MergeTest, WhatIsNotRenumberedStaysAsItIsWritten) {
  Trace(
      R"({"traceEvents": [{"ph":"X","cat":"k\u00e9","pid":1,"ts":1.50,"dur":1e3,"args":{"grid":[ 1,2 ],"o":{"a": 1.0}}}]})");
  Merged();
  EXPECT_NE(text_.find(R"({"ph": "X", "cat": "k\u00e9", "pid": 1, "ts": 1.50, "dur": 1e3, )"
                       R"("args": {"grid": [ 1,2 ], "o": {"a": 1.0}}})"),
            std::string::npos)
      << text_;
}

TEST_F(MergeTest, AFileThatIsNoTraceIsNamed) {
  Trace(R"({"traceEvents": []})");
  const std::string path = Trace("SQLite format 3");
  EXPECT_EQ(Refused(), absl::InvalidArgumentError(path + " is no trace: the file is no JSON"));
  traces_[1] = folder_ / "none.json";
  EXPECT_EQ(Refused().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(MergeTest, ProgressGoesOnWhileATraceIsReadForTheFirstTime) {
  std::string events = R"({"traceEvents": [{"ph": "X", "pid": 1})";
  for (int i = 0; i < 100'000; ++i) events += R"(, {"ph": "X", "pid": 1})";
  Trace(events + "]}");
  std::vector<double> parts;
  auto file = OutputFile::Create(folder_ / "merged.json");
  ASSERT_TRUE(MergeTraces(
                  traces_, [&](double part) { parts.push_back(part); }, file->get())
                  .ok());
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
  const auto in_first_half =
      std::count_if(parts.begin(), parts.end(), [](double part) { return part > 0 && part < 0.5; });
  EXPECT_GT(in_first_half, 3);
  EXPECT_EQ(parts.back(), 1);
}

TEST_F(MergeTest, AProcessThatIsNoWordIsNamedNowhere) {
  Trace(R"([{"ph": "X", "pid": ["a"], "ts": 1}])");
  EXPECT_EQ(Merged()["traceEvents"].size(), 1u);
}

long PeakKiB() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST_F(MergeTest, MemoryDoesNotGrowWithTheTraces) {
  // 40 MB of events, which gzip packs well.
  for (int trace : {0, 1}) {
    const std::string path = folder_ / absl::StrCat("large", trace, ".json.gz");
    gzFile file = gzopen(path.c_str(), "wb1");
    gzputs(file, "{\"traceEvents\": [");
    std::string events;
    for (int i = 0; i < 1000; ++i) {
      absl::StrAppend(&events, i > 0 ? "," : "", R"({"ph": "X", "name": "kernel", "pid": 0, )",
                      R"("tid": 7, "ts": )", i, R"(, "dur": 1, "args": {"correlation": )", i + 1,
                      "}}\n");
    }
    for (int i = 0; i < 250; ++i) {
      if (i > 0) gzputc(file, ',');
      gzwrite(file, events.data(), static_cast<unsigned>(events.size()));
    }
    gzputs(file, "]}");
    gzclose(file);
    traces_.push_back(path);
  }
  const long before = PeakKiB();
  auto file = OutputFile::Create(folder_ / "merged.json.gz");
  ASSERT_TRUE(MergeTraces(traces_, {}, file->get()).ok());
  ASSERT_TRUE((*file)->Finish().ok());
  EXPECT_LT(PeakKiB() - before, 16 << 10);
}

}  // namespace
}  // namespace tp

// What the golden traces do not tell of the writer; tests/golden compares the rest.
#include "analyzer/export/chrome_trace.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "analyzer/model/frames.h"
#include "analyzer/summarize/whole_summary.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tp {
namespace {

using nlohmann::json;

class ChromeTraceTest : public testing::Test {
 protected:
  Span* AddSpan(std::string_view name, int64_t start_ns, int64_t end_ns) {
    Span span;
    span.id = recording_.spans.size();
    span.name = recording_.strings->Intern(name);
    span.start_ns = start_ns;
    span.end_ns = end_ns;
    recording_.spans.push_back(span);
    return &recording_.spans.back();
  }
  DeviceActivity* Add(ActivityKind kind, int64_t start_ns, int64_t end_ns, uint64_t correlation) {
    DeviceActivity activity;
    activity.kind = kind;
    activity.name = recording_.strings->Intern("record");
    activity.start_ns = start_ns;
    activity.end_ns = end_ns;
    activity.correlation = correlation;
    if (IsOnHost(kind)) activity.device = -1;
    recording_.activities.push_back(activity);
    return &recording_.activities.back();
  }
  std::string Text(const ChromeTraceOptions& options = {}) {
    const std::string path = absl::StrCat(testing::TempDir(), "/chrome_trace_", getpid(), ".json");
    auto file = OutputFile::Create(path);
    WriteChromeTrace(recording_, Summarize(recording_), options, file->get());
    EXPECT_TRUE((*file)->Finish().ok());
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    unlink(path.c_str());
    return text.str();
  }
  std::vector<json> Events(const std::string& phase, const std::string& category) {
    std::vector<json> events;
    const json trace = json::parse(Text());
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] == phase && event.value("cat", "") == category) events.push_back(event);
    }
    return events;
  }

  WholeRecording recording_;
};

constexpr ActivityKind kKernel = ActivityKind::kKernel;
constexpr ActivityKind kRuntime = ActivityKind::kRuntimeCall;

TEST_F(ChromeTraceTest, AnArrowRunsFromTheLaunchToEachOfItsWork) {
  Add(kRuntime, 10, 20, 5);
  Add(kKernel, 30, 40, 5);
  Add(kKernel, 40, 50, 5);
  Add(kKernel, 60, 70, 99);  // Nobody launched it.
  const std::vector<json> starts = Events("s", "ac2g"), ends = Events("f", "ac2g");
  ASSERT_EQ(starts.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(starts[0]["ts"], 0.010);
  EXPECT_EQ(starts[1]["ts"], 0.010);
  EXPECT_EQ(ends[0]["ts"], 0.030);
  EXPECT_EQ(ends[1]["ts"], 0.040);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_NE(starts[0]["id"], starts[1]["id"]);
}

TEST_F(ChromeTraceTest, NoArrowRunsBackInTime) {
  Add(kRuntime, 50, 60, 5);
  Add(kKernel, 30, 40, 5);
  EXPECT_TRUE(Events("s", "ac2g").empty());
}

TEST_F(ChromeTraceTest, TimesAreExactFarFromTheBaseAndBeforeIt) {
  recording_.base_ns = 1682725898000000000;
  AddSpan("a", 1682725898000000000 - 1, 1682725898000000000 + 1);
  AddSpan("b", 1682725898000000000 + 123456789012345, 1682725898000000000 + 123456789012346);
  const std::string text = Text();
  EXPECT_NE(text.find("\"ts\": -0.001, \"dur\": 0.002"), std::string::npos);
  EXPECT_NE(text.find("\"ts\": 123456789012.345, \"dur\": 0.001"), std::string::npos);
}

TEST_F(ChromeTraceTest, NamesOfAnyBytesAreValidJson) {
  recording_.threads[0] = {1, 1, "p\xFF\n", "t\xFF\x01"};
  Span* span = AddSpan("a\xFF\x01\"\\", 0, 1);
  span->stack = recording_.strings->Intern(JoinFrames({"f\xFF;\n", "g"}));
  span->call_site = recording_.strings->Intern("\xFE.py");
  span->shapes = recording_.strings->Intern("]] nonsense");
  span->dtypes = recording_.strings->Intern("{]");
  recording_.device_kind = "\xFF";
  ChromeTraceOptions options;
  options.torch_compat = true;
  options.trace_name = "\xFF";
  const json trace = json::parse(Text(options), nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(trace.is_object());
  const json slice = trace["traceEvents"][5];
  EXPECT_EQ(slice["name"], "a\xEF\xBF\xBD\x01\"\\");
  EXPECT_EQ(slice["args"]["Input type"], json::array());
  EXPECT_EQ(slice["args"]["Call stack"], "f\xEF\xBF\xBD:\n;g");
  EXPECT_EQ(slice["args"]["stack"][0], "f\xEF\xBF\xBD;\n");
}

TEST_F(ChromeTraceTest, ASpanSaysAllThatIsKnownOfIt) {
  Span* span = AddSpan("a", 0, 0);
  span->flops = 7;
  span->given_device_ns = 123;
  span->given_kernel_count = 2;
  span->asynchronous = true;
  const json args = Events("X", "user_annotation")[0]["args"];
  EXPECT_EQ(args, json::parse(R"json({"GPU duration (ms)": 0.0001, "Kernels": 2, "External id": 1,
                                  "Duration (ns)": 0, "Flops": 7, "Given device time (ns)": 123,
                                  "Asynchronous": true
})json"));
}

TEST_F(ChromeTraceTest, ASpanThatIsStillOpenEndsWithTheRecording) {
  AddSpan("a", 0, kStillOpen);
  AddSpan("b", 10, 5000);
  const json event = Events("X", "user_annotation")[0];
  EXPECT_EQ(event["dur"], 5.0);
  EXPECT_EQ(event["args"]["Still open"], true);
}

TEST_F(ChromeTraceTest, DeviceWorkAndCallsSayAllThatIsKnownOfThem) {
  AddSpan("a", 0, 100);
  DeviceActivity* call = Add(kRuntime, 10, 20, uint64_t{1} << 60);
  call->operation = 0;
  call->cbid = 211;
  call->result = 2;
  DeviceActivity* fill = Add(ActivityKind::kFill, 30, 40, uint64_t{1} << 60);
  fill->device = 3;
  fill->context = 2;
  fill->stream = 13;
  fill->bytes = 64;
  fill->value = 255;
  EXPECT_EQ(Events("X", "cuda_runtime")[0]["args"], json::parse(R"json(
      {"correlation": "1152921504606846976", "External id": 1, "cbid": 211, "result": 2})json"));
  EXPECT_EQ(Events("X", "gpu_memset")[0]["args"], json::parse(R"json(
      {"correlation": "1152921504606846976", "External id": 1, "bytes": 64, "value": 255,
       "device": 3, "context": 2, "stream": 13})json"));
}

TEST_F(ChromeTraceTest, WhatIsNoAnnotationIsNotCalledOne) {
  Add(ActivityKind::kGraph, 10, 20, 5);
  Add(ActivityKind::kSynchronization, 10, 20, 5);
  Add(ActivityKind::kCompilation, 10, 20, 5);
  Add(ActivityKind::kOverhead, 10, 20, 5);
  Add(ActivityKind::kDeviceAnnotation, 10, 20, 5);
  for (const char* category :
       {"gpu_graph", "cuda_sync", "compilation", "overhead", "gpu_user_annotation"}) {
    const std::vector<json> events = Events("X", category);
    ASSERT_EQ(events.size(), 1u) << category;
    const bool is_on_device = std::string_view(category).starts_with("gpu");
    EXPECT_EQ(events[0]["args"].contains("stream"), is_on_device) << category;
  }
}

TEST_F(ChromeTraceTest, WhatSpansCarryIsInAnObjectOfTheirs) {
  AddSpan("plain", 0, 10);
  const uint64_t span = AddSpan("reduce", 10, 20)->id;
  const auto value = [&](const char* name, ValueType type, uint64_t bits) {
    recording_.span_values.push_back({span, recording_.strings->Intern(name), type, bits});
  };
  value("bytes", ValueType::kUnsigned, 1);
  value("root", ValueType::kSigned, static_cast<uint64_t>(int64_t{-3}));
  value("ratio", ValueType::kReal, std::bit_cast<uint64_t>(0.1));
  value("nothing", ValueType::kReal, std::bit_cast<uint64_t>(std::nan("")));
  value("by \"name\"", ValueType::kText, recording_.strings->Intern("Sum"));
  value("bytes", ValueType::kUnsigned, 4096);
  const std::vector<json> events = Events("X", "user_annotation");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[0]["args"].contains("Values"));
  EXPECT_EQ(events[1]["args"]["Values"],
            json::parse(R"json({"root": -3, "ratio": 0.1, "nothing": null,
                                "by \"name\"": "Sum", "bytes": 4096})json"));
}

TEST_F(ChromeTraceTest, ACountersValuesAreCounterEventsOfItsProcess) {
  AddSpan("a", 0, 10)->thread = 7;
  const StringId loss = recording_.strings->Intern("loss");
  recording_.counters.push_back({2500, 7, loss, 0.25});
  recording_.counters.push_back({2600, 8, loss, std::nan("")});
  const std::vector<json> events = Events("C", "counter");
  ASSERT_EQ(events.size(), 1u) << "what is no number cannot be drawn";
  EXPECT_EQ(events[0]["name"], "loss");
  EXPECT_EQ(events[0]["ts"], 2.5);
  EXPECT_EQ(events[0]["args"], json::parse(R"({"value": 0.25})"));
  EXPECT_EQ(events[0]["pid"], Events("X", "user_annotation")[0]["pid"]);
}

TEST_F(ChromeTraceTest, PyTorchsToolsFindTheRank) {
  recording_.rank = 3;
  for (const bool torch_compat : {false, true}) {
    ChromeTraceOptions options;
    options.torch_compat = torch_compat;
    // HolisticTraceAnalysis looks for this text, blank included.
    EXPECT_NE(Text(options).find("\"distributedInfo\": {\"rank\": 3}"), std::string::npos);
  }
}

TEST_F(ChromeTraceTest, PyTorchsToolsFindTheDevices) {
  DeviceDescription& device = recording_.descriptions.devices[1];
  device.name = "NVIDIA H200\xFF";
  device.memory_bytes = uint64_t{141} << 30;
  device.compute_major = 9;
  device.threads_per_warp = 32;
  device.multiprocessors = 132;
  device.shared_bytes_per_multiprocessor = 233472;
  ChromeTraceOptions options;
  options.torch_compat = true;
  EXPECT_EQ(json::parse(Text(options))["deviceProperties"], json::parse(R"json([
      {"id": 1, "name": "NVIDIA H200\ufffd", "totalGlobalMem": 151397597184, "computeMajor": 9,
       "computeMinor": 0, "warpSize": 32, "numSms": 132, "sharedMemPerMultiprocessor": 233472}])json"));
}

TEST_F(ChromeTraceTest, ProgressEndsWithAllOfIt) {
  for (int i = 0; i < 10000; ++i) AddSpan("a", i, i + 1);
  std::vector<double> told;
  ChromeTraceOptions options;
  options.progress = [&](double part) { told.push_back(part); };
  Text(options);
  ASSERT_GE(told.size(), 3u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1);
}

}  // namespace
}  // namespace tp

// Every golden case's exports, compared with what comes out of the analyzer: folded stacks, Chrome
// traces in both flavours, and device records with their operations.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/correlate/activity_links.h"
#include "analyzer/export/chrome_trace.h"
#include "analyzer/export/folded_stacks.h"
#include "analyzer/summarize/whole_summary.h"
#include "gtest/gtest.h"
#include "tests/golden/golden_case.h"

namespace tp {
namespace {

using nlohmann::json;

// The row that an event is drawn in.
using RowKey = std::pair<json, json>;
RowKey RowOf(const json& event) { return {event["pid"], event["tid"]}; }

// True for what lies on a row of the device.
bool IsOnDevice(const json& event) {
  return event["cat"] == "kernel" || event["cat"] == "gpu_memcpy" || event["cat"] == "gpu_memset";
}

// What our events say beyond what is expected, by category; all of it is said in the tests below.
std::set<std::string> AdditionalArguments(const json& event) {
  if (event["name"] == "[memory]") return {"Addr"};
  if (IsOnDevice(event)) return {"device", "context", "stream", "value"};
  if (event["cat"] == "cuda_runtime" || event["cat"] == "cuda_driver") return {"cbid"};
  return {"External id", "Call stack",   "Flops", "Given device time (ns)",
          "Backward",    "Duration (ns)"};
}

class Comparison {
 public:
  explicit Comparison(const std::filesystem::path& folder)
      : golden_(folder), summary_(Summarize(golden_.recording())) {}

  void CompareAll() {
    for (const GoldenCase::Output& output : golden_.outputs()) {
      SCOPED_TRACE(output.file);
      if (output.kind == "errors") {
        CompareErrors(json::parse(golden_.Expected(output)));
      } else if (WhoCompares(output.call) == ComparedBy::kExports) {
        Compare(output);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }

 private:
  void Compare(const GoldenCase::Output& output) {
    if (output.call == "device_activities") {
      CompareActivities(RowsOf(json::parse(golden_.Expected(output))),
                        output.options["device_name"]);
    } else if (output.call == "EventList.export_stacks") {
      CompareStacks(output);
    } else {
      CompareTrace(json::parse(golden_.Expected(output)), output.options["torch_compat"]);
    }
  }

  // What `write` writes into a file.
  template <typename Write>
  static std::string Written(Write write) {
    const std::string path = absl::StrCat(testing::TempDir(), "/golden_export_", getpid(), ".out");
    auto file = OutputFile::Create(path);
    write(file->get());
    EXPECT_TRUE((*file)->Finish().ok());
    std::string text = ReadFile(path);
    std::filesystem::remove(path);
    return text;
  }

  absl::StatusOr<std::vector<FoldedStack>> Fold(const std::string& metric) const {
    return FoldStacks(golden_.recording(), summary_, metric);
  }

  void CompareStacks(const GoldenCase::Output& output) {
    auto stacks = Fold(output.options["metric"]);
    ASSERT_TRUE(stacks.ok()) << stacks.status();
    if (output.kind == "stacks") {
      EXPECT_EQ(Written([&](OutputFile* out) { WriteFoldedStacks(*stacks, out); }),
                golden_.Expected(output));
      return;
    }
    ASSERT_EQ(output.kind, "stack values");
    json values = json::array();
    for (const FoldedStack& stack : *stacks) {
      values.push_back({stack.frames, static_cast<double>(stack.value_ns) / 1000.0});
    }
    EXPECT_EQ(values, json::parse(golden_.Expected(output)));
  }

  void CompareActivities(const std::vector<NamedColumns>& expected, const std::string& device) {
    const std::vector<DeviceActivity>& activities = golden_.recording().activities;
    const std::vector<ActivityLink> links = LinkActivities(activities);
    ASSERT_EQ(expected.size(), activities.size());
    for (size_t i = 0; i < activities.size(); ++i) {
      SCOPED_TRACE(i);
      const DeviceActivity& activity = activities[i];
      const std::string name(golden_.recording().strings->Text(activity.name));
      const char kind = static_cast<char>(activity.kind);
      std::optional<uint64_t> operation;
      if (links[i].operation != kNoOperation) operation = golden_.slot(links[i].operation);
      static const std::map<char, std::string> kTypes = {
          {'k', "gpu_kernel"},   {'m', "gpu_memcpy"},  {'s', "gpu_memset"},
          {'r', "cuda_runtime"}, {'d', "cuda_driver"}, {'a', "gpu_user_annotation"}};
      CompareRow(
          {{"index", i},
           {"name", name},
           {"kind", std::string(1, kind)},
           {"correlation_id", activity.correlation},
           {"linked_correlation_id", operation.value_or(0)},
           {"op_slot", operation ? json(*operation) : json()},
           {"activity_type", kTypes.at(kind)},
           {"device_type", IsDeviceWork(activity.kind) ? UpperCase(device) : "CPU"},
           {"start_ns", activity.start_ns},
           {"end_ns", activity.end_ns},
           {"duration_us", static_cast<double>(activity.end_ns - activity.start_ns) / 1000.0},
           {"repr", absl::StrFormat("<DeviceActivity %c %s>", kind, name.substr(0, 32))}},
          expected[i]);
    }
  }

  static std::string UpperCase(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(c));
    return text;
  }

  void CompareTrace(const json& expected, bool torch_compat) {
    ChromeTraceOptions options;
    options.torch_compat = torch_compat;
    options.trace_name = "TRACE_NAME";
    options.host_name = "HOST_NAME";
    options.trace_id = "TRACE_ID";
    options.unnamed_process = "python";
    options.first_id = 0;
    const json actual = json::parse(Written([&](OutputFile* out) {
      WriteChromeTrace(golden_.recording(), Summarize(golden_.recording()), options, out);
    }));
    json actual_rest = actual, expected_rest = expected;
    actual_rest.erase("traceEvents");
    // Say how ours are to be read.
    EXPECT_EQ(actual_rest.value("deviceKind", ""), golden_.recording().device_kind);
    actual_rest.erase("deviceKind");
    actual_rest.erase("externalIds");
    expected_rest.erase("traceEvents");
    EXPECT_EQ(actual_rest, expected_rest);
    CompareProcesses(actual["traceEvents"], expected["traceEvents"]);
    CompareEvents(actual["traceEvents"], expected["traceEvents"]);
    CheckArrows(actual["traceEvents"], expected["traceEvents"]);
  }

  // The metadata of processes: all but their pids.
  static void CompareProcesses(const json& actual, const json& expected) {
    const auto processes = [](const json& events) {
      json found = json::array();
      for (json event : events) {
        if (event["ph"] != "M" || event["name"].get<std::string>().rfind("process_", 0) != 0) {
          continue;
        }
        event.erase("pid");
        CompareTimes(&event);
        found.push_back(event);
      }
      return found;
    };
    EXPECT_EQ(processes(actual), processes(expected));
  }

  // Times as whole ns: what is expected has been through a double.
  static void CompareTimes(json* event) {
    for (const char* key : {"ts", "dur"}) {
      if (event->contains(key)) {
        (*event)[key] = std::llround((*event)[key].get<double>() * 1000);
      }
    }
  }

  static std::vector<json> DrawnEvents(const json& events) {
    std::vector<json> drawn;
    for (const json& event : events) {
      if (event["ph"] == "X" || event["ph"] == "i") drawn.push_back(event);
    }
    return drawn;
  }

  void CompareEvents(const json& actual_events, const json& expected_events) {
    const std::vector<json> actual = DrawnEvents(actual_events);
    const std::vector<json> expected = DrawnEvents(expected_events);
    ASSERT_EQ(actual.size(), expected.size());
    const std::vector<ActivityLink> links = LinkActivities(golden_.recording().activities);
    const size_t spans = golden_.recording().spans.size();
    std::map<RowKey, RowKey> expected_row_of;
    std::map<RowKey, std::string> expected_names = RowNames(expected_events);
    std::map<RowKey, std::string> actual_names = RowNames(actual_events);
    for (size_t i = 0; i < actual.size(); ++i) {
      SCOPED_TRACE(i);
      json ours = actual[i], theirs = expected[i];
      if (ours["ph"] == "X") {
        for (const std::string& argument : AdditionalArguments(ours)) {
          if (!theirs["args"].contains(argument)) ours["args"].erase(argument);
        }
        // Ours name the operation whoever knows of it, theirs only if the record itself does.
        if (IsOnDevice(ours) || ours["args"].contains("cbid")) {
          const uint64_t operation = links.at(i - spans).operation;
          EXPECT_EQ(ours["args"].value("External id", kNoOperation), operation);
          if (!theirs["args"].contains("External id")) ours["args"].erase("External id");
        }
        ours["args"].erase("cbid");
        CheckRow(ours, theirs, &expected_row_of);
        if (expected_names.count(RowOf(theirs)) > 0) {
          // A stream may take several rows.
          EXPECT_EQ(actual_names[RowOf(ours)].rfind(expected_names[RowOf(theirs)], 0), 0u);
        }
      }
      for (json* event : {&ours, &theirs}) {
        CompareTimes(event);
        event->erase("pid");
        event->erase("tid");
      }
      EXPECT_EQ(ours, theirs);
    }
  }

  // What is in one row of ours is in one row of theirs, but for host calls, which share the row of
  // their thread's operations.
  static void CheckRow(const json& ours, const json& theirs,
                       std::map<RowKey, RowKey>* expected_row_of) {
    const bool is_call = ours["cat"] == "cuda_runtime" || ours["cat"] == "cuda_driver";
    if (is_call || ours["name"] == "[memory]") return;
    const auto [row, is_new] = expected_row_of->emplace(RowOf(ours), RowOf(theirs));
    EXPECT_EQ(row->second, RowOf(theirs));
  }

  static std::map<RowKey, std::string> RowNames(const json& events) {
    std::map<RowKey, std::string> names;
    for (const json& event : events) {
      if (event["name"] == "thread_name") names[RowOf(event)] = event["args"]["name"];
    }
    return names;
  }

  // Each arrow that is expected, by the moment of its end, and each of ours from a slice to one.
  static void CheckArrows(const json& actual, const json& expected) {
    std::set<std::pair<RowKey, double>> slices;
    std::map<json, std::pair<json, json>> arrows;
    for (const json& event : actual) {
      if (event["ph"] == "X") slices.insert({RowOf(event), event["ts"].get<double>()});
      if (event["ph"] == "s") arrows[event["id"]].first = event;
      if (event["ph"] == "f") arrows[event["id"]].second = event;
    }
    std::multiset<int64_t> ends;
    for (const auto& [id, arrow] : arrows) {
      for (const json& end : {arrow.first, arrow.second}) {
        ASSERT_FALSE(end.is_null()) << id;
        EXPECT_EQ(slices.count({RowOf(end), end["ts"].get<double>()}), 1u) << end;
      }
      ends.insert(std::llround(arrow.second["ts"].get<double>() * 1000));
    }
    for (const json& event : expected) {
      if (event["ph"] != "f") continue;
      auto end = ends.find(std::llround(event["ts"].get<double>() * 1000));
      ASSERT_NE(end, ends.end()) << event;
      ends.erase(end);
    }
  }

  void CompareErrors(const json& errors) {
    for (const json& error : errors) {
      if (WhoCompares(error["call"]) != ComparedBy::kExports) continue;
      ASSERT_EQ(error["call"], "EventList.export_stacks");
      auto stacks = Fold(error["options"]["metric"]);
      ASSERT_FALSE(stacks.ok()) << error;
      EXPECT_EQ(
          std::string(stacks.status().message()).rfind(error["message"].get<std::string>(), 0), 0u)
          << stacks.status() << " for " << error;
    }
  }

  GoldenCase golden_;
  Summary summary_;
};

class Exports : public EveryCase {};

TEST_P(Exports, AreAsExpected) { Comparison(folder()).CompareAll(); }

INSTANTIATE_TEST_SUITE_P(Golden, Exports, testing::ValuesIn(AllCases()), TestName);

}  // namespace
}  // namespace tp

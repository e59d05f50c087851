#include "tests/golden/golden_case.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <unordered_map>

#include "analyzer/model/frames.h"

namespace tp {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kData = "tests/golden/data";
constexpr std::string_view kRealPrefix = "real/";

std::string ShapesOf(const json& shapes) {
  std::string text;
  for (char c : shapes.dump()) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

bool IsWork(const json& record) {
  const std::string& kind = record[1].get_ref<const std::string&>();
  return kind == "k" || kind == "m" || kind == "s";
}

// A folder of the files that are too large for the project, if it is there.
std::optional<fs::path> InShared(const char* folder) {
  fs::path shared;
  if (const char* named = std::getenv("TP_SHARED"); named != nullptr && *named != '\0') {
    shared = named;
  } else {
    // Data files are links into the workspace.
    fs::path source = fs::canonical(fs::path(kData) / "tiny/one_op/case.json");
    for (int up = 0; up < 6; ++up) source = source.parent_path();
    shared = source.parent_path() / "shared";
  }
  std::error_code error;
  if (!fs::is_directory(shared / folder, error)) return std::nullopt;
  return shared / folder;
}

}  // namespace

std::string ReadFile(const fs::path& path) {
  // Reads plain files as they are.
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path.string());
  std::string text;
  char buffer[1 << 16];
  int got;
  while ((got = gzread(file, buffer, sizeof(buffer))) > 0) text.append(buffer, got);
  gzclose(file);
  if (got < 0) throw std::runtime_error("cannot read " + path.string());
  return text;
}

std::vector<std::string> MadeUpCases() {
  std::vector<std::string> names;
  for (const char* tier : {"tiny", "random"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(kData) / tier)) {
      names.push_back(std::string(tier) + "/" + entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path MadeUpCase(const std::string& name) { return fs::path(kData) / name; }

std::optional<fs::path> RealCases() { return InShared("golden/real"); }
std::optional<fs::path> RealTraces() { return InShared("traces"); }

void EveryCase::SetUp() {
  const std::string& name = GetParam();
  if (!name.starts_with(kRealPrefix)) {
    folder_ = MadeUpCase(name);
    return;
  }
  const std::optional<fs::path> real = RealCases();
  if (!real) GTEST_SKIP() << kNoRealTraces;
  folder_ = *real / name.substr(kRealPrefix.size());
}

std::vector<std::string> RealCaseNames() {
  std::vector<std::string> names;
  for (const std::string& name : kRealCases) names.push_back(std::string(kRealPrefix) + name);
  return names;
}

std::vector<std::string> AllCases() {
  std::vector<std::string> names = MadeUpCases();
  for (const std::string& name : RealCaseNames()) names.push_back(name);
  return names;
}

ComparedBy WhoCompares(const std::string& call) {
  for (const char* export_call :
       {"EventList.export_chrome_trace", "EventList.export_stacks", "device_activities"}) {
    if (call == export_call) return ComparedBy::kExports;
  }
  for (const char* table_call :
       {"EventList.table", "EventList.key_averages(...).table", "EventList.key_averages",
        "EventList.total_average", "EventList.function_events", "EventList.device_kernels",
        "EventList.device_kernels(...).table"}) {
    if (call == table_call) return ComparedBy::kTables;
  }
  ADD_FAILURE() << "no test compares the call " << call;
  return ComparedBy::kTables;
}

std::vector<NamedColumns> RowsOf(const json& file) {
  std::vector<NamedColumns> rows;
  for (const json& values : file["rows"]) {
    NamedColumns& row = rows.emplace_back();
    for (size_t i = 0; i < values.size(); ++i) row[file["columns"][i]] = values[i];
  }
  return rows;
}

void CompareRow(const NamedColumns& actual, const NamedColumns& expected) {
  for (const auto& [column, value] : expected) {
    auto found = actual.find(column);
    if (found == actual.end()) {
      ADD_FAILURE() << "no test compares the column " << column;
    } else if (value.is_number_float() && found->second.is_number()) {
      const double number = value.get<double>();
      EXPECT_NEAR(found->second.get<double>(), number, std::abs(number) * 1e-9) << column;
    } else {
      EXPECT_EQ(found->second, value) << column;
    }
  }
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

std::vector<std::string> GoldenCase::ExpectedFiles() const {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder_ / "expected")) {
    files.push_back("expected/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

GoldenCase::GoldenCase(const fs::path& folder) : folder_(folder) {
  json description = json::parse(ReadFile(folder / "case.json"));
  for (const json& output : description["outputs"]) {
    outputs_.push_back({output["file"], output["kind"], output["call"],
                        output.value("options", json::object()),
                        output.value("list_with_flops", false)});
  }
  json input = json::parse(ReadFile(folder / description["input"].get<std::string>()));
  const json& records = input["gpu_activities"];
  if (input["use_device"].is_string()) recording_.device_kind = input["use_device"];
  recording_.base_ns = input["base_ns"];
  ReadSpans(input["events"], std::any_of(records.begin(), records.end(), IsWork));
  ReadActivities(records);
  ReadMemoryEvents(input["mem_events"]);
  ReadSamples(input["samples"]);
  // Slots become positions.
  std::unordered_map<uint64_t, uint64_t> position;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i]) position[*slots_[i]] = i;
  }
  for (DeviceActivity& activity : recording_.activities) {
    auto found = position.find(activity.operation);
    activity.operation = found == position.end() ? kNoOperation : found->second;
  }
}

void GoldenCase::ReadSpans(const json& events, bool has_device_work) {
  for (const json& event : events) {
    Span span;
    span.id = recording_.spans.size();
    span.name = Intern(event[0]);
    span.kind = static_cast<SpanKind>(event[1].get_ref<const std::string&>()[0]);
    span.start_ns = event[2];
    span.end_ns = event[3];
    span.thread = event[4];
    if (!event[5].is_null()) span.shapes = Intern(ShapesOf(event[5]));
    if (!event[6].is_null()) span.dtypes = Intern(event[6].dump());
    if (!event[7].is_null()) span.call_site = Intern(event[7]);
    if (!event[10].is_null()) {
      span.stack = Intern(JoinFrames(event[10].get<std::vector<std::string>>()));
    }
    if (event[9].is_number()) span.output_bytes = event[9];
    span.flops = event[12];
    if (!has_device_work && event[8].is_number() && event[8].get<double>() >= 0) {
      span.given_device_ns = std::llround(event[8].get<double>() * 1e6);
      span.given_kernel_count = event[11];
    }
    recording_.spans.push_back(span);
    slots_.push_back(event[13].is_null() ? std::nullopt
                                         : std::optional<uint64_t>(event[13].get<uint64_t>()));
  }
}

void GoldenCase::ReadActivities(const json& records) {
  for (const json& record : records) {
    DeviceActivity activity;
    activity.name = Intern(record[0]);
    activity.kind = static_cast<ActivityKind>(record[1].get_ref<const std::string&>()[0]);
    activity.start_ns = record[2];
    activity.end_ns = record[3];
    activity.device = record[4];
    activity.stream = record[5];
    activity.correlation = record[6];
    activity.operation = record[7];
    activity.thread = record[8];
    activity.cbid = record[9];
    activity.bytes = record[10];
    activity.copy_kind = NarrowKind(record[11].get<uint64_t>());
    activity.value = record[12];
    recording_.activities.push_back(activity);
  }
}

void GoldenCase::ReadMemoryEvents(const json& events) {
  for (const json& event : events) {
    MemoryEvent memory;
    memory.time_ns = event[0];
    memory.address = event[1];
    memory.bytes = event[2];
    memory.allocated = event[3];
    memory.on_device = event[4];
    memory.device = event[5];
    memory.stream = event[6];
    memory.thread = event[7];
    recording_.memory_events.push_back(memory);
  }
}

void GoldenCase::ReadSamples(const json& samples) {
  for (const json& event : samples) {
    Sample sample;
    sample.time_ns = event[0];
    sample.thread = event[1];
    sample.frames = Intern(JoinFrames(event[2].get<std::vector<std::string>>()));
    recording_.samples.push_back(sample);
  }
}

}  // namespace tp

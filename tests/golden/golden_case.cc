#include "tests/golden/golden_case.h"

#include <zlib.h>

#include <algorithm>
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

SummaryLimits NoLimits() {
  SummaryLimits limits;
  limits.spans = limits.correlations = limits.groups = limits.intervals = 1 << 28;
  return limits;
}

std::string ShapesOf(const json& shapes) {
  std::string text;
  for (char c : shapes.dump()) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

bool IsWork(const json& record) {
  const std::string& kind = record[1].get_ref<const std::string&>();
  return kind == "k" || kind == "m" || kind == "s";
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

std::optional<fs::path> RealCases() {
  fs::path shared;
  if (const char* named = std::getenv("TP_SHARED"); named != nullptr && *named != '\0') {
    shared = named;
  } else {
    // Data files are links into the workspace.
    fs::path source = fs::canonical(fs::path(kData) / "tiny/one_op/case.json");
    for (int up = 0; up < 6; ++up) source = source.parent_path();
    shared = source.parent_path() / "shared";
  }
  fs::path real = shared / "golden/real";
  std::error_code error;
  if (!fs::is_directory(real, error)) return std::nullopt;
  return real;
}

GoldenCase::GoldenCase(const fs::path& folder) : folder_(folder) {
  json description = json::parse(ReadFile(folder / "case.json"));
  for (const json& output : description["outputs"]) {
    outputs_.push_back({output["file"], output["call"], output.value("options", json::object()),
                        output.value("list_with_flops", false)});
  }
  json input = json::parse(ReadFile(folder / description["input"].get<std::string>()));
  const json& records = input["gpu_activities"];
  if (input["use_device"].is_string()) device_kind_ = input["use_device"];
  ReadSpans(input["events"], std::any_of(records.begin(), records.end(), IsWork));
  ReadActivities(records);
  // Slots become positions.
  std::unordered_map<uint64_t, uint64_t> position;
  for (size_t i = 0; i < spans_.size(); ++i) {
    const json& slot = input["events"][i][13];
    if (!slot.is_null()) position[slot.get<uint64_t>()] = i;
  }
  for (DeviceActivity& activity : activities_) {
    auto found = position.find(activity.operation);
    activity.operation = found == position.end() ? kNoOperation : found->second;
  }
}

void GoldenCase::ReadSpans(const json& events, bool has_device_work) {
  for (const json& event : events) {
    Span span;
    span.id = spans_.size();
    span.name = strings_.Intern(event[0].get_ref<const std::string&>());
    span.kind = static_cast<SpanKind>(event[1].get_ref<const std::string&>()[0]);
    span.start_ns = event[2];
    span.end_ns = event[3];
    span.thread = event[4];
    if (!event[5].is_null()) span.shapes = strings_.Intern(ShapesOf(event[5]));
    if (!event[10].is_null()) {
      span.stack = strings_.Intern(JoinFrames(event[10].get<std::vector<std::string>>()));
    }
    if (event[9].is_number()) span.output_bytes = event[9];
    span.flops = event[12];
    if (!has_device_work && event[8].is_number() && event[8].get<double>() >= 0) {
      span.given_device_ns = std::llround(event[8].get<double>() * 1e6);
      span.given_kernel_count = event[11];
    }
    spans_.push_back(span);
  }
}

void GoldenCase::ReadActivities(const json& records) {
  for (const json& record : records) {
    DeviceActivity activity;
    activity.name = strings_.Intern(record[0].get_ref<const std::string&>());
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
    activities_.push_back(activity);
  }
}

Summary GoldenCase::Summarized() const {
  Summary summary(&strings_, NoLimits());
  for (const Span& span : spans_) summary.AddSpan(span);
  for (const DeviceActivity& activity : activities_) summary.AddActivity(activity);
  return summary;
}

}  // namespace tp

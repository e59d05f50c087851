// The golden cases: recordings, and what must come out of them. data/ holds the made-up ones (tiny,
// random); the real traces are read from ${TP_SHARED}/golden/real, by default beside the workspace,
// where they are.
#ifndef TESTS_GOLDEN_GOLDEN_CASE_H_
#define TESTS_GOLDEN_GOLDEN_CASE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/recording.h"
#include "analyzer/model/string_table.h"
#include "analyzer/summarize/summary.h"
#include "nlohmann/json.hpp"

namespace tp {

// The contents of a file, unpacked if its name ends with ".gz". Throws std::runtime_error.
std::string ReadFile(const std::filesystem::path& path);

// Folders of the cases in data/, as "tiny/one_op", sorted.
std::vector<std::string> MadeUpCases();
std::filesystem::path MadeUpCase(const std::string& name);

// The folder of the real cases, if it is there.
std::optional<std::filesystem::path> RealCases();

// One case's recording and what is expected of it.
class GoldenCase {
 public:
  explicit GoldenCase(const std::filesystem::path& folder);

  struct Output {
    std::string file;
    std::string call;
    nlohmann::json options;
    bool list_with_flops = false;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  std::string Expected(const Output& output) const { return ReadFile(folder_ / output.file); }

  // The recording, in the order of the file. Spans have their position as id.
  const std::vector<Span>& spans() const { return spans_; }
  const std::vector<DeviceActivity>& activities() const { return activities_; }
  const StringTable& strings() const { return strings_; }
  // "cuda", "xpu", or empty.
  const std::string& device_kind() const { return device_kind_; }

  // A summary with no bounds that was given all of it.
  Summary Summarized() const;

 private:
  void ReadSpans(const nlohmann::json& events, bool has_device_work);
  void ReadActivities(const nlohmann::json& records);

  std::filesystem::path folder_;
  std::vector<Output> outputs_;
  StringTable strings_;
  std::vector<Span> spans_;
  std::vector<DeviceActivity> activities_;
  std::string device_kind_;
};

}  // namespace tp

#endif  // TESTS_GOLDEN_GOLDEN_CASE_H_

// The golden cases: recordings, and what must come out of them. data/ holds the made-up ones (tiny,
// random); the real ones are read from ${TP_SHARED}/golden/real, by default beside the workspace,
// where they are; so are further real traces, from ${TP_SHARED}/traces.
#ifndef TESTS_GOLDEN_GOLDEN_CASE_H_
#define TESTS_GOLDEN_GOLDEN_CASE_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/whole_recording.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tp {

// The contents of a file, unpacked if its name ends with ".gz". Throws std::runtime_error.
std::string ReadFile(const std::filesystem::path& path);

// The real cases.
inline const std::vector<std::string> kRealCases = {"alexnet",       "cpu_only",      "nccl",
                                                    "ns_resolution", "sampled_rank0", "triton"};

// Folders of the cases in data/, as "tiny/one_op", sorted.
std::vector<std::string> MadeUpCases();
std::filesystem::path MadeUpCase(const std::string& name);

// The folders of the real cases and of the real traces, if they are there, and what a test that is
// skipped for want of them says.
std::optional<std::filesystem::path> RealCases();
std::optional<std::filesystem::path> RealTraces();
inline constexpr const char* kNoRealTraces =
    "the real traces are not here: name the folder that holds golden/real and traces in TP_SHARED";

// A test of each case, made-up ("tiny/one_op") or real ("real/alexnet"). Real ones that are not
// here are skipped.
//
//   class Tables : public EveryCase {};
//   TEST_P(Tables, AreAsExpected) { ... folder() ... }
//   INSTANTIATE_TEST_SUITE_P(Golden, Tables, testing::ValuesIn(AllCases()), TestName);
class EveryCase : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};
std::vector<std::string> AllCases();
std::vector<std::string> RealCaseNames();

// The tests that compare outputs, each all those of its calls.
enum class ComparedBy { kTables, kExports };
// Fails the test that asks for a call that none compares.
ComparedBy WhoCompares(const std::string& call);

// Rows of a file ("columns", "rows") by column name.
using NamedColumns = std::map<std::string, nlohmann::json>;
std::vector<NamedColumns> RowsOf(const nlohmann::json& file);

// Compares a row's columns with those that are expected of it, of which large cases have only some.
// A column that `actual` lacks fails. Fractions may differ by 1e-9 of their size.
void CompareRow(const NamedColumns& actual, const NamedColumns& expected);

// A test's name from that of a case.
std::string TestName(const testing::TestParamInfo<std::string>& info);

// One case's recording and what is expected of it.
class GoldenCase {
 public:
  explicit GoldenCase(const std::filesystem::path& folder);

  struct Output {
    std::string file;
    std::string kind;
    std::string call;
    nlohmann::json options;
    bool list_with_flops = false;
  };
  const std::vector<Output>& outputs() const { return outputs_; }
  std::string Expected(const Output& output) const { return ReadFile(folder_ / output.file); }
  // The files in the folder of expected outputs, as outputs name them, sorted.
  std::vector<std::string> ExpectedFiles() const;

  // The recording, in the order of the file. Spans have their position as id; `slot` gives the
  // number that the file names them by.
  const WholeRecording& recording() const { return recording_; }
  const std::vector<Span>& spans() const { return recording_.spans; }
  const std::vector<DeviceActivity>& activities() const { return recording_.activities; }
  const StringTable& strings() const { return *recording_.strings; }
  std::optional<uint64_t> slot(size_t span) const { return slots_[span]; }

 private:
  void ReadSpans(const nlohmann::json& events, bool has_device_work);
  void ReadActivities(const nlohmann::json& records);
  void ReadMemoryEvents(const nlohmann::json& events);
  void ReadSamples(const nlohmann::json& samples);
  StringId Intern(const std::string& text) { return recording_.strings->Intern(text); }

  std::filesystem::path folder_;
  std::vector<Output> outputs_;
  WholeRecording recording_;
  std::vector<std::optional<uint64_t>> slots_;  // By position of the span.
};

}  // namespace tp

#endif  // TESTS_GOLDEN_GOLDEN_CASE_H_

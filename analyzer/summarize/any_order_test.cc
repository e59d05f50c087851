// A Summary fed in any order is the summary of the whole: compared with the slow reference, over
// many random recordings.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "analyzer/summarize/random_recording.h"
#include "analyzer/summarize/reference.h"
#include "analyzer/summarize/summary.h"
#include "gtest/gtest.h"

namespace tp {
namespace {

query::Table Table(const Summary& summary, query::View view) {
  TableOptions options;
  options.view = view;
  options.group_by_shape = true;
  options.group_by_stack = 1;
  const Summary* one = &summary;
  return Tabulate({&one, 1}, options, kAfterAll);
}

class AnyOrder : public testing::Test {
 protected:
  AnyOrder() {
    for (const char* text : {"[[2]]", "b", "c", "d", "e"}) strings_.Intern(text);
  }

  void ExpectAsReference(const Summary& summary, const PlainRecording& recording) {
    PlainSummary plain = Summarize(recording, kAfterAll);
    EXPECT_EQ(summary.device_time_ns(), plain.device_ns);
    EXPECT_EQ(summary.impossible().count(Impossibility::kStartsBeforeLaunch), plain.before_launch);
    ExpectKernelsAsReference(summary, plain);
    EXPECT_EQ(summary.unattributed_ns(), plain.unattributed_ns);
    EXPECT_EQ(summary.unattributed_count(), static_cast<uint64_t>(plain.unattributed_count));
    ExpectSpansAsReference(summary, recording, plain);
    ExpectGroupsAsReference(summary, recording, plain);
  }

  using Numbers = std::vector<int64_t>;

  void ExpectKernelsAsReference(const Summary& summary, const PlainSummary& plain) {
    std::map<std::pair<std::string, std::string>, Numbers> expected, actual;
    for (const DeviceActivity& work : plain.work) {
      const int64_t duration_ns = work.end_ns - work.start_ns;
      if (duration_ns == 0) continue;
      const auto [group, is_new] = expected.insert(
          {{std::string(strings_.Text(work.name)), std::string(1, static_cast<char>(work.kind))},
           {0, 0, duration_ns, duration_ns}});
      Numbers& sums = group->second;
      sums = {sums[0] + 1, sums[1] + duration_ns, std::min(sums[2], duration_ns),
              std::max(sums[3], duration_ns)};
    }
    const query::Table table = Table(summary, query::KERNELS);
    for (const query::WorkRow& row : table.kernels()) {
      actual[{row.name(), row.kind()}] = {row.count(), row.total_ns(), row.min_ns(), row.max_ns()};
    }
    EXPECT_EQ(actual, expected);
  }

  // Rows of single spans, sorted by what they are: they do not carry their ids.
  void ExpectSpansAsReference(const Summary& summary, const PlainRecording& recording,
                              const PlainSummary& plain) {
    std::vector<Numbers> expected, actual;
    int64_t self_cpu_ns = 0, self_device_ns = 0;
    for (size_t i = 0; i < recording.spans.size(); ++i) {
      const Span& span = recording.spans[i];
      const PlainSpan& numbers = plain.spans[i];
      self_cpu_ns += numbers.self_cpu_ns;
      self_device_ns += numbers.self_device_ns;
      expected.push_back({span.start_ns, numbers.duration_ns, span.asynchronous ? 0 : span.thread,
                          span.asynchronous, span.end_ns == kStillOpen, numbers.self_cpu_ns,
                          numbers.device_total_ns, numbers.self_device_ns, numbers.kernels,
                          numbers.nested_output_bytes, std::max<int64_t>(0, span.output_bytes),
                          span.flops});
    }
    query::Table table = Table(summary, query::SPANS);
    for (const query::OperationRow& row : table.operations()) {
      actual.push_back({row.start_ns(), row.cpu_time_total_ns(), row.thread_id(),
                        row.asynchronous(), row.open(), row.self_cpu_time_total_ns(),
                        row.device_time_total_ns(), row.self_device_time_total_ns(),
                        row.kernel_count(), row.nested_output_bytes(), row.output_bytes(),
                        row.flops()});
    }
    std::sort(expected.begin(), expected.end());
    std::sort(actual.begin(), actual.end());
    EXPECT_EQ(actual, expected);
    EXPECT_EQ(table.self_cpu_time_total_ns(), self_cpu_ns);
    EXPECT_EQ(table.self_device_time_total_ns(), self_device_ns);
  }

  void ExpectGroupsAsReference(const Summary& summary, const PlainRecording& recording,
                               const PlainSummary& plain) {
    using Key = std::tuple<std::string, std::string, bool, std::string>;
    std::map<Key, Numbers> expected, actual;
    for (size_t i = 0; i < recording.spans.size(); ++i) {
      const Span& span = recording.spans[i];
      const PlainSpan& numbers = plain.spans[i];
      if (span.end_ns == span.start_ns) continue;
      Key key = {std::string(strings_.Text(span.name)),
                 std::string(1, static_cast<char>(span.kind)), span.shapes != 0,
                 std::string(strings_.Text(span.stack))};
      auto [group, is_new] = expected.emplace(key, Numbers(11, 0));
      Numbers& sums = group->second;
      sums[0] += 1;
      sums[1] += numbers.duration_ns;
      sums[2] += numbers.self_cpu_ns;
      sums[3] = is_new ? numbers.duration_ns : std::min(sums[3], numbers.duration_ns);
      sums[4] = std::max(sums[4], numbers.duration_ns);
      sums[5] += numbers.device_total_ns;
      sums[6] += numbers.self_device_ns;
      sums[7] += numbers.kernels;
      sums[8] += span.flops;
      sums[9] += std::max<int64_t>(0, span.output_bytes);
      sums[10] += numbers.nested_output_bytes;
    }
    query::Table table = Table(summary, query::OPERATIONS);
    int64_t previous_self_ns = INT64_MAX;
    for (const query::OperationRow& row : table.operations()) {
      Key key = {row.name(), row.kind(), row.has_input_shapes(),
                 row.stack_size() > 0 ? row.stack(0) : ""};
      actual[key] = {row.count(),
                     row.cpu_time_total_ns(),
                     row.self_cpu_time_total_ns(),
                     row.cpu_time_min_ns(),
                     row.cpu_time_max_ns(),
                     row.device_time_total_ns(),
                     row.self_device_time_total_ns(),
                     row.kernel_count(),
                     row.flops(),
                     row.output_bytes(),
                     row.nested_output_bytes()};
      EXPECT_LE(row.self_cpu_time_total_ns(), previous_self_ns);
      previous_self_ns = row.self_cpu_time_total_ns();
    }
    EXPECT_EQ(actual, expected);
  }

  StringTable strings_;
};

TEST_F(AnyOrder, AWholeRecordingIsAsTheSpecificationSays) {
  for (unsigned seed = 0; seed < 1500 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomRecording random(seed);
    Summary summary(&strings_);
    for (const Span& span : random.recording.spans) summary.AddSpan(span);
    for (const auto& activity : random.recording.activities) summary.AddActivity(activity);
    for (auto [correlation, operation] : random.recording.launch_operations) {
      summary.AddLaunchOperation(correlation, operation);
    }
    ExpectAsReference(summary, random.recording);
  }
}

TEST_F(AnyOrder, ShuffledCutAndRepeatedRecordingsAreTheSame) {
  for (unsigned seed = 0; seed < 3000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomRecording random(seed);
    auto facts = random.Facts();
    random.Shuffle(&facts);
    Summary summary(&strings_);
    for (const auto& fact : facts) {
      fact(&summary);
      // Looking changes nothing.
      if (random.Chance(20)) Table(summary, query::OPERATIONS);
    }
    ExpectAsReference(summary, random.recording);
  }
}

TEST_F(AnyOrder, AtAnyMomentItIsTheSummaryOfWhatCameSoFar) {
  for (unsigned seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomRecording random(seed);
    std::vector<size_t> order(random.recording.spans.size() + random.recording.activities.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    Summary summary(&strings_);
    PlainRecording so_far;
    for (size_t i : order) {
      if (i < random.recording.spans.size()) {
        so_far.spans.push_back(random.recording.spans[i]);
        summary.AddSpan(so_far.spans.back());
      } else {
        so_far.activities.push_back(random.recording.activities[i - random.recording.spans.size()]);
        summary.AddActivity(so_far.activities.back());
      }
      ExpectAsReference(summary, so_far);
    }
  }
}

}  // namespace
}  // namespace tp

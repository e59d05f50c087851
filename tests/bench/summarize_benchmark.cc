// What it costs to take a recording in: events per second and bytes kept per event, for events of
// all kinds as a live session brings them (spans when they end, children before their parents;
// calls, their operations, and the device work later), and for single kinds.
//
//   bazel run -c opt //tests/bench:summarize_benchmark
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/import/import.h"
#include "analyzer/summarize/summary.h"
#include "analyzer/summarize/whole_summary.h"
#include "benchmark/benchmark.h"

namespace tp {
namespace {

// 1,000 steps of nested operations; one launch and one or two pieces of device work for each of the
// innermost ones.
struct Workload {
  static constexpr int kThreads = 4;
  static constexpr int kNames = 400;

  explicit Workload(int spans) {
    std::vector<StringId> names;
    for (int i = 0; i < kNames; ++i)
      names.push_back(strings.Intern("aten::operation_" + std::to_string(i)));
    int64_t time_ns = 1'000'000;
    for (uint64_t id = 1; static_cast<int>(events.size()) < spans; id += 4) {
      // Three nested in a fourth, ended innermost first.
      for (int level = 0; level < 4; ++level) {
        Span span;
        span.id = id + 3 - level;
        span.thread = static_cast<int64_t>(id / 4 % kThreads);
        span.start_ns = time_ns + (3 - level) * 1000;
        span.end_ns = time_ns + 5000 + level * 1000;
        span.name = names[(id * 7 + level) % kNames];
        span.kind = SpanKind::kOperation;
        events.push_back(span);
      }
      for (int launch = 0; launch < 4; ++launch) {
        DeviceActivity call;
        call.kind = ActivityKind::kRuntimeCall;
        call.correlation = id + launch;
        call.start_ns = time_ns + 3100 + launch * 100;
        call.end_ns = call.start_ns + 90;
        call.name = names[launch % 2];
        call.device = -1;
        calls.push_back(call);
        launch_operations.push_back({call.correlation, id + 3});
        DeviceActivity work = call;
        work.kind = launch == 3 ? ActivityKind::kCopy : ActivityKind::kKernel;
        work.start_ns = time_ns + 20'000 + launch * 2000;
        work.end_ns = work.start_ns + 1500;
        work.name = names[(id * 3 + launch) % kNames];
        work.device = 0;
        work.stream = 7;
        device_work.push_back(work);
        work.start_ns += 1500;
        work.end_ns += 300;
        device_work.push_back(work);
      }
      time_ns += 10'000;
    }
  }

  size_t size() const {
    return events.size() + calls.size() + launch_operations.size() + device_work.size();
  }

  StringTable strings;
  std::vector<Span> events;
  std::vector<DeviceActivity> calls;
  std::vector<std::pair<uint64_t, uint64_t>> launch_operations;
  std::vector<DeviceActivity> device_work;
};

// A million spans, a million calls and launches each, two million device records.
const Workload& Million() {
  static const Workload workload(1'000'000);
  return workload;
}

void Feed(const Workload& work, size_t spans, size_t step, Summary* summary) {
  size_t device = 0;
  for (size_t i = 0; i < spans; i += step) {
    size_t end = std::min(i + step, spans);
    for (size_t j = i; j < end; ++j) summary->AddSpan(work.events[j]);
    for (size_t j = i; j < end; ++j) summary->AddActivity(work.calls[j]);
    for (size_t j = i; j < end; ++j) {
      summary->AddLaunchOperation(work.launch_operations[j].first,
                                  work.launch_operations[j].second);
    }
    for (; device < 2 * end; ++device) summary->AddActivity(work.device_work[device]);
  }
}

void BM_AllKinds(benchmark::State& state) {
  const Workload& work = Million();
  size_t bytes = 0;
  for (auto _ : state) {
    Summary summary(&work.strings);
    Feed(work, work.events.size(), 1000, &summary);
    bytes = summary.memory_bytes();
    benchmark::DoNotOptimize(summary.device_time_ns());
  }
  state.SetItemsProcessed(state.iterations() * work.size());
  state.counters["bytes_per_span"] = static_cast<double>(bytes) / work.events.size();
  state.counters["bytes_per_event"] = static_cast<double>(bytes) / work.size();
}
BENCHMARK(BM_AllKinds)->Unit(benchmark::kMillisecond);

// With bounds as a daemon with little memory sets them: most is let go.
void BM_AllKindsBounded(benchmark::State& state) {
  const Workload& work = Million();
  SummaryLimits limits;
  limits.spans = limits.correlations = 1 << 16;
  size_t bytes = 0;
  for (auto _ : state) {
    Summary summary(&work.strings, limits);
    Feed(work, work.events.size(), 1000, &summary);
    bytes = summary.memory_bytes();
  }
  state.SetItemsProcessed(state.iterations() * work.size());
  state.counters["bytes"] = bytes;
}
BENCHMARK(BM_AllKindsBounded)->Unit(benchmark::kMillisecond);

void BM_Spans(benchmark::State& state) {
  const Workload& work = Million();
  size_t bytes = 0;
  for (auto _ : state) {
    Summary summary(&work.strings);
    for (const Span& span : work.events) summary.AddSpan(span);
    bytes = summary.memory_bytes();
  }
  state.SetItemsProcessed(state.iterations() * work.events.size());
  state.counters["bytes_per_span"] = static_cast<double>(bytes) / work.events.size();
}
BENCHMARK(BM_Spans)->Unit(benchmark::kMillisecond);

void BM_DeviceWork(benchmark::State& state) {
  const Workload& work = Million();
  for (auto _ : state) {
    Summary summary(&work.strings);
    for (const DeviceActivity& activity : work.device_work) summary.AddActivity(activity);
    benchmark::DoNotOptimize(summary.device_time_ns());
  }
  state.SetItemsProcessed(state.iterations() * work.device_work.size());
}
BENCHMARK(BM_DeviceWork)->Unit(benchmark::kMillisecond);

// Spans nested `depth` deep with a kernel each, children first or parents first.
void BM_DeepNesting(benchmark::State& state) {
  int64_t depth = state.range(0);
  bool children_first = state.range(1) != 0;
  StringTable strings;
  Summary summary(&strings);
  for (auto _ : state) {
    summary = Summary(&strings);
    for (int64_t i = 0; i < depth; ++i) {
      int64_t level = children_first ? depth - 1 - i : i;
      Span span;
      span.id = level;
      span.start_ns = level;
      span.end_ns = 2 * depth - level;
      summary.AddSpan(span);
      DeviceActivity kernel;
      kernel.start_ns = depth;
      kernel.end_ns = depth + 10;
      kernel.operation = level;
      summary.AddActivity(kernel);
    }
    const Summary* one = &summary;
    benchmark::DoNotOptimize(Tabulate({&one, 1}, {}, 0));
  }
  state.SetItemsProcessed(state.iterations() * depth * 2);
}
BENCHMARK(BM_DeepNesting)
    ->Args({10'000, 0})
    ->Args({10'000, 1})
    ->Args({100'000, 0})
    ->Args({100'000, 1})
    ->Unit(benchmark::kMillisecond);

void BM_Tabulate(benchmark::State& state) {
  const Workload& work = Million();
  Summary summary(&work.strings);
  Feed(work, 100'000, 1000, &summary);
  const Summary* one = &summary;
  for (auto _ : state) benchmark::DoNotOptimize(Tabulate({&one, 1}, {}, 0));
}
BENCHMARK(BM_Tabulate)->Unit(benchmark::kMillisecond);

// A trace of a million spans and two million kernels that name them, for the importer.
class LargeTrace {
 public:
  static constexpr int64_t kSpans = 1'000'000;

  LargeTrace() {
    std::ofstream file(path_);
    file << "{\"traceEvents\": [";
    std::string text;
    for (int64_t id = 1; id <= kSpans; ++id) {
      constexpr int64_t kSpansOfAStep = 100;
      const bool is_step = id % kSpansOfAStep == 1;  // Contains the others of its hundred.
      absl::StrAppend(
          &text, id > 1 ? ",\n" : "\n", R"({"ph": "X", "cat": "cpu_op", "name": "aten::operation_)",
          id * 7 % 200, R"(", "pid": 4242, "tid": 4242, "ts": )", id * 10, R"(.5, "dur": )",
          is_step ? 10 * kSpansOfAStep - 2 : 9, R"(, "args": {"External id": )", id, "}}");
      for (int64_t work = 0; work < 2; ++work) {
        absl::StrAppend(&text, R"(,
{"ph": "X", "cat": "kernel", "name": "kernel_)",
                        id % 150, R"(", "pid": 0, "tid": 7, "ts": )", id * 10 + work * 5 + 300,
                        R"(.25, "dur": 4, "args": {"External id": )", id,
                        R"(, "device": 0, "context": 1, "stream": 7}})");
      }
      file << text;
      text.clear();
    }
    file << "]}";
  }
  ~LargeTrace() { std::remove(path_.c_str()); }

  static const std::string& Path() {
    static const LargeTrace trace;
    return trace.path_;
  }

 private:
  const std::string path_ = absl::StrCat("/tmp/summarize_benchmark_", getpid(), ".json");
};

void BM_ImportMillionSpans(benchmark::State& state) {
  const std::string& path = LargeTrace::Path();
  for (auto _ : state) {
    const auto recording = ImportFile(path);
    if (!recording.ok() || recording->activities.size() != 2 * LargeTrace::kSpans) abort();
  }
  state.SetItemsProcessed(state.iterations() * 3 * LargeTrace::kSpans);
}
BENCHMARK(BM_ImportMillionSpans)->Unit(benchmark::kMillisecond);

// What is asked of us (docs/performance.md): from the recording to the table, on one core.
void BM_ImportedMillionSpans(benchmark::State& state) {
  const auto recording = ImportFile(LargeTrace::Path());
  if (!recording.ok()) abort();
  for (auto _ : state) {
    const Summary summary = Summarize(*recording);
    benchmark::DoNotOptimize(TabulateWhole(*recording, summary, {}));
    if (summary.unattributed_count() != 0) abort();
    state.counters["bytes_per_record"] =
        static_cast<double>(summary.memory_bytes()) / (3 * LargeTrace::kSpans);
  }
  state.SetItemsProcessed(state.iterations() * 3 * LargeTrace::kSpans);
}
BENCHMARK(BM_ImportedMillionSpans)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tp

BENCHMARK_MAIN();

// How many events a second one core of the daemon takes: from the bytes of a collector's connection
// to the summary.
//
// The stream is that of a training loop: per step a range with operations in it, each of which
// launches kernels; every fourth operation copies as well. Per launch there are a runtime call, the
// word that ties it to its operation, and the kernel. Each stage is measured with all stages before
// it, so that differences tell what a stage costs. Every link counts as an event of its own, as it
// does for the decoder.
#include <benchmark/benchmark.h>
#include <google/protobuf/arena.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzer/model/clock_time.h"
#include "analyzer/model/string_table.h"
#include "analyzer/serve/session_store.h"
#include "analyzer/summarize/summary.h"
#include "analyzer/wire/batch_decoder.h"
#include "analyzer/wire/framing.h"
#include "analyzer/wire/name_table.h"
#include "proto/wire.pb.h"

namespace tp {
namespace {

// Enough for the summary to be full, as it is in a long job.
constexpr int kBatches = 1500;
constexpr int kOperationsPerStep = 100;
constexpr int kStepsPerBatch = 4;
constexpr int kLaunchesPerOperation = 3;
constexpr int kOperationNames = 200;
constexpr int kKernelNames = 150;
constexpr int kShapes = 60;
constexpr int64_t kCuptiAheadNs = 1'700'000'000'000'000'000;

struct Stream {
  std::string bytes;
  uint64_t events = 0;
};

// Builds the batches of one process, one after the other.
class Program {
 public:
  wire::Strings Names() const {
    wire::Strings names;
    names.set_first_id(1);
    for (int i = 0; i < kOperationNames; ++i) names.add_text(absl::StrCat("aten::operation_", i));
    for (int i = 0; i < kKernelNames; ++i) {
      names.add_text(absl::StrCat("_ZN2at6native29vectorized_elementwise_kernelILi", i, "EEEvi",
                                  std::string(60, 'f')));
    }
    for (int i = 0; i < kShapes; ++i) names.add_text(absl::StrCat("[[", i, ", 1024], [1024]]"));
    names.add_text("cudaLaunchKernel_v7000");
    names.add_text("cudaMemcpyAsync_v3020");
    names.add_text("train_step");
    return names;
  }

  wire::Batch Next() {
    wire::Batch batch;
    batch.set_sequence(++sequence_);
    last_ = Last();
    for (int step = 0; step < kStepsPerBatch; ++step) AddStep(&batch);
    return batch;
  }

 private:
  static constexpr uint32_t kLaunchName = 1 + kOperationNames + kKernelNames + kShapes;

  // The rows before, of which columns hold the differences.
  struct Last {
    int64_t operation_start = 0, operation_id = 0;
    int64_t call_start = 0, call_correlation = 0;
    int64_t kernel_start = 0, kernel_correlation = 0;
    int64_t copy_start = 0, copy_correlation = 0;
    int64_t link_correlation = 0, link_operation = 0;
  };

  static int64_t Delta(int64_t value, int64_t* last) {
    const int64_t delta = value - *last;
    *last = value;
    return delta;
  }

  int64_t Random(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }

  void AddOperation(wire::Batch* batch, int64_t id, int64_t start_ns, uint32_t name, char kind,
                    uint32_t shapes) {
    wire::OperationColumns* columns = batch->mutable_operations();
    columns->add_start_delta_ns(Delta(start_ns, &last_.operation_start));
    columns->add_duration_ns(now_ns_ - start_ns);
    columns->add_id_delta(Delta(id, &last_.operation_id));
    columns->add_name_id(name);
    columns->add_kind(static_cast<uint32_t>(kind));
    columns->add_shapes_id(shapes);
    if (columns->thread_id().empty()) columns->add_thread_id(4242);
  }

  void AddLaunch(wire::Batch* batch, int64_t operation, bool is_copy) {
    const int64_t correlation = ++correlation_;
    wire::CallColumns* calls = batch->mutable_runtime_calls();
    const int64_t duration_ns = Random(2'000, 6'000);
    calls->add_start_delta_ns(Delta(now_ns_ + kCuptiAheadNs, &last_.call_start));
    calls->add_duration_ns(duration_ns);
    calls->add_correlation_delta(Delta(correlation, &last_.call_correlation));
    calls->add_name_id(is_copy ? kLaunchName + 1 : kLaunchName);
    calls->add_cbid(is_copy ? 41 : 211);
    if (calls->thread_id().empty()) calls->add_thread_id(4242);
    now_ns_ += duration_ns + 500;
    wire::LaunchOperationColumns* links = batch->mutable_launch_operations();
    links->add_correlation_delta(Delta(correlation, &last_.link_correlation));
    links->add_operation_delta(Delta(operation, &last_.link_operation));

    device_ns_ = std::max(device_ns_, now_ns_ + 10'000);
    const int64_t device_duration_ns = Random(3'000, 15'000);
    wire::WorkColumns* work = is_copy ? batch->mutable_copies() : batch->mutable_kernels();
    work->add_start_delta_ns(
        Delta(device_ns_ + kCuptiAheadNs, is_copy ? &last_.copy_start : &last_.kernel_start));
    work->add_duration_ns(device_duration_ns);
    work->add_correlation_delta(
        Delta(correlation, is_copy ? &last_.copy_correlation : &last_.kernel_correlation));
    work->add_stream(is_copy ? 14 : 7);
    if (work->context().empty()) work->add_context(1);
    if (is_copy) {
      work->add_bytes(static_cast<uint64_t>(Random(1 << 10, 1 << 24)));
      work->add_copy_kind(1);
      work->add_source_memory(2);
      work->add_destination_memory(3);
    } else {
      work->add_name_id(static_cast<uint32_t>(1 + kOperationNames + Random(0, kKernelNames - 1)));
    }
    device_ns_ += device_duration_ns + 800;
  }

  void AddStep(wire::Batch* batch) {
    const int64_t step_id = ++id_;
    const int64_t step_start_ns = now_ns_;
    for (int i = 0; i < kOperationsPerStep; ++i) {
      const int64_t id = ++id_;
      const int64_t start_ns = now_ns_ += 1'000;
      for (int launch = 0; launch < kLaunchesPerOperation; ++launch) {
        AddLaunch(batch, id, /*is_copy=*/i % 4 == 0 && launch == 0);
      }
      now_ns_ += 2'000;
      AddOperation(
          batch, id, start_ns, static_cast<uint32_t>(Random(1, kOperationNames)), 'o',
          static_cast<uint32_t>(1 + kOperationNames + kKernelNames + Random(0, kShapes - 1)));
    }
    now_ns_ += 1'000;
    AddOperation(batch, step_id, step_start_ns, kLaunchName + 2, 'u', 0);
  }

  std::mt19937_64 random_{42};
  uint64_t sequence_ = 0;
  int64_t now_ns_ = 1'000'000'000'000;
  int64_t device_ns_ = 0;
  int64_t id_ = 0;
  int64_t correlation_ = 0;
  Last last_;
};

const Stream& TrainingLoop() {
  static const Stream* const stream = [] {
    auto* made = new Stream;
    Program program;
    wire::FromCollector message;
    *message.mutable_strings() = program.Names();
    AppendMessage(message, &made->bytes);
    for (int i = 0; i < kBatches; ++i) {
      *message.mutable_batch() = program.Next();
      for (const uint64_t count : CountEvents(message.batch())) made->events += count;
      AppendMessage(message, &made->bytes);
    }
    return made;
  }();
  return *stream;
}

struct Nowhere {
  void AddSpan(const Span& span) { benchmark::DoNotOptimize(span.id); }
  void AddSpanValue(const SpanValue& value) { benchmark::DoNotOptimize(value.bits); }
  void AddCounter(const CounterValue& counter) { benchmark::DoNotOptimize(counter.time_ns); }
  void CloseSpan(uint64_t id, int64_t) { benchmark::DoNotOptimize(id); }
  void AddActivity(const DeviceActivity& activity) { benchmark::DoNotOptimize(activity.end_ns); }
  void AddKernelLaunch(StringId kernel, const KernelLaunch&) { benchmark::DoNotOptimize(kernel); }
  void AddMemory(const MemoryChange& event) { benchmark::DoNotOptimize(event.address); }
  void AddGraphNode(const GraphNode& node) { benchmark::DoNotOptimize(node.id); }
  void AddLaunchOperation(uint64_t correlation, uint64_t) { benchmark::DoNotOptimize(correlation); }
};

enum class Stage { kParse, kDecode, kSummarize };

// The whole stream once, read as the daemon reads it.
template <typename Sink>
void Take(const Stream& stream, Stage stage, NameTable* names, Sink& sink,
          std::vector<char>& block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  google::protobuf::Arena arena(options);
  ClockTime clock;
  clock.Add({.host_ns = 1, .cupti_ns = kCuptiAheadNs + 1, .bracket_ns = 1});
  FrameReader frames;
  constexpr size_t kReadBytes = size_t{64} << 10;
  for (size_t offset = 0; offset < stream.bytes.size();) {
    const std::span<char> room = frames.Room(kReadBytes);
    const size_t bytes = std::min(kReadBytes, stream.bytes.size() - offset);
    memcpy(room.data(), stream.bytes.data() + offset, bytes);
    frames.Filled(bytes);
    offset += bytes;
    for (;;) {
      const auto frame = frames.Next();
      if (!frame.ok()) abort();
      if (!frame->has_value()) break;
      arena.Reset();
      auto* message = google::protobuf::Arena::CreateMessage<wire::FromCollector>(&arena);
      if (!message->ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size()))) abort();
      if (stage == Stage::kParse) continue;
      if (message->has_strings() && !names->Add(message->strings()).ok()) abort();
      if (message->has_batch() && !DecodeBatch(message->batch(), names, clock, sink).ok()) abort();
    }
  }
}

void Report(benchmark::State& state, const Stream& stream) {
  const auto events = static_cast<double>(state.iterations()) * static_cast<double>(stream.events);
  state.counters["events/s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["per_event"] =
      benchmark::Counter(events, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bytes/event"] =
      static_cast<double>(stream.bytes.size()) / static_cast<double>(stream.events);
}

void FramingAndParsing(benchmark::State& state) {
  const Stream& stream = TrainingLoop();
  std::vector<char> block(size_t{2} << 20);
  Nowhere sink;
  for (auto _ : state) Take(stream, Stage::kParse, nullptr, sink, block);
  Report(state, stream);
}

void AndDecoding(benchmark::State& state) {
  const Stream& stream = TrainingLoop();
  std::vector<char> block(size_t{2} << 20);
  for (auto _ : state) {
    StringTable strings;
    NameTable names(&strings);
    Nowhere sink;
    Take(stream, Stage::kDecode, &names, sink, block);
  }
  Report(state, stream);
}

void AndSummarizing(benchmark::State& state) {
  const Stream& stream = TrainingLoop();
  std::vector<char> block(size_t{2} << 20);
  const SummaryLimits limits =
      StoreLimits::FromMegabytes(StoreLimits::kDefaultMegabytes).session.summary;
  for (auto _ : state) {
    StringTable strings;
    NameTable names(&strings);
    Summary summary(&strings, limits);
    Take(stream, Stage::kSummarize, &names, summary, block);
    if (summary.device_time_ns() == 0) abort();
    state.counters["summary_MiB"] =
        static_cast<double>(summary.memory_bytes()) / static_cast<double>(1 << 20);
  }
  Report(state, stream);
}

BENCHMARK(FramingAndParsing)->Unit(benchmark::kMillisecond);
BENCHMARK(AndDecoding)->Unit(benchmark::kMillisecond);
BENCHMARK(AndSummarizing)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tp

BENCHMARK_MAIN();

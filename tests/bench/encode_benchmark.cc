// How fast the collector's thread turns CUPTI's records into batches, and how large they are on the
// wire.
//
// The records are laid out by the toolkit's own headers and walked by its own libcupti (which needs
// no GPU for that), through the collector's ActivityReader and BatchEncoder: what happens to each
// record in a traced process, but for the write to the socket.

#include <benchmark/benchmark.h>
#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "collector/cupti/activity_reader.h"
#include "collector/cupti/cupti_api.h"
#include "collector/cupti/cupti_client.h"
#include "collector/link/batch_encoder.h"
#include "collector/link/string_table.h"

namespace tp::collect {
namespace {

constexpr int kLaunches = 4000;

// A step of a training job: 60 kernels by name on 4 streams, launches some microseconds apart.
class Records {
 public:
  Records() {
    for (int i = 0; i < 60; ++i) {
      names_.push_back("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15FunctorNumber" +
                       std::to_string(i) + "EEEviT0_T1_");
    }
  }

  void AddKernel(int i) {
    CUpti_ActivityKernel10 kernel = {};
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.start = start_ns_ + i * uint64_t{7300} + i % 13 * 31;
    kernel.end = kernel.start + 2000 + i % 60 * 217;
    kernel.contextId = 1;
    kernel.streamId = 7 + (i / 50) % 4;
    kernel.correlationId = 2 * i + 1;
    kernel.name = names_[i * 7 % names_.size()].c_str();
    kernel.gridX = 64 + i * 7 % 60 * 16;
    kernel.gridY = kernel.gridZ = kernel.blockY = kernel.blockZ = 1;
    kernel.blockX = 128;
    kernel.registersPerThread = 32 + i * 7 % 5 * 8;
    Append(kernel);
  }
  void AddCalls(int i) {
    CUpti_ActivityExternalCorrelation correlation = {};
    correlation.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    correlation.externalKind = kOperationCorrelation;
    correlation.externalId = (uint64_t{1} << 40) + i / 3;
    correlation.correlationId = 2 * i + 1;
    Append(correlation);
    CUpti_ActivityAPI call = {};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
    call.start = start_ns_ + i * uint64_t{7000};
    call.end = call.start + 3000 + i % 17 * 13;
    call.threadId = 4242;
    call.correlationId = 2 * i + 1;
    Append(call);
  }

  FilledBuffer buffer() { return {bytes_.data(), bytes_.size()}; }

 private:
  template <typename Record>
  void Append(const Record& record) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(record));
  }

  const uint64_t start_ns_ = 1'700'000'000'000'000'000;
  std::vector<std::string> names_;
  std::vector<uint8_t> bytes_;
};

void Encode(benchmark::State& state, bool kernels, bool calls) {
  CuptiApi cupti;
  std::string reason;
  if (!LoadCupti(&cupti, &reason)) {
    state.SkipWithError(reason.c_str());
    return;
  }
  Records records;
  for (int i = 0; i < kLaunches; ++i) {
    if (calls) records.AddCalls(i);
    if (kernels) records.AddKernel(i);
  }
  StringTable strings;
  BatchEncoder encoder;
  Descriptions descriptions;
  UncorrelatedThreads uncorrelated;
  ReopenedRanges reopened;
  const CuptiClient client(&cupti);
  ActivityReader reader(&client, &strings, &encoder, &descriptions, &uncorrelated, &reopened);
  uint64_t events = 0, bytes = 0, sequence = 0;
  for (auto _ : state) {
    reader.Read(
        records.buffer(), [](void*) {}, nullptr);
    events += encoder.rows();
    EncodedBatch batch = encoder.Finish(++sequence, strings.last_id());
    bytes += batch.frame.size();
    benchmark::DoNotOptimize(batch.frame.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(events));
  state.counters["bytes/event"] = static_cast<double>(bytes) / static_cast<double>(events);
}

void Kernels(benchmark::State& state) { Encode(state, true, false); }
void LaunchesWithCallsAndOperations(benchmark::State& state) { Encode(state, true, true); }

BENCHMARK(Kernels);
BENCHMARK(LaunchesWithCallsAndOperations);

}  // namespace
}  // namespace tp::collect

BENCHMARK_MAIN();

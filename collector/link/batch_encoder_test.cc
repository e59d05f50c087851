#include "collector/link/batch_encoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "collector/link/decoded_frame.h"
#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

Work Kernel(int64_t start_ns, int64_t end_ns, uint32_t correlation, StringId name) {
  Work work = {};
  work.start_ns = start_ns;
  work.end_ns = end_ns;
  work.correlation_id = correlation;
  work.name = name;
  work.stream = 7;
  return work;
}

TEST(BatchEncoder, KernelsComeOutAsTheyWentIn) {
  BatchEncoder encoder;
  encoder.AddKernel(Kernel(1'700'000'000'000'000'000, 1'700'000'000'000'000'500, 10, 1),
                    LaunchConfiguration());
  encoder.AddKernel(Kernel(1'699'999'999'999'999'000, 1'700'000'000'000'000'000, 9, 2),
                    LaunchConfiguration());
  EncodedBatch encoded = encoder.Finish(5, 2);
  EXPECT_EQ(encoded.sequence, 5u);
  EXPECT_EQ(encoded.last_string, 2u);
  EXPECT_EQ(encoded.counts[EventKind::kKernel], 2u);
  wire::Batch batch = DecodedBatch(encoded);
  EXPECT_EQ(batch.sequence(), 5u);
  EXPECT_EQ(Undelta(batch.kernels().start_delta_ns()),
            (std::vector<int64_t>{1'700'000'000'000'000'000, 1'699'999'999'999'999'000}));
  EXPECT_EQ(batch.kernels().duration_ns(0), 500);
  EXPECT_EQ(batch.kernels().duration_ns(1), 1000);
  EXPECT_EQ(Undelta(batch.kernels().correlation_delta()), (std::vector<int64_t>{10, 9}));
  EXPECT_EQ(batch.kernels().name_id_size(), 2);
  // One value stands for all rows; a column of zeros is not there.
  ASSERT_EQ(batch.kernels().stream_size(), 1);
  EXPECT_EQ(batch.kernels().stream(0), 7u);
  EXPECT_EQ(batch.kernels().device_size(), 0);
  EXPECT_EQ(batch.kernels().bytes_size(), 0);
}

TEST(BatchEncoder, AbsurdTimesTravelUnchanged) {
  BatchEncoder encoder;
  encoder.AddKernel(Kernel(-1, INT64_MIN, 1, 1), LaunchConfiguration());
  encoder.AddKernel(Kernel(INT64_MAX, 0, UINT32_MAX, 1), LaunchConfiguration());
  wire::Batch batch = DecodedBatch(encoder.Finish(1, 1));
  std::vector<int64_t> starts = Undelta(batch.kernels().start_delta_ns());
  EXPECT_EQ(starts, (std::vector<int64_t>{-1, INT64_MAX}));
  auto end = [&](int row) {
    return static_cast<int64_t>(static_cast<uint64_t>(starts[row]) +
                                static_cast<uint64_t>(batch.kernels().duration_ns(row)));
  };
  EXPECT_EQ(end(0), INT64_MIN);
  EXPECT_EQ(end(1), 0);
  EXPECT_EQ(Undelta(batch.kernels().correlation_delta())[1], UINT32_MAX);
}

LaunchConfiguration Grid(uint32_t x) {
  return {{x, 2, 3}, {128, 4, 5}, 1024, 2048, 16, 32, {2, 1, 1}, 1};
}

TEST(BatchEncoder, ABatchHasEachLaunchConfigurationOnce) {
  BatchEncoder encoder;
  for (int i = 0; i < 12; ++i) encoder.AddKernel(Kernel(i, i + 1, i, 1), Grid(7 + i % 3));
  wire::Batch batch = DecodedBatch(encoder.Finish(1, 1));
  const wire::LaunchConfigurationColumns& launches = batch.launch_configurations();
  ASSERT_EQ(launches.grid_x_size(), 3);
  ASSERT_EQ(batch.kernels().launch_configuration_size(), 12);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(launches.grid_x(batch.kernels().launch_configuration(i) - 1), 7u + i % 3);
  }
  EXPECT_EQ(launches.grid_y(0), 2u);
  EXPECT_EQ(launches.grid_z(0), 3u);
  EXPECT_EQ(launches.block_x(0), 128u);
  EXPECT_EQ(launches.block_y(0), 4u);
  EXPECT_EQ(launches.block_z(0), 5u);
  EXPECT_EQ(launches.static_shared_bytes(0), 1024u);
  EXPECT_EQ(launches.dynamic_shared_bytes(0), 2048u);
  EXPECT_EQ(launches.local_bytes_per_thread(0), 16u);
  EXPECT_EQ(launches.registers_per_thread(0), 32u);
  EXPECT_EQ(launches.cluster_x(0), 2u);
  EXPECT_EQ(launches.cluster_z(0), 1u);
  EXPECT_EQ(launches.launch_type(0), 1u);
  // The next batch stands alone.
  encoder.AddKernel(Kernel(1, 2, 3, 1), Grid(8));
  batch = DecodedBatch(encoder.Finish(2, 1));
  ASSERT_EQ(batch.launch_configurations().grid_x_size(), 1);
  EXPECT_EQ(batch.launch_configurations().grid_x(0), 8u);
  EXPECT_EQ(batch.kernels().launch_configuration(0), 1u);
}

TEST(BatchEncoder, ConfigurationsThatAreAllDifferentAreAllThere) {
  BatchEncoder encoder;
  for (uint32_t i = 0; i < 3000; ++i) encoder.AddKernel(Kernel(i, i + 1, i, 1), Grid(i));
  wire::Batch batch = DecodedBatch(encoder.Finish(1, 1));
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(batch.launch_configurations().grid_x(batch.kernels().launch_configuration(i) - 1),
              static_cast<uint32_t>(i));
  }
}

TEST(BatchEncoder, TimesInTheQueueAreRelativeToTheStartAndZeroIsUnknown) {
  BatchEncoder encoder;
  Work work = Kernel(1000, 1500, 1, 1);
  work.queued_ns = 400;
  work.submitted_ns = 1000;
  encoder.AddKernel(work, Grid(1));
  work.queued_ns = 1007;  // After its start: not for us to put right.
  work.submitted_ns = 0;
  encoder.AddKernel(work, Grid(1));
  wire::Batch batch = DecodedBatch(encoder.Finish(1, 1));
  EXPECT_EQ(batch.kernels().queued_to_start_ns(0), 601);
  EXPECT_EQ(batch.kernels().submitted_to_start_ns(0), 1);
  EXPECT_EQ(batch.kernels().queued_to_start_ns(1), -7);
  EXPECT_EQ(batch.kernels().submitted_to_start_ns(1), 0);
}

TEST(BatchEncoder, WhatIsNotCollectedByDefaultHasColumnsAsWell) {
  BatchEncoder encoder;
  Work graph = Kernel(100, 300, 4, 0);
  graph.graph_id = 12;
  encoder.AddWork(EventKind::kGraph, graph);
  encoder.AddSynchronization({1000, 1500, 7, 3, 1, 8, 0});
  encoder.AddMemory({2000, MemoryOperation::kRelease, 3, 0x7f0000000000, 4096, 9, 1, 2, 14, true});
  encoder.AddGraphNode({(uint64_t{5} << 32) | 1, 77, (uint64_t{4} << 32) | 1});
  Call call = {};
  call.start_ns = 10;
  call.end_ns = 15;
  call.name = 3;
  encoder.AddCall(EventKind::kOverhead, call);
  encoder.AddCall(EventKind::kCompilation, call);
  EncodedBatch encoded = encoder.Finish(1, 3);
  for (EventKind kind : {EventKind::kGraph, EventKind::kSynchronization, EventKind::kMemory,
                         EventKind::kGraphNode, EventKind::kOverhead, EventKind::kCompilation}) {
    EXPECT_EQ(encoded.counts[kind], 1u) << static_cast<int>(kind);
  }
  wire::Batch batch = DecodedBatch(encoded);
  EXPECT_EQ(batch.graphs().graph_id(0), 12u);
  EXPECT_EQ(batch.graphs().duration_ns(0), 200);
  EXPECT_EQ(batch.synchronizations().start_delta_ns(0), 1000);
  EXPECT_EQ(batch.synchronizations().duration_ns(0), 500);
  EXPECT_EQ(batch.synchronizations().correlation_delta(0), 7);
  EXPECT_EQ(batch.synchronizations().type(0), 3u);
  EXPECT_EQ(batch.synchronizations().context(0), 1u);
  EXPECT_EQ(batch.synchronizations().stream_plus_one(0), 8u);
  EXPECT_EQ(batch.synchronizations().event_plus_one_size(), 0);
  EXPECT_EQ(batch.memory().time_delta_ns(0), 2000);
  EXPECT_EQ(batch.memory().operation(0), wire::RELEASE);
  EXPECT_EQ(batch.memory().kind(0), 3u);
  EXPECT_EQ(batch.memory().address_delta(0), 0x7f0000000000);
  EXPECT_EQ(batch.memory().bytes(0), 4096u);
  EXPECT_EQ(batch.memory().correlation_delta(0), 9);
  EXPECT_EQ(batch.memory().device(0), 1u);
  EXPECT_EQ(batch.memory().context_plus_one(0), 2u);
  EXPECT_EQ(batch.memory().stream_plus_one(0), 14u);
  EXPECT_EQ(batch.memory().from_pool(0), 1u);
  EXPECT_EQ(batch.graph_nodes().node_delta(0), (int64_t{5} << 32) | 1);
  EXPECT_EQ(batch.graph_nodes().operation_delta(0), 77);
  EXPECT_EQ(batch.graph_nodes().original_delta(0), (int64_t{4} << 32) | 1);
  EXPECT_EQ(batch.overheads().name_id(0), 3u);
  EXPECT_EQ(batch.compilations().duration_ns(0), 5);
}

TEST(BatchEncoder, AColumnThatVariesLateHasAllItsRows) {
  BatchEncoder encoder;
  for (int i = 0; i < 100; ++i) {
    Work work = Kernel(i, i + 1, i, 1);
    work.device = i == 99 ? 3 : 0;
    encoder.AddKernel(work, LaunchConfiguration());
  }
  wire::Batch batch = DecodedBatch(encoder.Finish(1, 1));
  ASSERT_EQ(batch.kernels().device_size(), 100);
  EXPECT_EQ(batch.kernels().device(98), 0u);
  EXPECT_EQ(batch.kernels().device(99), 3u);
}

TEST(BatchEncoder, WhatFewRangesCarryBelongsToTheRightOnes) {
  BatchEncoder encoder;
  Operation operation = {};
  for (uint64_t id = 1; id <= 4; ++id) {
    operation.id = id;
    operation.dtypes = id == 2 ? 7 : 0;
    operation.flops = id == 2 ? 1'000'000 : 0;
    operation.output_bytes = id == 2 ? -5 : 0;
    encoder.AddOperation(operation);
  }
  encoder.AddOperationValue(2, {9, ValueType::kSigned, static_cast<uint64_t>(int64_t{-42})});
  encoder.AddOperationValue(4, {10, ValueType::kText, 11});
  encoder.AddCounter({1000, 12, 42, 0.25});
  EncodedBatch encoded = encoder.Finish(1, 12);
  EXPECT_EQ(encoded.counts[EventKind::kOperation], 4u);
  EXPECT_EQ(encoded.counts[EventKind::kCounter], 1u);
  wire::Batch batch = DecodedBatch(encoded);
  const wire::OperationColumns& columns = batch.operations();
  ASSERT_EQ(columns.dtypes_id_size(), 4);
  ASSERT_EQ(columns.flops_size(), 4);
  ASSERT_EQ(columns.output_bytes_size(), 4);
  for (int row = 0; row < 4; ++row) {
    EXPECT_EQ(columns.dtypes_id(row), row == 1 ? 7u : 0u);
    EXPECT_EQ(columns.flops(row), row == 1 ? 1'000'000 : 0);
    EXPECT_EQ(columns.output_bytes(row), row == 1 ? -5 : 0);
  }
  const wire::OperationValueColumns& values = batch.operation_values();
  EXPECT_EQ(Undelta(values.operation_delta()), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(values.name_id(1), 10u);
  EXPECT_EQ(values.type(1), wire::TEXT);
  EXPECT_EQ(static_cast<int64_t>(values.bits(0)), -42);
  EXPECT_EQ(Undelta(batch.counters().time_delta_ns()), std::vector<int64_t>{1000});
  EXPECT_EQ(std::bit_cast<double>(batch.counters().bits(0)), 0.25);
  EXPECT_EQ(batch.counters().thread_id(0), 42u);
  // Nothing of it is in the next one.
  encoder.AddOperation(Operation{});
  batch = DecodedBatch(encoder.Finish(2, 12));
  EXPECT_EQ(batch.operations().flops_size(), 0);
  EXPECT_FALSE(batch.has_operation_values());
  EXPECT_FALSE(batch.has_counters());
}

TEST(BatchEncoder, EveryKindOfEventHasItsColumns) {
  BatchEncoder encoder;
  Operation operation = {(uint64_t{3} << 40) | 1, 100, 250, 42, 1, 'o', false, 2, 3, 8, 0, 0, 0};
  encoder.AddOperation(operation);
  operation.id += 1;
  operation.asynchronous = true;
  encoder.AddOpened(operation);
  encoder.AddClosed(operation.id, 900);
  Work copy = {};
  copy.bytes = 4096;
  copy.copy_kind = 1;
  copy.source_memory = 2;
  copy.destination_memory = 3;
  copy.destination_device_plus_one = 2;
  encoder.AddWork(EventKind::kCopy, copy);
  Work fill = {};
  fill.bytes = 16;
  fill.value = 255;
  encoder.AddWork(EventKind::kFill, fill);
  Call call = {5, 9, 77, 42, 211, 2, 4};
  encoder.AddCall(EventKind::kRuntimeCall, call);
  call.cbid = 307;
  encoder.AddCall(EventKind::kDriverCall, call);
  encoder.AddLaunchOperation(77, operation.id);
  EncodedBatch encoded = encoder.Finish(1, 4);
  EXPECT_TRUE(encoder.empty());

  EXPECT_EQ(encoded.counts[EventKind::kOperation], 2u) << "opened counts, closed does not again";
  EXPECT_EQ(encoded.counts[EventKind::kCopy], 1u);
  EXPECT_EQ(encoded.counts[EventKind::kFill], 1u);
  EXPECT_EQ(encoded.counts[EventKind::kRuntimeCall], 1u);
  EXPECT_EQ(encoded.counts[EventKind::kDriverCall], 1u);
  EXPECT_EQ(encoded.counts[EventKind::kLaunchOperation], 1u);

  wire::Batch batch = DecodedBatch(encoded);
  EXPECT_EQ(Undelta(batch.operations().id_delta())[0],
            static_cast<int64_t>((uint64_t{3} << 40) | 1));
  EXPECT_EQ(batch.operations().duration_ns(0), 150);
  EXPECT_EQ(batch.operations().kind(0), static_cast<uint32_t>('o'));
  EXPECT_EQ(batch.operations().form_size(), 0);
  EXPECT_EQ(batch.operations().sequence_number(0), 8);
  EXPECT_EQ(batch.opened().form(0), wire::START_END);
  EXPECT_EQ(batch.opened().duration_ns_size(), 0);
  EXPECT_EQ(Undelta(batch.closed().end_delta_ns())[0], 900);
  EXPECT_EQ(batch.copies().bytes(0), 4096u);
  EXPECT_EQ(batch.copies().destination_device(0), 2u);
  EXPECT_EQ(batch.fills().value(0), 255u);
  EXPECT_EQ(batch.runtime_calls().cbid(0), 211u);
  EXPECT_EQ(batch.runtime_calls().result(0), 2u);
  EXPECT_EQ(batch.driver_calls().cbid(0), 307u);
  EXPECT_EQ(Undelta(batch.launch_operations().operation_delta())[0],
            static_cast<int64_t>(operation.id));
}

TEST(BatchEncoder, ABatchHoldsNothingOfTheOneBefore) {
  BatchEncoder encoder;
  encoder.AddKernel(Kernel(100, 200, 5, 1), LaunchConfiguration());
  encoder.Finish(1, 1);
  encoder.AddKernel(Kernel(300, 400, 6, 0), LaunchConfiguration());
  wire::Batch batch = DecodedBatch(encoder.Finish(2, 1));
  EXPECT_EQ(Undelta(batch.kernels().start_delta_ns()), (std::vector<int64_t>{300}));
  EXPECT_EQ(Undelta(batch.kernels().correlation_delta()), (std::vector<int64_t>{6}));
  EXPECT_EQ(batch.kernels().name_id_size(), 0);
}

}  // namespace
}  // namespace tp::collect

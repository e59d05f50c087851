#include "analyzer/wire/batch_decoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tp {
namespace {

struct Kept {
  std::vector<Span> spans;
  std::vector<std::pair<uint64_t, int64_t>> closed;
  std::vector<DeviceActivity> activities;
  std::vector<std::pair<uint64_t, uint64_t>> launches;
  std::vector<std::pair<StringId, KernelLaunch>> kernel_launches;
  std::vector<MemoryChange> memory;
  std::vector<GraphNode> graph_nodes;
  std::vector<SpanValue> values;
  std::vector<CounterValue> counters;

  void AddSpan(const Span& span) { spans.push_back(span); }
  void AddSpanValue(const SpanValue& value) { values.push_back(value); }
  void AddCounter(const CounterValue& counter) { counters.push_back(counter); }
  void CloseSpan(uint64_t id, int64_t end_ns) { closed.emplace_back(id, end_ns); }
  void AddActivity(const DeviceActivity& activity) { activities.push_back(activity); }
  void AddLaunchOperation(uint64_t correlation, uint64_t operation) {
    launches.emplace_back(correlation, operation);
  }
  void AddKernelLaunch(StringId kernel, const KernelLaunch& launch) {
    kernel_launches.emplace_back(kernel, launch);
  }
  void AddMemory(const MemoryChange& event) { memory.push_back(event); }
  void AddGraphNode(const GraphNode& node) { graph_nodes.push_back(node); }
  size_t rows() const { return spans.size() + closed.size() + activities.size() + launches.size(); }
};

class BatchDecoder : public testing::Test {
 protected:
  BatchDecoder() : names_(&strings_) {
    wire::Strings texts;
    texts.set_first_id(1);
    for (const char* text : {"mm", "kernel", "cudaLaunchKernel", "[[2, 3], []]"}) {
      texts.add_text(text);
    }
    EXPECT_TRUE(names_.Add(texts).ok());
    batch_.set_sequence(1);
    clock_.Add({.host_ns = 1'000'000, .cupti_ns = 5'000'000, .bracket_ns = 10});
  }

  absl::StatusOr<EventCounts> Decode() { return DecodeBatch(batch_, &names_, clock_, kept_); }

  StringTable strings_;
  NameTable names_;
  ClockTime clock_;
  wire::Batch batch_;
  Kept kept_;
};

TEST_F(BatchDecoder, WhatRangesCarryComesWithThem) {
  wire::OperationColumns* operations = batch_.mutable_operations();
  operations->add_start_delta_ns(100);
  operations->add_id_delta(5);
  operations->add_name_id(1);
  operations->add_dtypes_id(3);
  operations->add_flops(1000);
  operations->add_output_bytes(-4);
  wire::OperationValueColumns* values = batch_.mutable_operation_values();
  values->add_operation_delta(5);
  values->add_operation_delta(0);
  values->add_operation_delta(0);
  values->add_name_id(2);
  values->add_type(wire::SIGNED);
  values->add_type(wire::TEXT);
  values->add_type(static_cast<wire::ValueType>(77));
  values->add_bits(static_cast<uint64_t>(int64_t{-1}));
  values->add_bits(1);
  values->add_bits(0);
  wire::CounterColumns* counters = batch_.mutable_counters();
  counters->add_time_delta_ns(70);
  counters->add_name_id(2);
  counters->add_bits(std::bit_cast<uint64_t>(0.5));
  counters->add_thread_id(9);
  const absl::StatusOr<EventCounts> counts = Decode();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ((*counts)[wire::COUNTER], 1u);
  ASSERT_EQ(kept_.spans.size(), 1u);
  EXPECT_EQ(strings_.Text(kept_.spans[0].dtypes), "cudaLaunchKernel");
  EXPECT_EQ(kept_.spans[0].flops, 1000);
  EXPECT_EQ(kept_.spans[0].output_bytes, -4);
  ASSERT_EQ(kept_.values.size(), 2u) << "a type of a newer collector is skipped";
  EXPECT_EQ(kept_.values[0].span, 5u);
  EXPECT_EQ(strings_.Text(kept_.values[0].name), "kernel");
  EXPECT_EQ(static_cast<int64_t>(kept_.values[0].bits), -1);
  EXPECT_EQ(strings_.Text(static_cast<StringId>(kept_.values[1].bits)), "mm");
  ASSERT_EQ(kept_.counters.size(), 1u);
  EXPECT_EQ(kept_.counters[0].value, 0.5);
  EXPECT_EQ(kept_.counters[0].time_ns, 70);
  EXPECT_EQ(kept_.counters[0].thread, 9);
}

TEST_F(BatchDecoder, ATextThatWasNeverSentIsAnError) {
  wire::OperationValueColumns* values = batch_.mutable_operation_values();
  values->add_operation_delta(5);
  values->add_name_id(1);
  values->add_type(wire::TEXT);
  values->add_bits(uint64_t{1} << 32 | 1);
  EXPECT_FALSE(Decode().ok());
  values->set_bits(0, 4);
  EXPECT_TRUE(Decode().ok());
  values->set_operation_delta(0, 0);
  EXPECT_FALSE(Decode().ok()) << "of no operation";
}

TEST_F(BatchDecoder, AKernelHasTheLaunchConfigurationThatItNames) {
  wire::LaunchConfigurationColumns* launches = batch_.mutable_launch_configurations();
  for (uint32_t x : {10, 20}) launches->add_grid_x(x);
  launches->add_block_x(128);  // For all rows.
  launches->add_registers_per_thread(40);
  for (uint32_t x : {0, 2}) launches->add_cluster_x(x);
  wire::WorkColumns* kernels = batch_.mutable_kernels();
  for (int i = 0; i < 3; ++i) kernels->add_start_delta_ns(100);
  for (uint32_t row : {2, 0, 1}) kernels->add_launch_configuration(row);
  for (int64_t time : {0, 1, -7}) kernels->add_queued_to_start_ns(time);
  ASSERT_TRUE(Decode().ok());
  ASSERT_EQ(kept_.activities.size(), 3u);
  ASSERT_EQ(kept_.kernel_launches.size(), 3u);
  const auto launch = [&](int i) { return kept_.kernel_launches[i].second; };
  EXPECT_EQ(launch(0).configuration.grid[0], 20u);
  EXPECT_EQ(launch(0).configuration.block[0], 128u);
  EXPECT_EQ(launch(0).configuration.registers_per_thread, 40u);
  EXPECT_EQ(launch(0).configuration.cluster[0], 2u);
  EXPECT_FALSE(launch(1).configuration.known());
  EXPECT_EQ(launch(2).configuration.grid[0], 10u);
  EXPECT_EQ(launch(0).queued_to_start_ns, kUnknownDuration);
  EXPECT_EQ(launch(1).queued_to_start_ns, 0);
  EXPECT_EQ(launch(2).queued_to_start_ns, -7);
  EXPECT_EQ(launch(2).submitted_to_start_ns, kUnknownDuration);
  EXPECT_EQ(kept_.kernel_launches[0].first, kept_.activities[0].name);

  kernels->set_launch_configuration(0, 3);
  EXPECT_FALSE(Decode().ok()) << "there are two";
  EXPECT_EQ(kept_.rows(), 3u);
}

TEST_F(BatchDecoder, ReadsWaitsGraphsMemoryAndOverhead) {
  batch_.mutable_graphs()->add_start_delta_ns(5'000'100);
  batch_.mutable_graphs()->add_duration_ns(50);
  batch_.mutable_graphs()->add_graph_id(3);
  wire::SynchronizationColumns* waits = batch_.mutable_synchronizations();
  for (int64_t delta : {5'000'200, 100}) waits->add_start_delta_ns(delta);
  waits->add_duration_ns(7);
  for (uint32_t type : {3, 4}) waits->add_type(type);
  waits->add_context(1);
  for (uint32_t stream : {8, 0}) waits->add_stream_plus_one(stream);
  batch_.mutable_overheads()->add_start_delta_ns(5'000'300);
  batch_.mutable_overheads()->add_name_id(1);
  batch_.mutable_compilations()->add_start_delta_ns(5'000'300);
  wire::MemoryColumns* memory = batch_.mutable_memory();
  for (int64_t delta : {5'000'400, 10}) memory->add_time_delta_ns(delta);
  for (auto operation : {wire::ALLOCATION, wire::RELEASE}) memory->add_operation(operation);
  for (int64_t delta : {1000, 0}) memory->add_address_delta(delta);
  memory->add_bytes(64);
  memory->add_kind(3);
  wire::GraphNodeColumns* nodes = batch_.mutable_graph_nodes();
  for (int64_t delta : {10, 10}) nodes->add_node_delta(delta);
  for (int64_t delta : {7, -7}) nodes->add_operation_delta(delta);
  for (int64_t delta : {0, 10}) nodes->add_original_delta(delta);

  absl::StatusOr<EventCounts> counts = Decode();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ((*counts)[wire::GRAPH], 1u);
  EXPECT_EQ((*counts)[wire::SYNCHRONIZATION], 2u);
  EXPECT_EQ((*counts)[wire::MEMORY], 2u);
  EXPECT_EQ((*counts)[wire::OVERHEAD], 1u);
  EXPECT_EQ((*counts)[wire::COMPILATION], 1u);
  EXPECT_EQ((*counts)[wire::GRAPH_NODE], 2u);
  ASSERT_EQ(kept_.activities.size(), 5u);
  EXPECT_EQ(kept_.activities[0].kind, ActivityKind::kGraph);
  EXPECT_EQ(strings_.Text(kept_.activities[0].name), "CUDA graph 3");
  EXPECT_EQ(kept_.activities[0].start_ns, 1'000'100);
  EXPECT_EQ(kept_.activities[1].kind, ActivityKind::kSynchronization);
  EXPECT_EQ(strings_.Text(kept_.activities[1].name), "stream synchronize");
  EXPECT_TRUE(kept_.activities[1].has_stream);
  EXPECT_EQ(kept_.activities[1].stream, 7u);
  EXPECT_EQ(strings_.Text(kept_.activities[2].name), "context synchronize");
  EXPECT_FALSE(kept_.activities[2].has_stream);
  EXPECT_EQ(kept_.activities[2].end_ns, 1'000'307);
  EXPECT_EQ(kept_.activities[3].kind, ActivityKind::kOverhead);
  EXPECT_EQ(kept_.activities[4].kind, ActivityKind::kCompilation);
  ASSERT_EQ(kept_.memory.size(), 2u);
  EXPECT_EQ(kept_.memory[1].time_ns, 1'000'410);
  EXPECT_EQ(kept_.memory[1].operation, MemoryOperation::kRelease);
  EXPECT_EQ(kept_.memory[1].address, 1000u);
  ASSERT_EQ(kept_.graph_nodes.size(), 2u);
  EXPECT_EQ(kept_.graph_nodes[0].operation, 7u);
  EXPECT_EQ(kept_.graph_nodes[0].original, 0u);
  EXPECT_EQ(kept_.graph_nodes[1].id, 20u);
  EXPECT_EQ(kept_.graph_nodes[1].operation, kNoOperation);
  EXPECT_EQ(kept_.graph_nodes[1].original, 10u);

  memory->add_bytes(1);
  memory->add_bytes(1);
  EXPECT_FALSE(Decode().ok()) << "three entries for two rows";
}

TEST_F(BatchDecoder, ReadsOperationsInHostTime) {
  wire::OperationColumns* columns = batch_.mutable_operations();
  for (int64_t delta : {100, 50, -20}) columns->add_start_delta_ns(delta);
  for (int64_t duration : {10, 20, 30}) columns->add_duration_ns(duration);
  for (int64_t delta : {7, 1, -3}) columns->add_id_delta(delta);
  columns->add_name_id(1);  // For all rows.
  for (uint32_t kind : {'o', 'b', 'x'}) columns->add_kind(kind);
  for (auto form : {wire::PUSH_POP, wire::START_END, wire::PUSH_POP}) columns->add_form(form);
  for (uint32_t shapes : {4, 0, 4}) columns->add_shapes_id(shapes);
  columns->add_thread_id(77);

  absl::StatusOr<EventCounts> counts = Decode();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ((*counts)[wire::OPERATION], 3u);
  ASSERT_EQ(kept_.spans.size(), 3u);
  EXPECT_EQ(kept_.spans[0].start_ns, 100);
  EXPECT_EQ(kept_.spans[1].start_ns, 150);
  EXPECT_EQ(kept_.spans[2].start_ns, 130);
  EXPECT_EQ(kept_.spans[2].end_ns, 160);
  EXPECT_EQ(kept_.spans[0].id, 7u);
  EXPECT_EQ(kept_.spans[1].id, 8u);
  EXPECT_EQ(kept_.spans[2].id, 5u);
  EXPECT_EQ(kept_.spans[0].kind, SpanKind::kOperation);
  EXPECT_EQ(kept_.spans[1].kind, SpanKind::kBackward);
  EXPECT_EQ(kept_.spans[2].kind, SpanKind::kUserAnnotation);
  EXPECT_FALSE(kept_.spans[0].asynchronous);
  EXPECT_TRUE(kept_.spans[1].asynchronous);
  EXPECT_EQ(kept_.spans[2].thread, 77);
  EXPECT_EQ(strings_.Text(kept_.spans[2].name), "mm");
  EXPECT_EQ(strings_.Text(kept_.spans[0].shapes), "[[2, 3], []]");
  EXPECT_EQ(kept_.spans[1].shapes, 0u);
}

TEST_F(BatchDecoder, AnOperationThatOpensAndClosesCountsOnce) {
  batch_.mutable_opened()->add_start_delta_ns(100);
  batch_.mutable_opened()->add_id_delta(9);
  batch_.mutable_closed()->add_id_delta(9);
  batch_.mutable_closed()->add_end_delta_ns(400);
  absl::StatusOr<EventCounts> counts = Decode();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ((*counts)[wire::OPERATION], 1u);
  ASSERT_EQ(kept_.spans.size(), 1u);
  EXPECT_EQ(kept_.spans[0].end_ns, kStillOpen);
  EXPECT_EQ(kept_.closed, (std::vector<std::pair<uint64_t, int64_t>>{{9, 400}}));
}

TEST_F(BatchDecoder, BringsDeviceTimesToTheHostClock) {
  wire::WorkColumns* kernels = batch_.mutable_kernels();
  kernels->add_start_delta_ns(5'000'100);
  kernels->add_start_delta_ns(50);
  kernels->add_duration_ns(25);
  kernels->add_correlation_delta(3);  // For all rows: 3, then 6.
  kernels->add_name_id(2);
  kernels->add_device(1);
  kernels->add_context(2);
  kernels->add_stream(7);
  wire::CallColumns* calls = batch_.mutable_runtime_calls();
  calls->add_start_delta_ns(5'000'000);
  calls->add_duration_ns(-1);
  calls->add_correlation_delta(3);
  calls->add_thread_id(12);
  calls->add_name_id(3);
  calls->add_result(700);
  calls->add_cbid(211);
  ASSERT_TRUE(Decode().ok());
  ASSERT_EQ(kept_.activities.size(), 3u);
  const DeviceActivity& call = kept_.activities[0];
  EXPECT_EQ(call.kind, ActivityKind::kRuntimeCall);
  EXPECT_EQ(call.start_ns, 1'000'000);
  EXPECT_EQ(call.end_ns, 999'999);
  EXPECT_EQ(call.device, -1);
  EXPECT_EQ(call.thread, 12);
  EXPECT_EQ(call.result, 700u);
  EXPECT_EQ(call.cbid, 211u);
  const DeviceActivity& kernel = kept_.activities[2];
  EXPECT_EQ(kernel.kind, ActivityKind::kKernel);
  EXPECT_EQ(kernel.start_ns, 1'000'150);
  EXPECT_EQ(kernel.end_ns, 1'000'175);
  EXPECT_EQ(kernel.correlation, 6u);
  EXPECT_EQ(kernel.operation, kNoOperation);
  EXPECT_EQ(kernel.device, 1);
  EXPECT_EQ(kernel.context, 2u);
  EXPECT_EQ(kernel.stream, 7u);
  EXPECT_EQ(strings_.Text(kernel.name), "kernel");
}

TEST_F(BatchDecoder, CopiesAndFillsGetTheNamesThatCuptiDoesNotGive) {
  wire::WorkColumns* copies = batch_.mutable_copies();
  copies->add_start_delta_ns(1);
  copies->add_bytes(4096);
  copies->add_copy_kind(2);
  copies->add_source_memory(3);
  copies->add_destination_memory(1);
  wire::WorkColumns* fills = batch_.mutable_fills();
  fills->add_start_delta_ns(1);
  fills->add_source_memory(3);
  fills->add_value(255);
  absl::StatusOr<EventCounts> counts = Decode();
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ((*counts)[wire::COPY], 1u);
  EXPECT_EQ((*counts)[wire::FILL], 1u);
  EXPECT_EQ(strings_.Text(kept_.activities[0].name), "Memcpy DtoH (Device -> Pageable)");
  EXPECT_EQ(kept_.activities[0].bytes, 4096u);
  EXPECT_EQ(strings_.Text(kept_.activities[1].name), "Memset (Device)");
  EXPECT_EQ(kept_.activities[1].value, 255u);
}

TEST_F(BatchDecoder, ALaunchWithoutOperationHasNone) {
  wire::LaunchOperationColumns* launches = batch_.mutable_launch_operations();
  for (int64_t delta : {5, 1}) launches->add_correlation_delta(delta);
  for (int64_t delta : {8, -8}) launches->add_operation_delta(delta);
  ASSERT_TRUE(Decode().ok());
  EXPECT_EQ(kept_.launches,
            (std::vector<std::pair<uint64_t, uint64_t>>{{5, 8}, {6, kNoOperation}}));
}

TEST_F(BatchDecoder, AWrongColumnLengthIsAnErrorAndNothingIsHandedOn) {
  const std::vector<std::pair<const char*, std::function<void(wire::Batch*)>>> wrong = {
      {"duration_ns",
       [](wire::Batch* b) {
         for (int i : {1, 2}) b->mutable_kernels()->add_duration_ns(i);
       }},
      {"graph_node",
       [](wire::Batch* b) {
         for (int i : {1, 2, 3, 4}) b->mutable_kernels()->add_graph_node(i);
       }},
      {"form",
       [](wire::Batch* b) {
         for (int i : {1, 2}) {
           b->mutable_operations()->add_form(wire::OperationForm(i));
         }
       }},
      {"cbid",
       [](wire::Batch* b) {
         for (int i : {1, 2}) b->mutable_driver_calls()->add_cbid(i);
       }},
      {"operation_delta",
       [](wire::Batch* b) {
         for (int i : {1, 2}) b->mutable_launch_operations()->add_operation_delta(i);
       }},
      {"end_delta_ns", [](wire::Batch* b) {
         for (int i : {1, 2}) b->mutable_closed()->add_end_delta_ns(i);
       }}};
  for (const auto& [column, break_it] : wrong) {
    batch_.Clear();
    batch_.set_sequence(1);
    for (int row = 0; row < 3; ++row) {
      batch_.mutable_kernels()->add_start_delta_ns(1);
      batch_.mutable_operations()->add_start_delta_ns(1);
      batch_.mutable_operations()->add_id_delta(1);
      batch_.mutable_driver_calls()->add_start_delta_ns(1);
      batch_.mutable_launch_operations()->add_correlation_delta(1);
      batch_.mutable_closed()->add_id_delta(1);
    }
    ASSERT_TRUE(CheckBatch(batch_, names_).ok());
    break_it(&batch_);
    absl::StatusOr<EventCounts> counts = Decode();
    EXPECT_EQ(counts.status().code(), absl::StatusCode::kInvalidArgument) << column;
    EXPECT_NE(counts.status().message().find(column), absl::string_view::npos) << counts.status();
    EXPECT_EQ(kept_.rows(), 0u);
  }
}

TEST_F(BatchDecoder, AnUnknownNameIsAnError) {
  batch_.mutable_kernels()->add_start_delta_ns(1);
  batch_.mutable_kernels()->add_name_id(4);
  EXPECT_TRUE(Decode().ok());
  batch_.mutable_kernels()->set_name_id(0, 5);
  EXPECT_FALSE(Decode().ok());
  batch_.mutable_kernels()->set_name_id(0, UINT32_MAX);
  EXPECT_FALSE(Decode().ok());
  EXPECT_EQ(kept_.rows(), 1u);
}

TEST_F(BatchDecoder, AnOperationWithoutAnIdIsAnError) {
  batch_.mutable_operations()->add_start_delta_ns(1);
  EXPECT_FALSE(Decode().ok());
  batch_.mutable_operations()->add_id_delta(-1);  // All ones.
  EXPECT_FALSE(Decode().ok());
  batch_.mutable_operations()->set_id_delta(0, 1);
  EXPECT_TRUE(Decode().ok());
}

TEST_F(BatchDecoder, ABatchWithoutASequenceNumberIsAnError) {
  batch_.set_sequence(0);
  EXPECT_FALSE(Decode().ok());
}

TEST_F(BatchDecoder, HugeDeltasWrapAndTimesStopAtTheirEnds) {
  for (int64_t extreme : {INT64_MIN, INT64_MAX}) {
    wire::WorkColumns* kernels = batch_.mutable_kernels();
    wire::OperationColumns* operations = batch_.mutable_operations();
    for (int row = 0; row < 5; ++row) {
      for (auto* field :
           {kernels->mutable_start_delta_ns(), kernels->mutable_duration_ns(),
            kernels->mutable_correlation_delta(), operations->mutable_start_delta_ns(),
            operations->mutable_duration_ns()}) {
        field->Add(extreme);
      }
      operations->add_id_delta(row == 0 ? 3 : extreme);
    }
  }
  absl::StatusOr<EventCounts> counts = Decode();
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ((*counts)[wire::KERNEL], 10u);
  for (const Span& span : kept_.spans) EXPECT_NE(span.end_ns, kStillOpen);
}

TEST_F(BatchDecoder, UnknownFieldsAndKindsAreSkipped) {
  batch_.mutable_fills()->add_start_delta_ns(1);
  std::string bytes = batch_.SerializeAsString();
  bytes += std::string("\xa2\x06\x03xyz",
                       6);  // Field 100, three bytes: an activity kind of later times.
  wire::Batch read;
  ASSERT_TRUE(read.ParseFromString(bytes));
  absl::StatusOr<EventCounts> counts = DecodeBatch(read, &names_, clock_, kept_);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ((*counts)[wire::FILL], 1u);
  EXPECT_EQ(kept_.rows(), 1u);
}

}  // namespace
}  // namespace tp

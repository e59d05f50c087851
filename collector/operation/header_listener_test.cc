// What a program tells, from its calls to the columns that travel.
#include "collector/operation/header_listener.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "collector/link/batch_encoder.h"
#include "collector/link/decoded_frame.h"
#include "collector/link/string_table.h"
#include "collector/operation/nvtx_registry.h"
#include "collector/operation/operation_details.h"
#include "collector/operation/operation_reader.h"
#include "collector/operation/thread_operations.h"
#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

class HeaderListener : public testing::Test {
 protected:
  void SetUp() override {
    ThreadOperationsList::Configure(24 << 20, nullptr);
    functions_ = HeaderFunctions();
    reader_.BeginCapture(INT64_MIN);
    Take();
  }

  wire::Batch Take(bool send_open = false) {
    reader_.Read([](void*) {}, nullptr);
    if (send_open) reader_.SendOpen();
    return DecodedBatch(encoder_.Finish(1, strings_.last_id()));
  }
  std::string Text(uint32_t id) { return std::string(strings_.Text(id)); }
  template <typename Field>
  static auto At(const Field& field, int row) {
    return field.size() == 0 ? 0 : field.size() == 1 ? field.Get(0) : field.Get(row);
  }
  // "name=value" of each row.
  std::vector<std::string> Values(const wire::Batch& batch) {
    const wire::OperationValueColumns& columns = batch.operation_values();
    std::vector<std::string> values;
    for (int row = 0; row < columns.operation_delta_size(); ++row) {
      const uint64_t bits = At(columns.bits(), row);
      std::string value;
      switch (At(columns.type(), row)) {
        case wire::TEXT:
          value = Text(static_cast<uint32_t>(bits));
          break;
        case wire::REAL:
          value = std::to_string(std::bit_cast<double>(bits));
          break;
        case wire::SIGNED:
          value = std::to_string(static_cast<int64_t>(bits));
          break;
        default:
          value = std::to_string(bits);
      }
      values.push_back(Text(At(columns.name_id(), row)) + "=" + value);
    }
    return values;
  }

  const tpcollect_functions* functions_ = nullptr;
  StringTable strings_;
  BatchEncoder encoder_;
  UncorrelatedThreads uncorrelated_;
  ReopenedRanges reopened_;
  OperationReader reader_{&strings_, &encoder_, &uncorrelated_, &reopened_, 16 << 20};
};

tpcollect_operation Named(const char* name) { return TPCOLLECT_OPERATION_INIT(name); }

TEST_F(HeaderListener, AnOperationHasAllThatItWasTold) {
  const int64_t matrix[] = {128, 64}, vector[] = {64};
  const tpcollect_tensor inputs[] = {
      {matrix, "float", 2, 0}, {vector, nullptr, 1, 0}, {nullptr, "int\"64", 0, 0}};
  tpcollect_operation operation = Named("mm, seq = 3");
  operation.kind = TPCOLLECT_KIND_BACKWARD;
  operation.inputs = inputs;
  operation.input_count = 3;
  operation.flops = 16384;
  operation.output_bytes = 512;
  functions_->begin_operation(&operation);
  functions_->end();
  const wire::Batch batch = Take();
  const wire::OperationColumns& columns = batch.operations();
  ASSERT_EQ(columns.start_delta_ns_size(), 1);
  EXPECT_EQ(Text(columns.name_id(0)), "mm, seq = 3") << "a name is no text of PyTorch's";
  EXPECT_EQ(columns.kind(0), static_cast<uint32_t>('b'));
  EXPECT_EQ(Text(columns.shapes_id(0)), "[[128, 64], [64], []]");
  EXPECT_EQ(Text(columns.dtypes_id(0)), R"(["float", "", "int\"64"])");
  EXPECT_EQ(columns.flops(0), 16384);
  EXPECT_EQ(columns.output_bytes(0), 512);
}

TEST_F(HeaderListener, APlainRangeIsAUserAnnotationWhateverItsName) {
  functions_->begin("aten::mm, seq = 3");
  functions_->end();
  const wire::Batch batch = Take();
  ASSERT_EQ(batch.operations().start_delta_ns_size(), 1);
  EXPECT_EQ(Text(batch.operations().name_id(0)), "aten::mm, seq = 3");
  EXPECT_EQ(batch.operations().kind(0), static_cast<uint32_t>('u'));
  EXPECT_EQ(batch.operations().flops_size(), 0);
}

TEST_F(HeaderListener, ItsEndsDoNotEndNvtxsRanges) {
  ThreadOperations* thread = ThreadOperations::Current();
  functions_->begin("ours");
  thread->Push(nullptr, {.text = "NVTX's"});
  functions_->end();
  functions_->end();
  EXPECT_EQ(thread->Pop(nullptr), 0) << "it was still open";
  EXPECT_EQ(Take().operations().start_delta_ns_size(), 2);
}

TEST_F(HeaderListener, AnAsynchronousSpanEndsOnAnotherThread) {
  tpcollect_operation operation = Named("copy");
  operation.output_bytes = 7;
  const uint64_t span = functions_->start(&operation);
  ASSERT_NE(span, 0u);
  wire::Batch batch = Take(/*send_open=*/true);
  ASSERT_EQ(batch.opened().start_delta_ns_size(), 1);
  EXPECT_EQ(batch.opened().form(0), wire::START_END);
  EXPECT_EQ(batch.opened().output_bytes(0), 7);
  std::thread([&] { functions_->stop(span); }).join();
  EXPECT_EQ(Take().closed().id_delta_size(), 1);
  functions_->stop(0);
}

TEST_F(HeaderListener, InputsThatFindNoRoomAreLeftOutWholeAndCounted) {
  const int64_t sizes[kMostRank + 1] = {};
  std::vector<tpcollect_tensor> inputs(100, tpcollect_tensor{sizes, "float", 8, 0});
  tpcollect_operation operation = Named("large");
  operation.inputs = inputs.data();
  operation.input_count = static_cast<uint32_t>(inputs.size());
  operation.flops = 3;
  const uint64_t lost = ThreadOperationsList::lost_details();
  functions_->begin_operation(&operation);
  functions_->end();
  const tpcollect_tensor deep = {sizes, nullptr, kMostRank + 1, 0};
  operation.inputs = &deep;
  operation.input_count = 1;
  functions_->begin_operation(&operation);
  functions_->end();
  EXPECT_EQ(ThreadOperationsList::lost_details(), lost + 2);
  const wire::Batch batch = Take();
  EXPECT_EQ(batch.operations().start_delta_ns_size(), 2);
  EXPECT_EQ(batch.operations().shapes_id_size(), 0);
  ASSERT_EQ(batch.operations().flops_size(), 1) << "both have the same";
}

TEST_F(HeaderListener, AnOlderProgramsStructIsTakenAsFarAsItGoes) {
  tpcollect_operation operation = Named("old");
  operation.flops = 99;
  operation.struct_size = offsetof(tpcollect_operation, flops);
  functions_->begin_operation(&operation);
  functions_->end();
  const wire::Batch batch = Take();
  EXPECT_EQ(Text(batch.operations().name_id(0)), "old");
  EXPECT_EQ(batch.operations().flops_size(), 0);
}

TEST_F(HeaderListener, CountersCountInCapturedTimeAlone) {
  functions_->counter("loss", 0.25);
  functions_->counter("loss", -1e300);
  wire::Batch batch = Take();
  const wire::CounterColumns& columns = batch.counters();
  ASSERT_EQ(columns.time_delta_ns_size(), 2);
  EXPECT_EQ(Text(columns.name_id(0)), "loss");
  EXPECT_EQ(std::bit_cast<double>(columns.bits(0)), 0.25);
  EXPECT_EQ(std::bit_cast<double>(columns.bits(1)), -1e300);
  EXPECT_EQ(columns.thread_id(0), static_cast<uint32_t>(gettid()));
  functions_->counter("loss", 1);
  reader_.EndCapture(
      HostTimeNs(), [](void*) {}, nullptr);
  functions_->counter("loss", 2);
  EXPECT_EQ(Take().counters().time_delta_ns_size(), 1) << "one was before the end";
}

TEST_F(HeaderListener, CategoriesAndPayloadsTravelWithTheirRange) {
  const Domain* domain = RegisterDomain("listener test");
  NameCategory(domain, 3, "third");
  ThreadOperations* thread = ThreadOperations::Current();
  const auto push = [&](uint32_t category, int32_t type, uint64_t payload) {
    DetailsWriter writer;
    writer.Put(NvtxHeader{category, type, payload, 0});
    thread->Push(domain, {.text = "range", .details = writer.bytes(), .form = DetailsForm::kNvtx});
    thread->Pop(domain);
  };
  push(3, 2, static_cast<uint64_t>(int64_t{-42}));
  push(4, 3, std::bit_cast<uint64_t>(0.5));
  push(0, 5, static_cast<uint32_t>(-7));
  EXPECT_EQ(Values(Take()), (std::vector<std::string>{"category=third", "payload=-42", "category=4",
                                                      "payload=0.500000", "payload=-7"}));
}

TEST_F(HeaderListener, WhatIsToldAtTheEndBelongsToTheRangeThatEnds) {
  ThreadOperations* thread = ThreadOperations::Current();
  thread->Push(nullptr, {.text = "outer"});
  thread->Push(nullptr, {.text = "inner"});
  wire::Batch batch = Take(/*send_open=*/true);
  const std::vector<int64_t> ids = Undelta(batch.opened().id_delta());
  DetailsWriter writer;
  writer.Put(NvtxHeader{0, 2, 5, 0});
  thread->AddToInnermost(nullptr, writer.bytes(), DetailsForm::kNvtx);
  thread->Pop(nullptr);
  batch = Take();
  EXPECT_EQ(Values(batch), std::vector<std::string>{"payload=5"});
  EXPECT_EQ(Undelta(batch.operation_values().operation_delta()), std::vector<int64_t>{ids[1]});
  // A daemon that comes anew learns what the open ones have.
  thread->AddToInnermost(nullptr, writer.bytes(), DetailsForm::kNvtx);
  Take();
  reader_.SendOpenAgain();
  batch = Take();
  EXPECT_EQ(batch.reopened().id_delta_size(), 1);
  EXPECT_EQ(Undelta(batch.operation_values().operation_delta()), std::vector<int64_t>{ids[0]});
  thread->Pop(nullptr);
  Take();
}

TEST_F(HeaderListener, WhatIsToldOfARangeBeyondTheDeepestIsNoOthers) {
  std::thread([] {
    ThreadOperations* thread = ThreadOperations::Current();
    // So that its nesting cannot grow, though its ring has room.
    ThreadOperationsList::Configure(ThreadOperationsList::memory_bytes(), nullptr);
    DetailsWriter writer;
    writer.Put(NvtxHeader{0, 2, 5, 0});
    constexpr int kTooDeep = 200;
    for (int i = 0; i < kTooDeep; ++i) thread->Push(nullptr, {.text = "deep"});
    thread->AddToInnermost(nullptr, writer.bytes(), DetailsForm::kNvtx);
    for (int i = 0; i < kTooDeep; ++i) thread->Pop(nullptr);
    thread->Push(nullptr, {.text = "shallow"});
    thread->AddToInnermost(nullptr, writer.bytes(), DetailsForm::kNvtx);
    thread->Pop(nullptr);
  }).join();
  EXPECT_EQ(Values(Take()), std::vector<std::string>{"payload=5"});
}

}  // namespace
}  // namespace tp::collect

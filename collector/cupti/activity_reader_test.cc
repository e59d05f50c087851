#include "collector/cupti/activity_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "collector/link/decoded_frame.h"
#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

// Buffers are made from the toolkit's headers and walked by its own libcupti, which needs no GPU
// for that.
class ActivityReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (!LoadCupti(&cupti_, &reason)) GTEST_SKIP() << reason;
  }

  template <typename Record>
  void Append(const Record& record) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
    buffer_.insert(buffer_.end(), bytes, bytes + sizeof(record));
  }

  wire::Batch Read() { return Read(buffer_.size()); }
  wire::Batch Read(size_t valid_bytes, std::optional<uint32_t> own_thread = std::nullopt) {
    StringTable& strings = strings_;
    ActivityReader reader(&cupti_, &strings, &encoder_, &uncorrelated_);
    if (own_thread.has_value()) reader.set_own_thread(*own_thread);
    reader.Read(
        {buffer_.data(), valid_bytes}, [](void*) {}, nullptr);
    unreadable_ = reader.unreadable();
    return DecodedBatch(encoder_.Finish(1, strings.last_id()));
  }

  CuptiApi cupti_;
  StringTable strings_;
  BatchEncoder encoder_;
  UncorrelatedThreads uncorrelated_;
  std::vector<uint8_t> buffer_;
  uint64_t unreadable_ = 0;
};

CUpti_ActivityKernel10 Kernel(const char* name, uint64_t start, uint64_t end) {
  CUpti_ActivityKernel10 kernel = {};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = name;
  kernel.start = start;
  kernel.end = end;
  kernel.deviceId = 1;
  kernel.contextId = 2;
  kernel.streamId = 13;
  kernel.correlationId = 77;
  kernel.graphNodeId = 5;
  return kernel;
}

TEST_F(ActivityReaderTest, EveryKindThatIsAskedForArrivesWithItsFields) {
  Append(Kernel("_Z6kernelv", 1000, 1500));
  CUpti_ActivityMemcpy6 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  copy.start = 2000;
  copy.end = 2600;
  copy.correlationId = 78;
  Append(copy);
  CUpti_ActivityMemcpyPtoP4 peer = {};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.bytes = 8192;
  peer.start = 3000;
  peer.end = 3100;
  peer.dstDeviceId = 3;
  peer.correlationId = 79;
  Append(peer);
  CUpti_ActivityMemset4 fill = {};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.value = 255;
  fill.bytes = 64;
  fill.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  fill.start = 4000;
  fill.end = 4010;
  fill.correlationId = 80;
  Append(fill);
  CUpti_ActivityAPI call = {};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  call.start = 900;
  call.end = 950;
  call.threadId = 4242;
  call.correlationId = 77;
  call.returnValue = 98;
  Append(call);
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
  Append(call);
  CUpti_ActivityExternalCorrelation correlation = {};
  correlation.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  correlation.externalKind = kOperationCorrelation;
  correlation.externalId = 0x123456789abc;
  correlation.correlationId = 77;
  Append(correlation);

  wire::Batch batch = Read();
  EXPECT_EQ(unreadable_, 0u);
  ASSERT_EQ(batch.kernels().start_delta_ns_size(), 1);
  EXPECT_EQ(batch.kernels().start_delta_ns(0), 1000);
  EXPECT_EQ(batch.kernels().duration_ns(0), 500);
  EXPECT_EQ(batch.kernels().device(0), 1u);
  EXPECT_EQ(batch.kernels().context(0), 2u);
  EXPECT_EQ(batch.kernels().stream(0), 13u);
  EXPECT_EQ(batch.kernels().correlation_delta(0), 77);
  EXPECT_EQ(batch.kernels().graph_node(0), 5u);
  EXPECT_EQ(strings_.Text(batch.kernels().name_id(0)), "_Z6kernelv");
  ASSERT_EQ(batch.copies().start_delta_ns_size(), 2);
  EXPECT_EQ(batch.copies().bytes(0), 4096u);
  EXPECT_EQ(batch.copies().bytes(1), 8192u);
  EXPECT_EQ(batch.copies().copy_kind(1), 10u);
  EXPECT_EQ(batch.copies().source_memory(0), 2u);
  EXPECT_EQ(batch.copies().destination_memory(0), 3u);
  EXPECT_EQ(batch.copies().destination_device(0), 0u) << "plus one: none";
  EXPECT_EQ(batch.copies().destination_device(1), 4u) << "plus one";
  EXPECT_EQ(batch.copies().correlation_delta(1), 1) << "79 after 78";
  EXPECT_EQ(batch.fills().bytes(0), 64u);
  EXPECT_EQ(batch.fills().value(0), 255u);
  EXPECT_EQ(batch.runtime_calls().thread_id(0), 4242u);
  EXPECT_EQ(batch.runtime_calls().result(0), 98u);
  EXPECT_EQ(strings_.Text(batch.runtime_calls().name_id(0)), "cudaLaunchKernel");
  EXPECT_EQ(strings_.Text(batch.driver_calls().name_id(0)), "cuLaunchKernel");
  EXPECT_EQ(batch.launch_operations().correlation_delta(0), 77);
  EXPECT_EQ(batch.launch_operations().operation_delta(0), 0x123456789abc);
}

TEST_F(ActivityReaderTest, AnotherToolsCorrelationIsLeftAlone) {
  CUpti_ActivityExternalCorrelation correlation = {};
  correlation.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  correlation.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  correlation.externalId = 1;
  correlation.correlationId = 77;
  Append(correlation);
  EXPECT_EQ(Read().launch_operations().correlation_delta_size(), 0);
  EXPECT_EQ(unreadable_, 0u);
}

TEST_F(ActivityReaderTest, ACallWithinACallNamesItsOperationOnce) {
  CUpti_ActivityExternalCorrelation correlation = {};
  correlation.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  correlation.externalKind = kOperationCorrelation;
  correlation.externalId = 9;
  correlation.correlationId = 77;
  Append(correlation);
  Append(correlation);
  correlation.correlationId = 78;
  Append(correlation);
  EXPECT_EQ(Read().launch_operations().correlation_delta_size(), 2);
}

TEST_F(ActivityReaderTest, AKernelThatIsStillRunningTravelsAsCuptiGaveIt) {
  Append(Kernel("running", 1000, 0));
  wire::Batch batch = Read();
  EXPECT_EQ(batch.kernels().duration_ns(0), -1000);
}

TEST_F(ActivityReaderTest, TheNamesMemoryMayComeToHoldAnother) {
  char name[32] = "first";
  Append(Kernel(name, 1, 2));
  StringTable& strings = strings_;
  ActivityReader reader(&cupti_, &strings, &encoder_, &uncorrelated_);
  reader.Read(
      {buffer_.data(), buffer_.size()}, [](void*) {}, nullptr);
  strcpy(name, "second");
  reader.Read(
      {buffer_.data(), buffer_.size()}, [](void*) {}, nullptr);
  EXPECT_EQ(strings.last_id(), 2u);
  EXPECT_EQ(strings.Text(2), "second");
}

TEST_F(ActivityReaderTest, AKernelWithoutANameAndAnUnknownKindDoNoHarm) {
  Append(Kernel(nullptr, 1, 2));
  CUpti_ActivityOverhead3 overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  Append(overhead);
  Append(Kernel("after", 3, 4));
  wire::Batch batch = Read();
  EXPECT_EQ(batch.kernels().start_delta_ns_size(), 2);
  EXPECT_EQ(unreadable_, 1u);
}

TEST_F(ActivityReaderTest, ABufferCutAnywhereGivesItsWholeRecords) {
  for (int i = 0; i < 5; ++i) Append(Kernel("kernel", 10 * i + 1, 10 * i + 5));
  size_t record = sizeof(CUpti_ActivityKernel10);
  for (size_t valid = 0; valid <= buffer_.size(); valid += 24) {
    EXPECT_EQ(Read(valid).kernels().start_delta_ns_size(), static_cast<int>(valid / record))
        << valid;
  }
}

TEST_F(ActivityReaderTest, OurOwnCallsAreNobodys) {
  CUpti_ActivityAPI call = {};
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  for (uint32_t thread : {4242u, 17u, 0u}) {
    call.threadId = thread;
    Append(call);
  }
  EXPECT_EQ(Read(buffer_.size(), 17).driver_calls().start_delta_ns_size(), 2);
  EXPECT_EQ(Read().driver_calls().start_delta_ns_size(), 3);
}

TEST_F(ActivityReaderTest, EveryCallbackIdHasAName) {
  for (uint32_t cbid : {1u, 211u, 430u, 500u, 999999u}) {
    CUpti_ActivityAPI call = {};
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = cbid;
    Append(call);
  }
  wire::Batch batch = Read();
  ASSERT_EQ(batch.runtime_calls().name_id_size(), 5);
  for (uint32_t id : batch.runtime_calls().name_id()) EXPECT_NE(strings_.Text(id), "");
  EXPECT_EQ(strings_.Text(batch.runtime_calls().name_id(4)), "(unknown call)");
}

}  // namespace
}  // namespace tp::collect

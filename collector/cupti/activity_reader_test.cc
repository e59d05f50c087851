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
    const CuptiClient client(&cupti_);
    ActivityReader reader(&client, &strings, &encoder_, &descriptions_, &uncorrelated_, &reopened_);
    reader.set_leaves_out_chatty_calls(leaves_out_chatty_calls_);
    if (own_thread.has_value()) reader.set_own_thread(*own_thread);
    reader.Read(
        {buffer_.data(), valid_bytes}, [](void*) {}, nullptr);
    unreadable_ = reader.unreadable();
    return DecodedBatch(encoder_.Finish(1, strings.last_id()));
  }

  CuptiApi cupti_;
  StringTable strings_;
  BatchEncoder encoder_;
  Descriptions descriptions_;
  UncorrelatedThreads uncorrelated_;
  ReopenedRanges reopened_;
  std::vector<uint8_t> buffer_;
  bool leaves_out_chatty_calls_ = false;
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

TEST_F(ActivityReaderTest, AKernelTellsHowItWasLaunched) {
  CUpti_ActivityKernel10 kernel = Kernel("kernel", 1000, 1500);
  kernel.gridX = 1 << 30;
  kernel.gridY = 2;
  kernel.gridZ = 3;
  kernel.blockX = 4;
  kernel.blockY = 5;
  kernel.blockZ = 6;
  kernel.registersPerThread = 255;
  kernel.staticSharedMemory = 1024;
  kernel.dynamicSharedMemory = 2048;
  kernel.localMemoryPerThread = 40;
  kernel.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
  kernel.clusterX = 8;
  kernel.queued = 700;
  kernel.submitted = 900;
  Append(kernel);
  wire::Batch batch = Read();
  const wire::LaunchConfigurationColumns& launches = batch.launch_configurations();
  ASSERT_EQ(launches.grid_x_size(), 1);
  EXPECT_EQ(launches.grid_x(0), 1u << 30);
  EXPECT_EQ(launches.grid_y(0), 2u);
  EXPECT_EQ(launches.grid_z(0), 3u);
  EXPECT_EQ(launches.block_x(0), 4u);
  EXPECT_EQ(launches.block_y(0), 5u);
  EXPECT_EQ(launches.block_z(0), 6u);
  EXPECT_EQ(launches.registers_per_thread(0), 255u);
  EXPECT_EQ(launches.static_shared_bytes(0), 1024u);
  EXPECT_EQ(launches.dynamic_shared_bytes(0), 2048u);
  EXPECT_EQ(launches.local_bytes_per_thread(0), 40u);
  EXPECT_EQ(launches.launch_type(0), 1u);
  EXPECT_EQ(launches.cluster_x(0), 8u);
  EXPECT_EQ(batch.kernels().queued_to_start_ns(0), 301);
  EXPECT_EQ(batch.kernels().submitted_to_start_ns(0), 101);
}

TEST_F(ActivityReaderTest, ClustersAreNotReadFromRecordsThatHaveNone) {
  CUpti_ActivityKernel10 kernel = Kernel("kernel", 1000, 1500);
  kernel.gridX = kernel.blockX = 1;
  kernel.clusterX = 8;
  Append(kernel);
  cupti_.version = 17;  // CUDA 11.6.
  EXPECT_EQ(Read().launch_configurations().cluster_x_size(), 0);
}

TEST_F(ActivityReaderTest, ChattyCallsAreLeftOutWhereTheyCome) {
  CUpti_ActivityAPI call = {};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020;
  Append(call);
  call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
  Append(call);
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent;
  Append(call);
  leaves_out_chatty_calls_ = true;
  wire::Batch batch = Read();
  EXPECT_EQ(batch.runtime_calls().start_delta_ns_size(), 1);
  EXPECT_EQ(batch.driver_calls().start_delta_ns_size(), 0);
  leaves_out_chatty_calls_ = false;
  batch = Read();
  EXPECT_EQ(batch.runtime_calls().start_delta_ns_size(), 2);
  EXPECT_EQ(batch.driver_calls().start_delta_ns_size(), 1);
}

TEST_F(ActivityReaderTest, KindsThatAreNotCollectedByDefaultArriveAsWell) {
  CUpti_ActivitySynchronization2 wait = {};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  wait.start = 100;
  wait.end = 150;
  wait.contextId = 1;
  wait.streamId = 7;
  wait.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  Append(wait);
  CUpti_ActivityMemory4 memory = {};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.timestamp = 200;
  memory.address = 0x7f00;
  memory.bytes = 512;
  memory.contextId = CUPTI_INVALID_CONTEXT_ID;
  memory.streamId = 7;
  memory.isAsync = 1;
  memory.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  Append(memory);
  CUpti_ActivityMemoryPool3 pool = {};
  pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  pool.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED;
  pool.timestamp = 300;
  Append(pool);
  CUpti_ActivityGraphTrace2 graph = {};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  graph.start = 400;
  graph.end = 450;
  graph.graphId = 3;
  graph.streamId = 13;
  graph.correlationId = 9;
  Append(graph);
  CUpti_ActivityOverhead3 overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 42;
  overhead.start = 500;
  overhead.end = 530;
  Append(overhead);
  CUpti_ActivityJit2 jit = {};
  jit.kind = CUPTI_ACTIVITY_KIND_JIT;
  jit.jitEntryType = CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN;
  jit.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD;
  jit.start = 600;
  jit.end = 700;
  Append(jit);

  wire::Batch batch = Read();
  EXPECT_EQ(unreadable_, 0u);
  ASSERT_EQ(batch.synchronizations().start_delta_ns_size(), 1);
  EXPECT_EQ(batch.synchronizations().type(0), 3u);
  EXPECT_EQ(batch.synchronizations().stream_plus_one(0), 8u);
  EXPECT_EQ(batch.synchronizations().event_plus_one_size(), 0) << "it waited for no event";
  ASSERT_EQ(batch.memory().time_delta_ns_size(), 2);
  EXPECT_EQ(batch.memory().operation(0), wire::ALLOCATION);
  EXPECT_EQ(batch.memory().bytes(0), 512u);
  EXPECT_EQ(batch.memory().stream_plus_one(0), 8u);
  EXPECT_EQ(batch.memory().from_pool(0), 1u);
  EXPECT_EQ(batch.memory().operation(1), wire::POOL_CREATION);
  EXPECT_EQ(batch.memory().stream_plus_one(1), 0u);
  ASSERT_EQ(batch.graphs().start_delta_ns_size(), 1);
  EXPECT_EQ(batch.graphs().graph_id(0), 3u);
  EXPECT_EQ(batch.graphs().stream(0), 13u);
  EXPECT_EQ(batch.graphs().correlation_delta(0), 9);
  ASSERT_EQ(batch.overheads().start_delta_ns_size(), 1);
  EXPECT_EQ(strings_.Text(batch.overheads().name_id(0)), "CUPTI buffer flush");
  EXPECT_EQ(batch.overheads().thread_id(0), 42u);
  ASSERT_EQ(batch.compilations().start_delta_ns_size(), 1);
  EXPECT_EQ(strings_.Text(batch.compilations().name_id(0)), "PTX to cubin (loaded from the cache)");
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
  const CuptiClient client(&cupti_);
  ActivityReader reader(&client, &strings, &encoder_, &descriptions_, &uncorrelated_, &reopened_);
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
  CUpti_ActivityPcie overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_PCIE;
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

TEST_F(ActivityReaderTest, ThingsAreDescribed) {
  CUpti_ActivityDevice5 device = {};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.id = 1;
  device.name = "NVIDIA H200";
  device.uuid.bytes[15] = 7;
  device.computeCapabilityMajor = 9;
  device.numThreadsPerWarp = 32;
  device.maxWarpsPerMultiprocessor = 64;
  device.maxSharedMemoryPerMultiprocessor = 233472;
  Append(device);
  device.id = 2;
  device.name = nullptr;
  device.uuid = {};
  Append(device);
  CUpti_ActivityContext3 context = {};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 3;
  context.deviceId = 1;
  context.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  context.nullStreamId = 7;
  Append(context);
  CUpti_ActivityStream stream = {};
  stream.kind = CUPTI_ACTIVITY_KIND_STREAM;
  stream.contextId = 3;
  stream.streamId = 13;
  stream.priority = static_cast<uint32_t>(-2);
  stream.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
  Append(stream);
  CUpti_ActivityName name = {};
  name.kind = CUPTI_ACTIVITY_KIND_NAME;
  name.objectKind = CUPTI_ACTIVITY_OBJECT_STREAM;
  name.objectId.dcs.contextId = 3;
  name.objectId.dcs.streamId = 13;
  const std::string longest(1000, 's');
  name.name = longest.c_str();
  Append(name);
  name.objectKind = CUPTI_ACTIVITY_OBJECT_CONTEXT;
  name.name = "mine";
  Append(name);
  name.objectKind = CUPTI_ACTIVITY_OBJECT_UNKNOWN;
  name.name = nullptr;
  Append(name);
  EXPECT_EQ(Read().ByteSizeLong(), Read(0).ByteSizeLong()) << "they are no events";
  EXPECT_EQ(unreadable_, 0u);

  uint64_t revision = 0;
  wire::Descriptions told;
  ASSERT_TRUE(told.ParseFromString(descriptions_.EncodeAfter(0, &revision)));
  ASSERT_EQ(told.devices_size(), 2);
  EXPECT_EQ(told.devices(0).name(), "NVIDIA H200");
  EXPECT_EQ(told.devices(0).uuid().size(), 16u);
  EXPECT_EQ(told.devices(0).compute_major(), 9u);
  EXPECT_EQ(told.devices(0).threads_per_multiprocessor(), 2048u);
  EXPECT_EQ(told.devices(0).shared_bytes_per_multiprocessor(), 233472u);
  EXPECT_EQ(told.devices(1).device(), 2u);
  EXPECT_EQ(told.devices(1).uuid(), "");
  ASSERT_EQ(told.contexts_size(), 1);
  EXPECT_EQ(told.contexts(0).device_plus_one(), 2u);
  EXPECT_EQ(told.contexts(0).null_stream_plus_one(), 8u);
  EXPECT_EQ(told.contexts(0).given_name(), "mine");
  ASSERT_EQ(told.streams_size(), 1);
  EXPECT_EQ(told.streams(0).stream(), 13u);
  EXPECT_EQ(told.streams(0).context(), 3u);
  EXPECT_EQ(told.streams(0).flag(), 2u);
  EXPECT_EQ(told.streams(0).priority(), -2);
  EXPECT_EQ(told.streams(0).given_name().size(), kLongestDescribedName);
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

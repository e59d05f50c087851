// What the records of each kind say, and which calls and work have one.

#include <cupti.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

using simcuda::ApiDomain;
using simcuda::DeviceWork;
using simcuda::WorkKind;

constexpr uint32_t kMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
constexpr uint32_t kFree = CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020;

class ActivityRecords : public testing::Test {
 protected:
  void SetUp() override {
    fake_driver::Reset();
    fake_driver::AddContext(1, 0);
    test_client::Start();
  }
  void TearDown() override { ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS); }

  void Enable(CUpti_ActivityKind kind) { ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS); }
  void Flush() {
    ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
  }
  template <class Record>
  Record OnlyRecord(CUpti_ActivityKind kind) {
    Flush();
    const std::vector<Record> records = test_client::RecordsOf<Record>(kind);
    EXPECT_EQ(records.size(), 1u);
    EXPECT_EQ(test_client::Records().size(), records.size()) << "other kinds came too";
    return records.empty() ? Record{} : records[0];
  }
};

TEST_F(ActivityRecords, ARuntimeCall) {
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  simcuda::ApiCall call{};
  call.domain = ApiDomain::kRuntime;
  call.cbid = kMalloc;
  call.result = 2;
  const uint64_t before = fake_driver::Now();
  const uint32_t correlation_id = fake_driver::Call(call);
  const auto record = OnlyRecord<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  EXPECT_EQ(record.cbid, kMalloc);
  EXPECT_GT(record.start, before);
  EXPECT_GT(record.end, record.start);
  EXPECT_LT(record.end, fake_driver::Now());
  EXPECT_EQ(record.processId, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(record.threadId, static_cast<uint32_t>(pthread_self()));
  EXPECT_EQ(record.correlationId, correlation_id);
  EXPECT_EQ(record.returnValue, 2u);
}

TEST_F(ActivityRecords, ThreadIdsAreTheSystemsIfAskedFor) {
  ASSERT_EQ(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
  CUpti_ActivityThreadIdType type;
  ASSERT_EQ(cuptiGetThreadIdType(&type), CUPTI_SUCCESS);
  EXPECT_EQ(type, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_EQ(OnlyRecord<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).threadId,
            static_cast<uint32_t>(syscall(SYS_gettid)));
}

TEST_F(ActivityRecords, RuntimeAndDriverCallsAreKindsOfTheirOwn) {
  Enable(CUPTI_ACTIVITY_KIND_DRIVER);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc,
                    [] { fake_driver::Call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuInit); });
  const auto record = OnlyRecord<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER);
  EXPECT_EQ(record.cbid, static_cast<uint32_t>(CUPTI_DRIVER_TRACE_CBID_cuInit));
}

TEST_F(ActivityRecords, CallsOfAThreadComeInTheOrderInWhichTheyEnd) {
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc,
                    [] { fake_driver::Call(ApiDomain::kRuntime, kFree); });
  Flush();
  ASSERT_EQ(test_client::RuntimeCalls().size(), 2u);
  EXPECT_EQ(test_client::RuntimeCalls()[0].cbid, kFree);
  EXPECT_EQ(test_client::RuntimeCalls()[1].cbid, kMalloc);
}

TEST_F(ActivityRecords, SingleFunctionsCanBeSwitchedOffAndOn) {
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  ASSERT_EQ(cuptiActivityEnableRuntimeApi(kFree, 0), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuInit, 1), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kFree);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  fake_driver::Call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuInit);
  fake_driver::Call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuDeviceGet);
  Flush();
  ASSERT_EQ(test_client::Records().size(), 2u);
  EXPECT_EQ(test_client::RuntimeCalls()[0].cbid, kMalloc);
  EXPECT_EQ(test_client::Records()[1]->kind, CUPTI_ACTIVITY_KIND_DRIVER);
  // Enabling the kind later sets all of them.
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  fake_driver::Call(ApiDomain::kRuntime, kFree);
  Flush();
  EXPECT_EQ(test_client::RuntimeCalls().back().cbid, kFree);
  EXPECT_EQ(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_SIZE, 0),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(ActivityRecords, ADisabledKindHasNoRecords) {
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  fake_driver::Complete(fake_driver::Kernel(1));
  Flush();
  EXPECT_TRUE(test_client::Records().empty());
  EXPECT_EQ(test_client::BuffersLent(), 0u);
}

TEST_F(ActivityRecords, WhatWasOnWhenWorkWasSubmittedDecidesWhetherItGetsARecord) {
  fake_driver::CompleteWhenAsked(fake_driver::Kernel(1));
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  fake_driver::CompleteWhenAsked(fake_driver::Kernel(2));
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  fake_driver::CompleteWhenAsked(fake_driver::Kernel(3));
  Flush();
  ASSERT_EQ(test_client::Kernels().size(), 1u);
  EXPECT_EQ(test_client::Kernels()[0].correlationId, 2u);
}

TEST_F(ActivityRecords, AContextsSettingGoesBeforeTheGeneralOne) {
  fake_driver::AddContext(2, 0);
  const auto second = static_cast<CUcontext>(fake_driver::ContextHandle(2));
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  ASSERT_EQ(cuptiActivityDisableContext(second, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
            CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnableContext(second, CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  DeviceWork kernel = fake_driver::Kernel(1);
  fake_driver::Complete(kernel);
  kernel.context_id = 2;
  fake_driver::Complete(kernel);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  simcuda::ApiCall call{};
  call.domain = ApiDomain::kRuntime;
  call.cbid = kFree;
  call.context_id = 2;
  fake_driver::Call(call);
  Flush();
  ASSERT_EQ(test_client::Kernels().size(), 1u);
  EXPECT_EQ(test_client::Kernels()[0].contextId, 1u);
  ASSERT_EQ(test_client::RuntimeCalls().size(), 1u);
  EXPECT_EQ(test_client::RuntimeCalls()[0].cbid, kFree);
  EXPECT_EQ(cuptiActivityEnableContext(nullptr, CUPTI_ACTIVITY_KIND_RUNTIME),
            CUPTI_ERROR_INVALID_CONTEXT);
}

TEST_F(ActivityRecords, KindsThatCannotBeEnabledSaySo) {
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_COUNT), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CDP_KERNEL), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING),
            CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
}

TEST_F(ActivityRecords, AKernel) {
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  DeviceWork work = fake_driver::Kernel(77);
  work.device_id = 3;
  work.stream_id = 14;
  work.grid_x = 2, work.grid_y = 3, work.grid_z = 4;
  work.block_x = 5, work.block_y = 6, work.block_z = 7;
  work.registers_per_thread = 40;
  work.static_shared_bytes = 100;
  work.dynamic_shared_bytes = 200;
  work.local_bytes_per_thread = 8;
  work.cluster_x = 2, work.cluster_y = 1, work.cluster_z = 1;
  work.grid_id = 99;
  work.cooperative = true;
  work.graph_id = 5;
  work.graph_node_id = 0x500000001;
  fake_driver::Complete(work);
  const auto record = OnlyRecord<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(record.start, work.start_ns);
  EXPECT_EQ(record.end, work.end_ns);
  EXPECT_EQ(record.completed, work.end_ns);
  EXPECT_EQ(record.deviceId, 3u);
  EXPECT_EQ(record.contextId, 1u);
  EXPECT_EQ(record.streamId, 14u);
  EXPECT_EQ(record.correlationId, 77u);
  EXPECT_STREQ(record.name, "_Z6kernelv");
  EXPECT_EQ(record.gridX, 2);
  EXPECT_EQ(record.gridY, 3);
  EXPECT_EQ(record.gridZ, 4);
  EXPECT_EQ(record.blockX, 5);
  EXPECT_EQ(record.blockY, 6);
  EXPECT_EQ(record.blockZ, 7);
  EXPECT_EQ(record.registersPerThread, 40);
  EXPECT_EQ(record.staticSharedMemory, 100);
  EXPECT_EQ(record.dynamicSharedMemory, 200);
  EXPECT_EQ(record.localMemoryPerThread, 8u);
  EXPECT_EQ(record.localMemoryTotal_v2, 8u * 24 * 210);
  EXPECT_EQ(record.clusterX, 2u);
  EXPECT_EQ(record.gridId, 99);
  EXPECT_EQ(record.launchType, CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE);
  EXPECT_EQ(record.graphId, 5u);
  EXPECT_EQ(record.graphNodeId, 0x500000001u);
  EXPECT_EQ(record.channelType, CUPTI_CHANNEL_TYPE_COMPUTE);
  EXPECT_EQ(record.queued, static_cast<uint64_t>(CUPTI_TIMESTAMP_UNKNOWN));
  EXPECT_EQ(record.submitted, static_cast<uint64_t>(CUPTI_TIMESTAMP_UNKNOWN));
}

TEST_F(ActivityRecords, AKernelTellsWhenItWasQueuedIfAskedFor) {
  ASSERT_EQ(cuptiActivityEnableLatencyTimestamps(1), CUPTI_SUCCESS);
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const DeviceWork work = fake_driver::Kernel(1);
  fake_driver::Complete(work);
  const auto record = OnlyRecord<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(record.queued, work.queued_ns);
  EXPECT_EQ(record.submitted, work.submitted_ns);
}

simcuda::ApiCall Launch() {
  simcuda::ApiCall launch{};
  launch.domain = ApiDomain::kRuntime;
  launch.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  launch.symbol_name = "_Z6kernelv";
  launch.context_id = 1;
  return launch;
}

TEST_F(ActivityRecords, TheSerializingKindMakesEveryLaunchWait) {
  Enable(CUPTI_ACTIVITY_KIND_KERNEL);
  fake_driver::Call(Launch());
  EXPECT_EQ(fake_driver::TimesAskedToWait(), 1);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_EQ(fake_driver::TimesAskedToWait(), 1);
  fake_driver::Complete(fake_driver::Kernel(1));
  OnlyRecord<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_KERNEL);
}

TEST_F(ActivityRecords, TheConcurrentKindMakesNoLaunchWait) {
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  fake_driver::Call(Launch());
  EXPECT_EQ(fake_driver::TimesAskedToWait(), 0);
}

DeviceWork Copy(WorkKind kind) {
  DeviceWork work = fake_driver::Kernel(31);
  work.kind = kind;
  work.name = nullptr;
  work.bytes = 4096;
  work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  work.source_memory_kind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  work.destination_memory_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  work.async = true;
  work.value = 0xAB;
  work.source_device_id = 1, work.source_context_id = 2;
  work.destination_device_id = 3, work.destination_context_id = 4;
  return work;
}

TEST_F(ActivityRecords, ACopy) {
  Enable(CUPTI_ACTIVITY_KIND_MEMCPY);
  const DeviceWork work = Copy(WorkKind::kCopy);
  fake_driver::Complete(work);
  const auto record = OnlyRecord<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  EXPECT_EQ(record.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
  EXPECT_EQ(record.srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  EXPECT_EQ(record.dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(record.flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
  EXPECT_EQ(record.bytes, 4096u);
  EXPECT_EQ(record.start, work.start_ns);
  EXPECT_EQ(record.end, work.end_ns);
  EXPECT_EQ(record.correlationId, 31u);
  EXPECT_EQ(record.copyCount, 1u);
  EXPECT_EQ(record.channelType, CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY);
}

TEST_F(ActivityRecords, APeerCopy) {
  Enable(CUPTI_ACTIVITY_KIND_MEMCPY2);
  fake_driver::Complete(Copy(WorkKind::kPeerCopy));
  const auto record = OnlyRecord<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  EXPECT_EQ(record.bytes, 4096u);
  EXPECT_EQ(record.correlationId, 31u);
  EXPECT_EQ(record.srcDeviceId, 1u);
  EXPECT_EQ(record.srcContextId, 2u);
  EXPECT_EQ(record.dstDeviceId, 3u);
  EXPECT_EQ(record.dstContextId, 4u);
}

TEST_F(ActivityRecords, AFill) {
  Enable(CUPTI_ACTIVITY_KIND_MEMSET);
  fake_driver::Complete(Copy(WorkKind::kFill));
  const auto record = OnlyRecord<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  EXPECT_EQ(record.value, 0xABu);
  EXPECT_EQ(record.bytes, 4096u);
  EXPECT_EQ(record.memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(record.flags, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
  EXPECT_EQ(record.correlationId, 31u);
}

TEST_F(ActivityRecords, ASynchronization) {
  Enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  fake_driver::Synchronize({simcuda::SyncKind::kStreamSynchronize, 10, 20, 8, 1, 13,
                            CUPTI_SYNCHRONIZATION_INVALID_VALUE});
  const auto record =
      OnlyRecord<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  EXPECT_EQ(record.type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  EXPECT_EQ(record.start, 10u);
  EXPECT_EQ(record.end, 20u);
  EXPECT_EQ(record.correlationId, 8u);
  EXPECT_EQ(record.contextId, 1u);
  EXPECT_EQ(record.streamId, 13u);
  EXPECT_EQ(record.cudaEventId, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
}

TEST_F(ActivityRecords, MemoryThatIsAllocated) {
  Enable(CUPTI_ACTIVITY_KIND_MEMORY2);
  simcuda::MemoryEvent event{};
  event.allocated = true;
  event.address = 0x7000;
  event.bytes = 512;
  event.time_ns = 44;
  event.memory_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  event.context_id = 1;
  event.stream_id = 7;
  event.correlation_id = 9;
  fake_driver::ChangeMemory(event);
  const auto record = OnlyRecord<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  EXPECT_EQ(record.memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(record.memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  EXPECT_EQ(record.address, 0x7000u);
  EXPECT_EQ(record.bytes, 512u);
  EXPECT_EQ(record.timestamp, 44u);
  EXPECT_EQ(record.correlationId, 9u);
  EXPECT_EQ(record.streamId, CUPTI_INVALID_STREAM_ID) << "not an operation of a stream";
}

TEST_F(ActivityRecords, APoolOfMemory) {
  Enable(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  fake_driver::ChangeMemoryPool({simcuda::PoolChange::kTrimmed, 0x9000, 44, 512, 1024, 256, 0, 9});
  const auto record = OnlyRecord<CUpti_ActivityMemoryPool3>(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  EXPECT_EQ(record.memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
  EXPECT_EQ(record.memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
  EXPECT_EQ(record.address, 0x9000u);
  EXPECT_EQ(record.timestamp, 44u);
  EXPECT_EQ(record.utilizedSize, 512u);
  EXPECT_EQ(record.releaseThreshold, 1024u);
  EXPECT_EQ(record.minBytesToKeep, 256u);
  EXPECT_EQ(record.correlationId, 9u);
}

simcuda::ResourceEvent Created(simcuda::Resource resource) {
  simcuda::ResourceEvent event{};
  event.resource = resource;
  event.context_id = 1;
  event.device_id = 0;
  event.stream_id = 13;
  event.stream_priority = -2;
  event.stream_flags = CU_STREAM_NON_BLOCKING;
  event.module_id = 6;
  event.cubin = "cubin";
  event.cubin_bytes = 5;
  return event;
}

TEST_F(ActivityRecords, AContextAStreamAndAModule) {
  Enable(CUPTI_ACTIVITY_KIND_CONTEXT);
  Enable(CUPTI_ACTIVITY_KIND_STREAM);
  Enable(CUPTI_ACTIVITY_KIND_MODULE);
  fake_driver::Change(Created(simcuda::Resource::kContextCreated));
  fake_driver::Change(Created(simcuda::Resource::kStreamCreated));
  fake_driver::Change(Created(simcuda::Resource::kModuleLoaded));
  Flush();
  const auto contexts = test_client::RecordsOf<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT);
  ASSERT_EQ(contexts.size(), 1u);
  EXPECT_EQ(contexts[0].contextId, 1u);
  EXPECT_EQ(contexts[0].nullStreamId, 7);
  EXPECT_EQ(contexts[0].computeApiKind, CUPTI_ACTIVITY_COMPUTE_API_CUDA);
  const auto streams = test_client::RecordsOf<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  ASSERT_EQ(streams.size(), 1u);
  EXPECT_EQ(streams[0].streamId, 13u);
  EXPECT_EQ(streams[0].flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
  EXPECT_EQ(static_cast<int32_t>(streams[0].priority), -2);
  const auto modules = test_client::RecordsOf<CUpti_ActivityModule>(CUPTI_ACTIVITY_KIND_MODULE);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0].id, 6u);
  EXPECT_EQ(modules[0].cubinSize, 5u);
}

TEST_F(ActivityRecords, DevicesComeWhenTheDriverHasStarted) {
  fake_driver::SetDeviceCount(2);
  Enable(CUPTI_ACTIVITY_KIND_DEVICE);
  Enable(CUPTI_ACTIVITY_KIND_DRIVER);
  fake_driver::Call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuInit);
  fake_driver::Change(Created(simcuda::Resource::kContextCreated));
  Flush();
  const auto devices = test_client::RecordsOf<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE);
  ASSERT_EQ(devices.size(), 2u) << "once each";
  EXPECT_EQ(devices[1].id, 1u);
  EXPECT_STREQ(devices[1].name, "Fake 1");
  EXPECT_EQ(devices[1].computeCapabilityMajor, 9u);
  EXPECT_EQ(test_client::RecordsOf<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_DRIVER).size(), 1u)
      << "CUPTI's own questions to the driver are nobody's calls";
}

TEST_F(ActivityRecords, WhatIsThereAlreadyCanBeDumped) {
  fake_driver::AddContext(2, 0);
  fake_driver::AddStream(2, 21);
  ASSERT_EQ(cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_DEVICE), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_CONTEXT), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_STREAM), CUPTI_SUCCESS);
  Flush();
  EXPECT_EQ(test_client::RecordsOf<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE).size(), 1u);
  EXPECT_EQ(test_client::RecordsOf<CUpti_ActivityContext3>(CUPTI_ACTIVITY_KIND_CONTEXT).size(), 2u);
  const auto streams = test_client::RecordsOf<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  ASSERT_EQ(streams.size(), 1u);
  EXPECT_EQ(streams[0].streamId, 21u);
}

TEST_F(ActivityRecords, BufferRequestsAndFlushesAreOverheads) {
  Enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  Flush();
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  Flush();
  const auto overheads =
      test_client::RecordsOf<CUpti_ActivityOverhead3>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  ASSERT_EQ(overheads.size(), 2u);
  EXPECT_EQ(overheads[0].overheadKind, CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST);
  EXPECT_EQ(overheads[1].overheadKind, CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
  EXPECT_EQ(overheads[1].objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
  EXPECT_EQ(overheads[1].objectId.pt.threadId, static_cast<uint32_t>(pthread_self()));
  EXPECT_LT(overheads[1].start, overheads[1].end);
}

DeviceWork Node(uint32_t correlation_id, uint64_t start_ns, uint64_t end_ns) {
  DeviceWork node = fake_driver::Kernel(correlation_id);
  node.graph_id = 5;
  node.graph_node_id = start_ns;
  node.start_ns = start_ns;
  node.end_ns = end_ns;
  return node;
}

TEST_F(ActivityRecords, AGraphLaunchIsOneRecordInPlaceOfItsNodes) {
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  fake_driver::Complete(Node(3, 120, 200));
  fake_driver::Complete(Node(3, 100, 110));
  fake_driver::Complete(Node(3, 210, 300));
  const auto record = OnlyRecord<CUpti_ActivityGraphTrace2>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  EXPECT_EQ(record.start, 100u);
  EXPECT_EQ(record.end, 300u);
  EXPECT_EQ(record.correlationId, 3u);
  EXPECT_EQ(record.graphId, 5u);
  EXPECT_EQ(record.contextId, 1u);
  EXPECT_EQ(record.streamId, 7u);
}

TEST_F(ActivityRecords, AGraphLaunchIsCompleteWhenLaterWorkOfItsStreamHasRun) {
  Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  fake_driver::Complete(Node(3, 100, 200));
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_TRUE(test_client::Records().empty());
  fake_driver::Complete(Node(4, 210, 300));
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Records().size(), 1u);
}

TEST_F(ActivityRecords, AGraphLaunchIsCompleteWhenItWasWaitedFor) {
  Enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  fake_driver::Complete(Node(3, 100, 200));
  fake_driver::Synchronize({simcuda::SyncKind::kContextSynchronize, 50, 201, 4, 1,
                            CUPTI_SYNCHRONIZATION_INVALID_VALUE,
                            CUPTI_SYNCHRONIZATION_INVALID_VALUE});
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Records().size(), 1u);
}

TEST_F(ActivityRecords, WithoutGraphTraceTheNodesHaveRecords) {
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  fake_driver::Complete(Node(3, 100, 110));
  fake_driver::Complete(Node(3, 120, 200));
  Flush();
  ASSERT_EQ(test_client::Kernels().size(), 2u);
  EXPECT_EQ(test_client::Kernels()[1].graphNodeId, 120u);
  EXPECT_EQ(test_client::Kernels()[1].graphId, 5u);
}

constexpr uint64_t kClientOffset = 5'000'000'000;

TEST_F(ActivityRecords, TimesAreOfTheClientsClockIfItHasOne) {
  ASSERT_EQ(cuptiActivityRegisterTimestampCallback(
                []() -> uint64_t { return fake_driver::Now() + kClientOffset; }),
            CUPTI_SUCCESS);
  Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
  Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  fake_driver::Complete(fake_driver::Kernel(1));
  Flush();
  EXPECT_GT(test_client::RuntimeCalls().at(0).start, kClientOffset);
  EXPECT_GT(test_client::RuntimeCalls().at(0).end, test_client::RuntimeCalls().at(0).start);
  EXPECT_GT(test_client::Kernels().at(0).start, kClientOffset);
  uint64_t now = 0;
  ASSERT_EQ(cuptiGetTimestamp(&now), CUPTI_SUCCESS);
  EXPECT_GT(now, kClientOffset);
}

TEST_F(ActivityRecords, AttributesHaveTheirDocumentedDefaultsAndKeepWhatIsSet) {
  size_t value = 0;
  size_t bytes = sizeof value;
  ASSERT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value),
            CUPTI_SUCCESS);
  EXPECT_EQ(value, 3'200'000u);
  ASSERT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &value),
            CUPTI_SUCCESS);
  EXPECT_EQ(value, 250u);
  value = 12;
  ASSERT_EQ(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &value),
            CUPTI_SUCCESS);
  value = 0;
  ASSERT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &value),
            CUPTI_SUCCESS);
  EXPECT_EQ(value, 12u);
  uint8_t flag = 0;
  bytes = sizeof flag;
  ASSERT_EQ(
      cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &flag),
      CUPTI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value),
            CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  EXPECT_EQ(cuptiActivityGetAttribute(static_cast<CUpti_ActivityAttribute>(77), &bytes, &value),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(ActivityRecords, IdsOfContextsStreamsAndDevices) {
  fake_driver::AddContext(2, 4);
  fake_driver::AddStream(2, 21);
  const auto context = static_cast<CUcontext>(fake_driver::ContextHandle(2));
  const auto stream = static_cast<CUstream>(fake_driver::StreamHandle(21));
  uint32_t id = 0;
  EXPECT_EQ(cuptiGetContextId(context, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 2u);
  EXPECT_EQ(cuptiGetStreamIdEx(context, stream, 0, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 21u);
  EXPECT_EQ(cuptiGetStreamIdEx(context, nullptr, 0, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 7u);
  EXPECT_EQ(cuptiGetDeviceId(context, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 4u);
  EXPECT_EQ(cuptiGetDeviceId(nullptr, &id), CUPTI_ERROR_INVALID_DEVICE);
  fake_driver::SetCurrentContext(2);
  EXPECT_EQ(cuptiGetDeviceId(nullptr, &id), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiGetContextId(nullptr, &id), CUPTI_ERROR_INVALID_CONTEXT);
}

}  // namespace

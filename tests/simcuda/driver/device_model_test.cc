// The device model, through the driver API. SIMCUDA_SPEED=0 (see BUILD): nothing sleeps, and times
// are long enough not to depend on how fast the test gets on.
#include <cuda.h>
#include <cupti_driver_cbid.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/simcuda/core/control.h"
#include "tests/simcuda/core/model.h"
#include "tests/simcuda/core/observer.h"

namespace simcuda {
namespace {

constexpr char kPtx[] =
    ".version 8.0\n.target sm_90\n.visible .entry work() { ret; }\n.visible .entry other() { ret; "
    "}\n";
constexpr uint64_t kSecond = 1'000'000'000;

struct Seen {
  std::mutex mutex;
  std::vector<DeviceWork> works, running;
  std::vector<ApiCall> calls;
  std::vector<ResourceEvent> resources;
  std::vector<MemoryEvent> memory;
  std::vector<MemoryPoolEvent> pools;
  std::vector<Synchronization> synchronizations;
};
Seen seen;

using Lock = std::lock_guard<std::mutex>;

const Observer kObserver = {
    [](ApiCall* call) { call->observer_data = 77; },
    [](ApiCall* call) {
      Lock lock(seen.mutex);
      seen.calls.push_back(*call);
    },
    [](uint32_t context_id) { return uint64_t{100} + context_id; },
    [](const DeviceWork& work) {
      Lock lock(seen.mutex);
      (work.end_ns == 0 ? seen.running : seen.works).push_back(work);
    },
    [](const Synchronization& synchronization) {
      Lock lock(seen.mutex);
      seen.synchronizations.push_back(synchronization);
    },
    [](const ResourceEvent& event) {
      Lock lock(seen.mutex);
      seen.resources.push_back(event);
    },
    [](const MemoryEvent& event) {
      Lock lock(seen.mutex);
      seen.memory.push_back(event);
    },
    [](const MemoryPoolEvent& event) {
      Lock lock(seen.mutex);
      seen.pools.push_back(event);
    },
};

class DeviceModelTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    driver_ = simcuda_set_observer(&kObserver);
    ASSERT_EQ(cuCtxCreate(&context_, nullptr, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleLoadData(&module_, kPtx), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&work_, module_, "work"), CUDA_SUCCESS);
    driver_->deliver(true);
    Lock lock(seen.mutex);
    seen.works.clear();
    seen.running.clear();
    seen.calls.clear();
    seen.synchronizations.clear();
  }

  void TearDown() override {
    EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxDestroy(context_), CUDA_SUCCESS);
    simcuda_set_observer(nullptr);
    Lock lock(seen.mutex);
    seen.resources.clear();
    seen.memory.clear();
    seen.pools.clear();
  }

  CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, flags), CUDA_SUCCESS);
    return stream;
  }

  void Launch(CUstream stream, uint64_t ns = kSecond) {
    simcuda_next_duration_ns(ns);
    ASSERT_EQ(cuLaunchKernel(work_, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), CUDA_SUCCESS);
  }

  // All that has run since, in the order of delivery.
  std::vector<DeviceWork> Finish() {
    driver_->deliver(true);
    Lock lock(seen.mutex);
    return std::move(seen.works);
  }

  const Driver* driver_ = nullptr;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction work_ = nullptr;
};

TEST_F(DeviceModelTest, WorkOfOneStreamRunsInOrderWithoutOverlap) {
  CUstream stream = NewStream();
  for (int i = 0; i < 3; ++i) Launch(stream);
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(works[i].end_ns - works[i].start_ns, kSecond);
  EXPECT_EQ(works[1].start_ns, works[0].end_ns);
  EXPECT_EQ(works[2].start_ns, works[1].end_ns);
}

TEST_F(DeviceModelTest, KernelsOfDifferentStreamsOverlap) {
  Launch(NewStream());
  Launch(NewStream());
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 2u);
  EXPECT_LT(works[1].start_ns, works[0].end_ns);
  EXPECT_NE(works[0].stream_id, works[1].stream_id);
}

TEST_F(DeviceModelTest, NoMoreThan128KernelsRunAtOnce) {
  for (int i = 0; i < 129; ++i) Launch(NewStream(), 1000 * kSecond);
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 129u);
  uint64_t first_end = UINT64_MAX, last_start = 0;
  for (const DeviceWork& work : works) {
    first_end = std::min(first_end, work.end_ns);
    last_start = std::max(last_start, work.start_ns);
  }
  EXPECT_EQ(last_start, first_end);
}

TEST_F(DeviceModelTest, TheLegacyStreamAndBlockingStreamsWaitForEachOther) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT), apart = NewStream();
  Launch(blocking);
  Launch(nullptr);
  Launch(blocking);
  Launch(apart);
  std::map<uint32_t, std::vector<DeviceWork>> by_stream;
  for (const DeviceWork& work : Finish()) by_stream[work.stream_id].push_back(work);
  ASSERT_EQ(by_stream.size(), 3u);
  const DeviceWork& legacy = by_stream.at(7).at(0);
  const auto& of_blocking = by_stream.at(driver_->stream_id(context_, blocking, false));
  EXPECT_EQ(legacy.start_ns, of_blocking.at(0).end_ns);
  EXPECT_EQ(of_blocking.at(1).start_ns, legacy.end_ns);
  EXPECT_LT(by_stream.at(driver_->stream_id(context_, apart, false)).at(0).start_ns,
            legacy.start_ns);
}

TEST_F(DeviceModelTest, CopiesOfOneDirectionQueueUpAndOppositeOnesOverlap) {
  CUdeviceptr device[2];
  void* host;
  ASSERT_EQ(cuMemHostAlloc(&host, 4096, 0), CUDA_SUCCESS);
  for (CUdeviceptr& memory : device) ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  CUstream streams[3] = {NewStream(), NewStream(), NewStream()};
  for (int i = 0; i < 2; ++i) {
    simcuda_next_duration_ns(kSecond);
    ASSERT_EQ(cuMemcpyHtoDAsync(device[i], host, 4096, streams[i]), CUDA_SUCCESS);
  }
  simcuda_next_duration_ns(kSecond);
  ASSERT_EQ(cuMemcpyDtoHAsync(host, device[0], 4096, streams[2]), CUDA_SUCCESS);
  std::vector<DeviceWork> to, from;
  for (const DeviceWork& work : Finish()) (work.copy_kind == 1 ? to : from).push_back(work);
  ASSERT_EQ(to.size(), 2u);
  ASSERT_EQ(from.size(), 1u);
  std::sort(to.begin(), to.end(),
            [](const auto& left, const auto& right) { return left.start_ns < right.start_ns; });
  EXPECT_EQ(to[1].start_ns, to[0].end_ns);
  EXPECT_LT(from[0].start_ns, to[0].end_ns);
  EXPECT_EQ(from[0].copy_kind, 2u);
  EXPECT_EQ(from[0].bytes, 4096u);
  EXPECT_EQ(from[0].destination_memory_kind, 2u) << "pinned";
  EXPECT_TRUE(from[0].async);
}

TEST_F(DeviceModelTest, AStreamWaitsForAnEventAndElapsedTimeIsTheWorks) {
  CUstream first = NewStream(), second = NewStream();
  CUevent before, after;
  ASSERT_EQ(cuEventCreate(&before, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&after, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  Launch(first, 1000 * kSecond);
  ASSERT_EQ(cuEventRecord(before, first), CUDA_SUCCESS);
  Launch(first, 2 * kSecond);
  ASSERT_EQ(cuEventRecord(after, first), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(second, after, 0), CUDA_SUCCESS);
  Launch(second);
  EXPECT_EQ(cuEventQuery(after), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuEventSynchronize(after), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(after), CUDA_SUCCESS);
  float milliseconds = 0;
  ASSERT_EQ(cuEventElapsedTime(&milliseconds, before, after), CUDA_SUCCESS);
  EXPECT_FLOAT_EQ(milliseconds, 2000);
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 3u);
  EXPECT_EQ(works[2].start_ns, works[1].end_ns);
}

TEST_F(DeviceModelTest, WorkBehindAHostFunctionStartsWhenItHasReturned) {
  static std::atomic<uint64_t> ended;
  static const Driver* driver;
  driver = driver_;
  CUstream first = NewStream(), second = NewStream();
  CUevent event;
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  Launch(first);
  ASSERT_EQ(cuLaunchHostFunc(
                first, [](void*) { ended = driver->now_ns(); }, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, first), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
  Launch(second);
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 2u);
  EXPECT_GE(ended.load(), works[0].end_ns);
  EXPECT_GE(works[1].start_ns, ended.load());
  for (const DeviceWork& work : works) EXPECT_EQ(work.observer_data, 100 + work.context_id);
}

TEST_F(DeviceModelTest, BranchesOfAGraphOverlapAndTheirJoinWaits) {
  CUstream stream = NewStream(), branch = NewStream();
  CUevent fork, join;
  ASSERT_EQ(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(fork, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(branch, fork, 0), CUDA_SUCCESS);
  Launch(stream, 3 * kSecond);
  Launch(branch, 1 * kSecond);
  ASSERT_EQ(cuEventRecord(join, branch), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(stream, join, 0), CUDA_SUCCESS);
  Launch(stream, 2 * kSecond);
  CUgraph graph;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  CUgraphExec exec;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_TRUE(Finish().empty()) << "capturing runs nothing";
  ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);

  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 3u);
  // Delivered by their ends: the short branch, the long one, the join.
  EXPECT_EQ(works[0].end_ns - works[0].start_ns, 1 * kSecond);
  EXPECT_EQ(works[0].start_ns, works[1].start_ns);
  EXPECT_EQ(works[2].start_ns, works[1].end_ns);
  std::set<uint64_t> nodes;
  for (const DeviceWork& work : works) {
    nodes.insert(work.graph_node_id);
    EXPECT_NE(work.graph_id, 0u);
    EXPECT_EQ(work.correlation_id, works[0].correlation_id);
    EXPECT_EQ(work.observer_data, 100 + work.context_id);
  }
  EXPECT_EQ(nodes.size(), 3u);
}

TEST_F(DeviceModelTest, AStreamThatJoinedACaptureMayBeDestroyedBeforeItsEnd) {
  for (bool joined : {true, false}) {
    CUstream stream = NewStream(), branch = NewStream();
    CUevent event;
    ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(branch, event, 0), CUDA_SUCCESS);
    Launch(branch);
    if (joined) {
      ASSERT_EQ(cuEventRecord(event, branch), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
    }
    ASSERT_EQ(cuStreamDestroy(branch), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph),
              joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    if (joined) {
      EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    }
  }
}

TEST_F(DeviceModelTest, CallsComeInPairsWithTheWorksCorrelation) {
  CUstream stream = NewStream();
  simcuda_next_kernel_name("_Z8renamed_v");
  Launch(stream);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 1u);
  EXPECT_STREQ(works[0].name, "_Z8renamed_v");
  Lock lock(seen.mutex);
  const ApiCall* launch = nullptr;
  for (const ApiCall& call : seen.calls) {
    if (call.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) launch = &call;
    EXPECT_EQ(call.observer_data, 77u);
    EXPECT_LE(call.start_ns, call.end_ns);
    EXPECT_FALSE(call.nested);
  }
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->correlation_id, works[0].correlation_id);
  EXPECT_STREQ(launch->symbol_name, "_Z8renamed_v");
  EXPECT_STREQ(launch->function_name, "cuLaunchKernel");
  ASSERT_EQ(seen.synchronizations.size(), 1u);
  EXPECT_EQ(seen.synchronizations[0].stream_id, works[0].stream_id);
}

TEST_F(DeviceModelTest, EachPieceIsDeliveredOnceWhoeverAsks) {
  constexpr int kThreads = 4, kEach = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      CUstream stream = NewStream();
      for (int i = 0; i < kEach; ++i) {
        Launch(stream, 10);
        if (i % 100 == 0) driver_->deliver(false);
      }
      ASSERT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), size_t{kThreads} * kEach);
  std::set<uint32_t> correlations;
  std::map<uint32_t, uint64_t> last_end;
  for (const DeviceWork& work : works) {
    correlations.insert(work.correlation_id);
    EXPECT_GE(work.end_ns, last_end[work.stream_id]);
    last_end[work.stream_id] = work.end_ns;
  }
  EXPECT_EQ(correlations.size(), works.size());
}

TEST_F(DeviceModelTest, WorkThatRunsAtADeliveryIsToldThenAndAgainWhenItEnds) {
  CUstream stream = NewStream();
  Launch(stream);
  Launch(stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  driver_->deliver(false);
  driver_->deliver(false);
  {
    Lock lock(seen.mutex);
    EXPECT_TRUE(seen.works.empty());
    ASSERT_EQ(seen.running.size(), 1u) << "the second has not started, and once is enough";
  }
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 2u);
  EXPECT_EQ(works[0].correlation_id, seen.running[0].correlation_id);
  EXPECT_EQ(works[0].start_ns, seen.running[0].start_ns);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

size_t Undelivered() {
  size_t total = 0;
  Model& model = Model::Instance();
  Lock lock(model.mutex);
  for (const auto& queue : model.undelivered) total += queue->works.size();
  return total;
}

TEST_F(DeviceModelTest, PoolsThatAreMadeTrimmedAndEndedAreTold) {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool;
  ASSERT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(cuMemPoolTrimTo(pool, 64), CUDA_SUCCESS);
  ASSERT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  Lock lock(seen.mutex);
  ASSERT_EQ(seen.pools.size(), 3u);
  EXPECT_EQ(seen.pools[0].change, PoolChange::kCreated);
  EXPECT_EQ(seen.pools[1].change, PoolChange::kTrimmed);
  EXPECT_EQ(seen.pools[1].min_bytes_to_keep, 64u);
  EXPECT_EQ(seen.pools[2].change, PoolChange::kDestroyed);
  for (const MemoryPoolEvent& event : seen.pools) {
    EXPECT_EQ(event.address, reinterpret_cast<uint64_t>(pool));
    EXPECT_NE(event.correlation_id, 0u);
  }
}

TEST_F(DeviceModelTest, NothingIsKeptWithoutAnObserver) {
  simcuda_set_observer(nullptr);
  CUstream stream = NewStream();
  for (int i = 0; i < 5000; ++i) Launch(stream, 10);
  EXPECT_EQ(Undelivered(), 0u);
  simcuda_set_observer(&kObserver);
  EXPECT_TRUE(Finish().empty());
}

TEST_F(DeviceModelTest, AProgramThatNeverWaitsDoesNotPileUpWork) {
  CUstream stream = NewStream();
  for (int i = 0; i < 20000; ++i) Launch(stream, kSecond);
  EXPECT_LE(Undelivered(), 2u * Stream::kWindow);
  Finish();
}

TEST_F(DeviceModelTest, ThePerThreadStreamIsEachThreadsOwn) {
  Launch(CU_STREAM_PER_THREAD);
  std::thread([this] {
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    Launch(CU_STREAM_PER_THREAD);
  }).join();
  std::vector<DeviceWork> works = Finish();
  ASSERT_EQ(works.size(), 2u);
  EXPECT_NE(works[0].stream_id, works[1].stream_id);
  EXPECT_TRUE(works[0].per_thread_default_stream);
  EXPECT_LT(works[1].start_ns, works[0].end_ns);
}

TEST_F(DeviceModelTest, ALateSubscriberCanEnumerateWhatExists) {
  CUstream stream = NewStream();
  std::vector<ResourceEvent> events;
  driver_->for_each_resource(
      [](const ResourceEvent& event, void* user) {
        static_cast<std::vector<ResourceEvent>*>(user)->push_back(event);
      },
      &events);
  auto has = [&](Resource resource, void* of) {
    return std::any_of(events.begin(), events.end(), [&](const ResourceEvent& event) {
      return event.resource == resource && event.context == context_ &&
             (of == nullptr || event.stream == of);
    });
  };
  EXPECT_TRUE(has(Resource::kContextCreated, nullptr));
  EXPECT_TRUE(has(Resource::kStreamCreated, stream));
  EXPECT_TRUE(has(Resource::kModuleLoaded, nullptr));
}

TEST_F(DeviceModelTest, MemoryIsReportedWhenItComesAndGoes) {
  CUdeviceptr memory;
  ASSERT_EQ(cuMemAlloc(&memory, 5000), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree(memory), CUDA_SUCCESS);
  Lock lock(seen.mutex);
  ASSERT_EQ(seen.memory.size(), 2u);
  EXPECT_TRUE(seen.memory[0].allocated);
  EXPECT_FALSE(seen.memory[1].allocated);
  EXPECT_EQ(seen.memory[1].bytes, 5000u);
  EXPECT_EQ(seen.memory[1].address, memory);
}

TEST_F(DeviceModelTest, MappedMemoryKeepsItsBytesAtAnotherAddress) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t bytes;
  ASSERT_EQ(cuMemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            CUDA_SUCCESS);
  CUmemGenericAllocationHandle handle;
  CUdeviceptr first, second;
  ASSERT_EQ(cuMemCreate(&handle, bytes, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&first, bytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAddressReserve(&second, bytes, 0, 0, 0), CUDA_SUCCESS);
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_EQ(cuMemMap(first, bytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(first, bytes, &access, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD32(first, 0x1234, 100), CUDA_SUCCESS);
  ASSERT_EQ(cuMemUnmap(first, bytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(second, bytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemSetAccess(second, bytes, &access, 1), CUDA_SUCCESS);
  unsigned value = 0;
  ASSERT_EQ(cuMemcpyDtoH(&value, second + 99 * 4, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 0x1234u);
  EXPECT_EQ(cuMemcpyDtoH(&value, first, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(second, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(first, bytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(second, bytes), CUDA_SUCCESS);
}

}  // namespace
}  // namespace simcuda

// What becomes of the client's buffers: when they are asked for, filled, flushed and given back.

#include <cupti.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

using simcuda::ApiDomain;

constexpr uint32_t kMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
constexpr size_t kApiBytes = sizeof(CUpti_ActivityAPI);
constexpr uint32_t kForced = CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;

void CallRuntime(int times = 1) {
  for (int i = 0; i < times; ++i) fake_driver::Call(ApiDomain::kRuntime, kMalloc);
}

simcuda::DeviceWork Running(simcuda::DeviceWork work) {
  work.end_ns = 0;
  return work;
}

class ActivityBuffers : public testing::Test {
 protected:
  void SetUp() override {
    fake_driver::Reset();
    fake_driver::AddContext(1, 0);
    test_client::Start();
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    test_client::Dropped();
  }
  void TearDown() override { ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS); }
};

// Waits for what another thread does; a test that waits in vain runs into Bazel's limit.
void WaitUntil(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

TEST_F(ActivityBuffers, ABufferIsAskedForWhenTheFirstRecordNeedsIt) {
  EXPECT_EQ(test_client::BuffersLent(), 0u);
  CallRuntime();
  EXPECT_EQ(test_client::BuffersLent(), 1u);
  CallRuntime(10);
  EXPECT_EQ(test_client::BuffersLent(), 1u);
}

TEST_F(ActivityBuffers, APlainFlushGivesBackWhatIsCompleteOnTheFlushingThread) {
  CallRuntime(3);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_EQ(test_client::Returned().size(), 1u);
  EXPECT_EQ(test_client::Returned()[0].valid_bytes, 3 * kApiBytes);
  EXPECT_EQ(test_client::Returned()[0].returned_on, std::this_thread::get_id());
  EXPECT_EQ(test_client::RuntimeCalls().size(), 3u);
}

TEST_F(ActivityBuffers, AFlushWithNothingToGiveGivesNothing) {
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  CallRuntime();
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Returned().size(), 1u);
}

TEST_F(ActivityBuffers, AFullBufferComesBackByItselfOnAnotherThread) {
  test_client::Start({.buffer_bytes = 4 * kApiBytes});
  CallRuntime(5);
  WaitUntil([] { return !test_client::Returned().empty(); });
  const test_client::ReturnedBuffer full = test_client::Returned()[0];
  EXPECT_EQ(full.valid_bytes, 4 * kApiBytes);
  EXPECT_NE(full.returned_on, std::this_thread::get_id());
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::RuntimeCalls().size(), 5u);
}

TEST_F(ActivityBuffers, NoMoreRecordsThanTheClientSaidGoIntoABuffer) {
  test_client::Start({.max_records = 2});
  CallRuntime(5);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_EQ(test_client::Returned().size(), 3u);
  EXPECT_EQ(test_client::RuntimeCalls().size(), 5u);
  for (const auto& buffer : test_client::Returned()) {
    EXPECT_LE(test_client::RecordsOfBuffer(buffer).size(), 2u);
  }
}

TEST_F(ActivityBuffers, ABufferIsZeroedUnlessTheClientDoesThat) {
  CallRuntime();
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Returned()[0].data[kApiBytes], 0);
  uint8_t zeroed = 1;
  size_t bytes = sizeof zeroed;
  ASSERT_EQ(
      cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &zeroed),
      CUPTI_SUCCESS);
  CallRuntime();
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Returned()[1].data[kApiBytes], 0xA5);
}

TEST_F(ActivityBuffers, EveryThreadHasABufferOfItsOwn) {
  CallRuntime();
  std::thread([] { CallRuntime(); }).join();
  EXPECT_EQ(test_client::BuffersLent(), 2u);
}

TEST_F(ActivityBuffers, WithoutTheAttributeThreadsShareABuffer) {
  uint8_t per_thread = 0;
  size_t bytes = sizeof per_thread;
  ASSERT_EQ(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes,
                                      &per_thread),
            CUPTI_SUCCESS);
  CallRuntime();
  std::thread([] { CallRuntime(); }).join();
  EXPECT_EQ(test_client::BuffersLent(), 1u);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::RuntimeCalls().size(), 2u);
}

TEST_F(ActivityBuffers, AnEndedThreadsBufferComesWithTheNextFlush) {
  std::thread([] { CallRuntime(2); }).join();
  EXPECT_EQ(test_client::Returned().size(), 0u);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::RuntimeCalls().size(), 2u);
}

TEST_F(ActivityBuffers, ARecordThatGetsNoBufferIsDroppedAndCounted) {
  test_client::Change({.refuse = true});
  CallRuntime(3);
  EXPECT_EQ(test_client::Dropped(), 3u);
  EXPECT_EQ(test_client::Dropped(), 0u) << "the count starts anew when it is read";
  test_client::Change({});
  CallRuntime();
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::RuntimeCalls().size(), 1u);
  EXPECT_EQ(test_client::Dropped(), 0u);
}

TEST_F(ActivityBuffers, ABufferThatIsTooSmallComesBackEmptyAndTheRecordIsDropped) {
  test_client::Change({.buffer_bytes = 16});
  CallRuntime();
  EXPECT_EQ(test_client::Dropped(), 1u);
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  ASSERT_EQ(test_client::Returned().size(), 1u);
  EXPECT_EQ(test_client::Returned()[0].valid_bytes, 0u);
}

TEST_F(ActivityBuffers, DroppedDeviceRecordsAreCountedByStreamToo) {
  test_client::Change({.refuse = true});
  fake_driver::Complete(fake_driver::Kernel(1));
  simcuda::DeviceWork other = fake_driver::Kernel(2);
  other.stream_id = 13;
  fake_driver::Complete(other);
  fake_driver::Complete(other);
  size_t dropped = 0;
  const auto context = static_cast<CUcontext>(fake_driver::ContextHandle(1));
  ASSERT_EQ(cuptiActivityGetNumDroppedRecords(context, 13, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 2u);
  ASSERT_EQ(cuptiActivityGetNumDroppedRecords(context, 13, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
  ASSERT_EQ(cuptiActivityGetNumDroppedRecords(context, 7, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 1u);
  EXPECT_EQ(test_client::Dropped(), 3u);
}

TEST_F(ActivityBuffers, AFlushFirstAsksTheDriverForWhatHasCompleted) {
  fake_driver::CompleteWhenAsked(fake_driver::Kernel(5));
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  ASSERT_EQ(test_client::Kernels().size(), 1u);
  EXPECT_EQ(test_client::Kernels()[0].correlationId, 5u);
  EXPECT_EQ(fake_driver::TimesAsked(), 1);
  EXPECT_EQ(fake_driver::TimesAskedToWait(), 0);
}

TEST_F(ActivityBuffers, APlainFlushKeepsABufferBackWhileAKernelInItRuns) {
  const simcuda::DeviceWork kernel = fake_driver::Kernel(1);
  fake_driver::Complete(fake_driver::Kernel(2));
  fake_driver::Complete(Running(kernel));
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Returned().size(), 0u);
  fake_driver::Complete(kernel);
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  ASSERT_EQ(test_client::Kernels().size(), 2u);
  EXPECT_EQ(test_client::Kernels()[1].end, kernel.end_ns);
}

TEST_F(ActivityBuffers, AForcedFlushGivesARunningKernelWithEndZeroAndNeverAgain) {
  const simcuda::DeviceWork kernel = fake_driver::Kernel(1);
  fake_driver::Complete(Running(kernel));
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  ASSERT_EQ(test_client::Kernels().size(), 1u);
  EXPECT_EQ(test_client::Kernels()[0].start, kernel.start_ns);
  EXPECT_EQ(test_client::Kernels()[0].end, 0u);
  fake_driver::Complete(kernel);
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Kernels().size(), 1u);
}

TEST_F(ActivityBuffers, AFullBufferWaitsForItsRunningKernelAndThenComesByItself) {
  test_client::Change({.max_records = 2});
  const simcuda::DeviceWork kernel = fake_driver::Kernel(1);
  fake_driver::Complete(Running(kernel));
  fake_driver::Complete(fake_driver::Kernel(2));
  fake_driver::Complete(fake_driver::Kernel(3));
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::Kernels().size(), 1u) << "the third has a buffer of its own";
  fake_driver::Complete(kernel);
  WaitUntil([] { return test_client::Returned().size() == 2; });
  EXPECT_EQ(test_client::Kernels().size(), 3u);
}

TEST_F(ActivityBuffers, ThePeriodicLookFindsWorkThatHasCompleted) {
  test_client::Change({.max_records = 1});
  ASSERT_EQ(cuptiActivityFlushPeriod(1), CUPTI_SUCCESS);
  fake_driver::CompleteWhenAsked(fake_driver::Kernel(1));
  WaitUntil([] { return test_client::Kernels().size() == 1; });
  ASSERT_EQ(cuptiActivityFlushPeriod(0), CUPTI_SUCCESS);
}

TEST_F(ActivityBuffers, FlushingNeedsRegisteredCallbacks) {
  ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
  EXPECT_EQ(cuptiGetLastError(), CUPTI_ERROR_INVALID_OPERATION);
  EXPECT_EQ(cuptiGetLastError(), CUPTI_SUCCESS);
}

TEST_F(ActivityBuffers, WithoutCallbacksRecordsAreDropped) {
  ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  CallRuntime();
  EXPECT_EQ(test_client::Dropped(), 1u);
}

TEST_F(ActivityBuffers, TheClientMayFlushInsideItsCallbacks) {
  test_client::Change({.max_records = 2,
                       .on_request = [] { cuptiActivityFlushAll(0); },
                       .on_complete = [] { cuptiActivityFlushAll(0); }});
  CallRuntime(7);
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::RuntimeCalls().size(), 7u);
}

TEST_F(ActivityBuffers, AFlushInsideADeliveryDoesNotCallBackIntoTheDriver) {
  test_client::Change({.on_request = [] { cuptiActivityFlushAll(0); }});
  fake_driver::Complete(fake_driver::Kernel(1));
  EXPECT_EQ(fake_driver::TimesAsked(), 0);
}

TEST_F(ActivityBuffers, ABufferLentWhileTheClientFinalizesIsNotGivenToTheNextClient) {
  test_client::Change({.on_request = [] { cuptiFinalize(); }});
  CallRuntime();
  test_client::Start();
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  EXPECT_TRUE(test_client::Returned().empty());
}

TEST_F(ActivityBuffers, OtherThreadsGoOnWhileTheClientIsGivenABuffer) {
  std::mutex mutex;
  std::condition_variable changed;
  bool inside = false;
  bool leave = false;
  test_client::Change({.on_complete = [&] {
    std::unique_lock lock(mutex);
    inside = true;
    changed.notify_all();
    changed.wait(lock, [&] { return leave; });
  }});
  CallRuntime();
  std::thread flusher([] { cuptiActivityFlushAll(0); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside; });
  }
  // Records, device work and a new buffer, while the flush is held up in the client.
  CallRuntime(3);
  fake_driver::Complete(fake_driver::Kernel(1));
  std::thread([] { CallRuntime(); }).join();
  {
    std::lock_guard lock(mutex);
    leave = true;
  }
  changed.notify_all();
  flusher.join();
  test_client::Change({});
  ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  EXPECT_EQ(test_client::RuntimeCalls().size(), 5u);
}

TEST_F(ActivityBuffers, NoRecordIsLostOrDoubledWhenManyThreadsCallAndFlush) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 2000;
  test_client::Change({.buffer_bytes = 1024});
  std::atomic<bool> ended{false};
  std::thread flusher([&] {
    while (!ended) cuptiActivityFlushAll(0);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int call = 0; call < kCalls; ++call) {
        fake_driver::Complete(fake_driver::Kernel(fake_driver::Call(ApiDomain::kRuntime, kMalloc)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ended = true;
  flusher.join();
  ASSERT_EQ(cuptiActivityFlushAll(kForced), CUPTI_SUCCESS);
  std::multiset<uint32_t> calls;
  std::multiset<uint32_t> kernels;
  for (const auto& call : test_client::RuntimeCalls()) calls.insert(call.correlationId);
  for (const auto& kernel : test_client::Kernels()) kernels.insert(kernel.correlationId);
  EXPECT_EQ(calls.size(), size_t{kThreads * kCalls});
  EXPECT_EQ(std::set<uint32_t>(calls.begin(), calls.end()).size(), size_t{kThreads * kCalls});
  EXPECT_EQ(calls, kernels);
  EXPECT_EQ(test_client::Dropped(), 0u);
}

}  // namespace

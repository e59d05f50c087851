// Misbehaviour that SIMCUPTI_FAULTS asks for. Each case runs in a process of its own, since the
// variable is read once.

#include "tests/simcuda/cupti/faults.h"

#include <cupti.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

using simcuda::ApiDomain;

constexpr uint32_t kMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;

// Fails if `check` does, which runs in a child with these faults. This process itself must not have
// used the library.
void WithFaults(const char* faults, const std::function<void()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMCUPTI_FAULTS", faults, 1);
    fake_driver::AddContext(1, 0);
    test_client::Start();
    check();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

void Enable(CUpti_ActivityKind kind) { ASSERT_EQ(cuptiActivityEnable(kind), CUPTI_SUCCESS); }

void Flush() { ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS); }

TEST(Faults, EveryNthRecordIsDroppedAndCounted) {
  WithFaults("drop_every=3", [] {
    Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (int i = 0; i < 9; ++i) fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    Flush();
    EXPECT_EQ(test_client::RuntimeCalls().size(), 6u);
    EXPECT_EQ(test_client::Dropped(), 3u);
  });
}

TEST(Faults, ALateBufferIsNotInAPlainFlushButComes) {
  WithFaults("late_buffers_ms=200", [] {
    Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_TRUE(test_client::Returned().empty());
    while (test_client::Returned().empty()) usleep(1000);
    EXPECT_EQ(test_client::RuntimeCalls().size(), 1u);
  });
}

TEST(Faults, AForcedFlushGetsLateBuffersAtOnce) {
  WithFaults("late_buffers_ms=3600000", [] {
    Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    Flush();
    EXPECT_EQ(test_client::RuntimeCalls().size(), 1u);
  });
}

TEST(Faults, ABusySubscriberRefusesEverybody) {
  WithFaults("busy_subscriber", [] {
    CUpti_SubscriberHandle subscriber = nullptr;
    EXPECT_EQ(cuptiSubscribe(&subscriber, nullptr, nullptr),
              CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  });
}

TEST(Faults, AFunctionFailsAfterSoManyCalls) {
  WithFaults("error=cuptiActivityEnable:8:after=2,error=cuptiSubscribe:999", [] {
    Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    Enable(CUPTI_ACTIVITY_KIND_DRIVER);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER), CUPTI_SUCCESS);
    CUpti_SubscriberHandle subscriber = nullptr;
    EXPECT_EQ(cuptiSubscribe(&subscriber, nullptr, nullptr), CUPTI_ERROR_UNKNOWN);
  });
}

TEST(Faults, EveryNthKernelIsInvertedOrHasNoEnd) {
  WithFaults("inverted_kernel_every=2,zero_end_every=3", [] {
    Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (int i = 1; i <= 3; ++i) fake_driver::Complete(fake_driver::Kernel(i));
    Flush();
    const auto kernels = test_client::Kernels();
    ASSERT_EQ(kernels.size(), 3u);
    EXPECT_LT(kernels[0].start, kernels[0].end);
    EXPECT_GT(kernels[1].start, kernels[1].end);
    EXPECT_GT(kernels[1].end, 0u);
    EXPECT_EQ(kernels[2].end, 0u);
  });
}

TEST(Faults, PushedIdsLeadNowhere) {
  WithFaults("no_push", [] {
    Enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    Enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    EXPECT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 4),
              CUPTI_SUCCESS);
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    Flush();
    EXPECT_EQ(test_client::Records().size(), 1u);
  });
}

TEST(Faults, AListThatCannotBeReadIsRefused) {
  for (const char* list : {"drop_every", "drop_every=x", "drop_evry=3", "error=f", "error=f:x",
                           "error=f:1:before=2", "no_push=1", "late_buffers_ms=-4"}) {
    simcupti::Faults faults;
    std::string error;
    EXPECT_FALSE(simcupti::ParseFaults(list, &faults, &error)) << list;
    EXPECT_NE(error.find(list), std::string::npos);
  }
  simcupti::Faults faults;
  std::string error;
  EXPECT_TRUE(simcupti::ParseFaults("", &faults, &error));
  EXPECT_FALSE(faults.drop_record.Next());
}

}  // namespace

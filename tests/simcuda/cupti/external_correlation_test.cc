// Which records tie API calls to the client's own ids.

#include <cupti.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/simcuda/cupti/fake_driver.h"
#include "tests/simcuda/cupti/test_client.h"

namespace {

using simcuda::ApiDomain;

constexpr auto kFirst = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr auto kSecond = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
constexpr uint32_t kMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;

class ExternalCorrelation : public testing::Test {
 protected:
  void SetUp() override {
    fake_driver::Reset();
    test_client::Start();
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), CUPTI_SUCCESS);
  }
  void TearDown() override { ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS); }

  static void Push(CUpti_ExternalCorrelationKind kind, uint64_t id) {
    ASSERT_EQ(cuptiActivityPushExternalCorrelationId(kind, id), CUPTI_SUCCESS);
  }
  std::vector<CUpti_ActivityExternalCorrelation> Ties() {
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    return test_client::RecordsOf<CUpti_ActivityExternalCorrelation>(
        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  }
};

TEST_F(ExternalCorrelation, ACallIsPrecededByTheIdOnTop) {
  Push(kFirst, 5);
  Push(kFirst, 6);
  const uint32_t correlation_id = fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  ASSERT_EQ(Ties().size(), 1u);
  EXPECT_EQ(Ties()[0].externalId, 6u);
  EXPECT_EQ(Ties()[0].externalKind, kFirst);
  EXPECT_EQ(Ties()[0].correlationId, correlation_id);
  ASSERT_EQ(test_client::Records().size(), 2u);
  EXPECT_EQ(test_client::Records()[0]->kind, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  EXPECT_EQ(test_client::Records()[1]->kind, CUPTI_ACTIVITY_KIND_RUNTIME);
}

TEST_F(ExternalCorrelation, TheRecordIsThereWhenTheCallHasBegun) {
  Push(kFirst, 5);
  size_t inside = 0;
  fake_driver::Call(ApiDomain::kRuntime, kMalloc, [&] { inside = Ties().size(); });
  EXPECT_EQ(inside, 1u);
}

TEST_F(ExternalCorrelation, EachKindThatHasAnIdHasARecord) {
  Push(kFirst, 5);
  Push(kSecond, 1ull << 60);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  ASSERT_EQ(Ties().size(), 2u);
  EXPECT_EQ(Ties()[0].externalKind, kFirst);
  EXPECT_EQ(Ties()[1].externalKind, kSecond);
  EXPECT_EQ(Ties()[1].externalId, 1ull << 60);
}

TEST_F(ExternalCorrelation, PopGivesTheIdsBackInReverseAndThenNone) {
  Push(kFirst, 5);
  Push(kFirst, 6);
  uint64_t id = 0;
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kFirst, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 6u);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kSecond, &id), CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kFirst, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kFirst, &id), CUPTI_ERROR_QUEUE_EMPTY);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_TRUE(Ties().empty());
}

TEST_F(ExternalCorrelation, KindsThatAreNoneAreRefused) {
  EXPECT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_SIZE, nullptr),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(ExternalCorrelation, IdsAreOfOneThread) {
  Push(kFirst, 5);
  std::thread([] {
    fake_driver::Call(ApiDomain::kRuntime, kMalloc);
    EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kFirst, nullptr), CUPTI_ERROR_QUEUE_EMPTY);
  }).join();
  EXPECT_TRUE(Ties().empty());
}

TEST_F(ExternalCorrelation, CallsThatAreNotRecordedHaveNone) {
  Push(kFirst, 5);
  fake_driver::Call(ApiDomain::kDriver, CUPTI_DRIVER_TRACE_CBID_cuInit);
  ASSERT_EQ(cuptiActivityEnableRuntimeApi(kMalloc, 0), CUPTI_SUCCESS);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_TRUE(Ties().empty());
}

TEST_F(ExternalCorrelation, WithoutTheKindThereAreNoRecords) {
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), CUPTI_SUCCESS);
  Push(kFirst, 5);
  fake_driver::Call(ApiDomain::kRuntime, kMalloc);
  EXPECT_TRUE(Ties().empty());
}

TEST_F(ExternalCorrelation, FinalizeEmptiesTheStacks) {
  Push(kFirst, 5);
  ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(kFirst, nullptr), CUPTI_ERROR_QUEUE_EMPTY);
}

}  // namespace

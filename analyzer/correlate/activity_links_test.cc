#include "analyzer/correlate/activity_links.h"

#include "gtest/gtest.h"

namespace tp {
namespace {

DeviceActivity Record(ActivityKind kind, uint64_t correlation, uint64_t operation = kNoOperation) {
  DeviceActivity record;
  record.kind = kind;
  record.correlation = correlation;
  record.operation = operation;
  return record;
}

constexpr ActivityKind kKernel = ActivityKind::kKernel;
constexpr ActivityKind kRuntime = ActivityKind::kRuntimeCall;
constexpr ActivityKind kDriver = ActivityKind::kDriverCall;

TEST(ActivityLinks, AllWorkOfOneLaunchIsLinkedToItInAnyOrder) {
  const DeviceActivity records[] = {Record(kKernel, 7), Record(kRuntime, 7, 3), Record(kKernel, 7)};
  const std::vector<ActivityLink> links = LinkActivities(records);
  EXPECT_EQ(links[0].operation, 3u);
  EXPECT_EQ(links[2].operation, 3u);
  EXPECT_EQ(links[0].launch, 1u);
  EXPECT_EQ(links[2].launch, 1u);
  EXPECT_EQ(links[1].launch, kNoLaunch);
}

TEST(ActivityLinks, ARecordsOwnOperationComesFirst) {
  const DeviceActivity records[] = {Record(kRuntime, 7, 3), Record(kKernel, 7, 5)};
  EXPECT_EQ(LinkActivities(records)[1].operation, 5u);
}

TEST(ActivityLinks, OfTwoCallsTheInnermostOperationCounts) {
  const DeviceActivity records[] = {Record(kRuntime, 7, 3), Record(kDriver, 7, 4),
                                    Record(kRuntime, 7), Record(kKernel, 7)};
  EXPECT_EQ(LinkActivities(records)[3].operation, 4u);
  EXPECT_EQ(LinkActivities(records)[3].launch, 0u);
}

TEST(ActivityLinks, CorrelationZeroLinksNothing) {
  const DeviceActivity records[] = {Record(kRuntime, 0, 3), Record(kKernel, 0)};
  EXPECT_EQ(LinkActivities(records)[1].operation, kNoOperation);
  EXPECT_EQ(LinkActivities(records)[1].launch, kNoLaunch);
}

}  // namespace
}  // namespace tp

#include "analyzer/wire/event_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tp {
namespace {

using testing::ElementsAre;

std::string WordOf(ActivityKind kind) { return KindWord(EventKindOf(kind)); }

TEST(EventKind, EveryKindOfRecordHasItsWord) {
  EXPECT_EQ(WordOf(ActivityKind::kKernel), "kernels");
  EXPECT_EQ(WordOf(ActivityKind::kCopy), "copies");
  EXPECT_EQ(WordOf(ActivityKind::kFill), "fills");
  EXPECT_EQ(WordOf(ActivityKind::kRuntimeCall), "runtime_calls");
  EXPECT_EQ(WordOf(ActivityKind::kDriverCall), "driver_calls");
  EXPECT_EQ(WordOf(ActivityKind::kGraph), "graphs");
  EXPECT_EQ(WordOf(ActivityKind::kSynchronization), "synchronizations");
  EXPECT_EQ(WordOf(ActivityKind::kCompilation), "compilations");
  EXPECT_EQ(WordOf(ActivityKind::kOverhead), "overhead");
}

TEST(EventKind, AnAnnotationOnTheDeviceIsNoRecordOfItsOwn) {
  EXPECT_EQ(EventKindOf(ActivityKind::kDeviceAnnotation), wire::EVENT_KIND_UNKNOWN);
}

TEST(EventKind, OnlyKindsThatMostProcessesHaveAreToldAtZero) {
  const auto told = [](const EventCounts& counts) {
    query::Process process;
    AddEvents(counts, &process);
    std::vector<std::string> words;
    for (const query::KindCount& events : process.events()) words.push_back(events.kind());
    return words;
  };
  EventCounts counts{};
  EXPECT_THAT(told(counts), ElementsAre("operations", "kernels", "copies", "fills", "runtime_calls",
                                        "driver_calls"));
  // Those are not counted as anything.
  counts[wire::EVENT_KIND_UNKNOWN] = 5;
  counts[wire::OVERHEAD] = 1;
  EXPECT_THAT(told(counts), ElementsAre("operations", "kernels", "copies", "fills", "runtime_calls",
                                        "driver_calls", "overhead"));
}

}  // namespace
}  // namespace tp

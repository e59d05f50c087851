#include "analyzer/correlate/launch_enclosure.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tp {
namespace {

using ::testing::ElementsAre;

Span Between(int64_t start_ns, int64_t end_ns, int64_t thread = 1) {
  Span span;
  span.start_ns = start_ns;
  span.end_ns = end_ns;
  span.thread = thread;
  return span;
}

std::vector<DeviceActivity> CallsAt(const std::vector<int64_t>& times, int64_t thread = 1) {
  std::vector<DeviceActivity> calls;
  for (int64_t time_ns : times) {
    DeviceActivity& call = calls.emplace_back();
    call.kind = ActivityKind::kRuntimeCall;
    call.start_ns = time_ns;
    call.end_ns = time_ns;  // Only the start decides.
    call.thread = thread;
  }
  return calls;
}

constexpr int64_t kNone = -1;

// The place of the span that each call was made in, kNone if there is none.
std::vector<int64_t> EnclosingSpans(std::vector<Span> spans,
                                    std::vector<DeviceActivity> activities) {
  for (size_t i = 0; i < spans.size(); ++i) spans[i].id = i;
  JoinCallsToSpans(spans, &activities);
  std::vector<int64_t> places;
  for (const DeviceActivity& activity : activities) {
    places.push_back(activity.operation == kNoOperation ? kNone
                                                        : static_cast<int64_t>(activity.operation));
  }
  return places;
}

TEST(LaunchEnclosure, TheInnermostSpanThatIsOpenAtTheStartIsIt) {
  const std::vector<Span> spans = {Between(0, 100), Between(10, 50), Between(20, 30)};
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({-1, 0, 10, 20, 29, 30, 50, 99, 100})),
              ElementsAre(kNone, 0, 1, 2, 2, 1, 0, 0, kNone));
}

TEST(LaunchEnclosure, OfSpansThatOverlapTheOneOpenedLastIsIt) {
  const std::vector<Span> spans = {Between(0, 20), Between(10, 30), Between(5, 12)};
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({6, 11, 15, 25})), ElementsAre(2, 1, 1, 1));
}

TEST(LaunchEnclosure, OfEqualStartsTheShorterAndThenTheLaterInTheListIsIt) {
  const std::vector<Span> spans = {Between(0, 5), Between(0, 10), Between(0, 5)};
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({0, 7})), ElementsAre(2, 1));
}

TEST(LaunchEnclosure, OrderOfTheListsDoesNotMatter) {
  const std::vector<Span> spans = {Between(20, 30), Between(0, 100), Between(10, 50)};
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({60, 25, 5, 25, 45})), ElementsAre(1, 0, 1, 0, 2));
}

TEST(LaunchEnclosure, ThreadsAreApart) {
  const std::vector<Span> spans = {Between(0, 100, 1), Between(50, 60, 2)};
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({55}, 1)), ElementsAre(0));
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({55, 65}, 2)), ElementsAre(1, kNone));
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({55}, 3)), ElementsAre(kNone));
}

TEST(LaunchEnclosure, NothingIsInsideOfWhatHasNoLengthOrNoPlaceOnItsThread) {
  std::vector<Span> spans = {Between(5, 5), Between(9, 3), Between(0, 10)};
  spans[2].asynchronous = true;
  EXPECT_THAT(EnclosingSpans(spans, CallsAt({5, 4})), ElementsAre(kNone, kNone));
}

TEST(LaunchEnclosure, ASpanThatHasNotEndedEnclosesAllThatIsLater) {
  EXPECT_THAT(
      EnclosingSpans(std::vector<Span>{Between(5, kStillOpen)}, CallsAt({4, INT64_MAX - 1})),
      ElementsAre(kNone, 0));
}

TEST(LaunchEnclosure, ACallOutsideKeepsWhatItSaidItself) {
  std::vector<DeviceActivity> calls = CallsAt({5, 15});
  calls[0].operation = calls[1].operation = 7;
  std::vector<Span> spans = {Between(0, 10)};
  spans[0].id = 3;
  JoinCallsToSpans(spans, &calls);
  EXPECT_EQ(calls[0].operation, 3u);
  EXPECT_EQ(calls[1].operation, 7u);
}

TEST(LaunchEnclosure, OnlyHostCallsHaveAnAnswer) {
  std::vector<DeviceActivity> activities = CallsAt({5, 5, 5});
  activities[0].kind = ActivityKind::kKernel;
  activities[1].kind = ActivityKind::kDriverCall;
  activities[2].kind = ActivityKind::kDeviceAnnotation;
  EXPECT_THAT(EnclosingSpans(std::vector<Span>{Between(0, 10)}, activities),
              ElementsAre(kNone, 0, kNone));
}

// The rule as a plain loop.
int64_t Expected(const std::vector<Span>& spans, const DeviceActivity& call) {
  int64_t best = kNone;
  for (int64_t i = 0; i < static_cast<int64_t>(spans.size()); ++i) {
    const Span& span = spans[i];
    if (span.thread != call.thread || span.start_ns > call.start_ns ||
        span.end_ns <= call.start_ns) {
      continue;
    }
    if (best == kNone || span.start_ns > spans[best].start_ns ||
        (span.start_ns == spans[best].start_ns && span.end_ns <= spans[best].end_ns)) {
      best = i;
    }
  }
  return best;
}

TEST(LaunchEnclosure, RandomSpansGiveWhatThePlainRuleGives) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<Span> spans;
    for (int i = 0; i < 30; ++i) {
      const int64_t start_ns = random() % 40;
      spans.push_back(Between(start_ns, start_ns + random() % 20, random() % 3));
    }
    std::vector<DeviceActivity> calls;
    for (int64_t thread = 0; thread < 3; ++thread) {
      std::vector<int64_t> times;
      for (int i = 0; i < 20; ++i) times.push_back(random() % 60);
      for (const DeviceActivity& call : CallsAt(times, thread)) calls.push_back(call);
    }
    const std::vector<int64_t> enclosing = EnclosingSpans(spans, calls);
    for (size_t i = 0; i < calls.size(); ++i) {
      ASSERT_EQ(enclosing[i], Expected(spans, calls[i])) << "round " << round << " call " << i;
    }
  }
}

}  // namespace
}  // namespace tp

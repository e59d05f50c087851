// Small random recordings with all that is hard in them: equal times, overlaps, open and
// asynchronous spans, several calls and much work of one correlation, ids that nobody has.
#ifndef ANALYZER_SUMMARIZE_RANDOM_RECORDING_H_
#define ANALYZER_SUMMARIZE_RANDOM_RECORDING_H_

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "analyzer/summarize/reference.h"
#include "analyzer/summarize/summary.h"

namespace tp {

// A time after all that ended.
inline constexpr int64_t kAfterAll = 600;

class RandomRecording {
 public:
  explicit RandomRecording(unsigned seed) : random_(seed) {
    int spans = Below(40), threads = 1 + Below(3), activities = Below(40), calls = Below(25);
    int64_t times = Chance(3) ? 12 : 200;  // Few times: many equal ones.
    for (int i = 0; i < spans; ++i) {
      Span span;
      span.id = i * 3 + 7;
      span.start_ns = Below(times);
      span.end_ns = Chance(12) ? kStillOpen : span.start_ns + Below(times / (1 + Below(8)) + 1);
      span.thread = Below(threads) - 1;
      span.name = Below(4) + 1;
      span.kind = Chance(3) ? SpanKind::kUserAnnotation : SpanKind::kOperation;
      span.shapes = Below(2);
      span.stack = Below(2);
      span.asynchronous = Chance(10);
      span.flops = Below(3);
      span.output_bytes = Chance(3) ? Below(100) - 20 : 0;
      recording.spans.push_back(span);
    }
    auto operation = [&] {
      return Chance(8) ? 10000 + Below(3) : Below(spans + 1) * uint64_t{3} + 7;
    };
    for (int i = 0; i < calls; ++i) {
      DeviceActivity call;
      call.kind = Chance(2) ? ActivityKind::kRuntimeCall : ActivityKind::kDriverCall;
      call.correlation = Below(20);
      call.start_ns = Chance(3) ? Below(300) : 0;
      call.end_ns = call.start_ns + Below(30) - 1;
      call.name = 1;
      if (Chance(2)) call.operation = operation();
      recording.activities.push_back(call);
      if (Chance(2)) recording.launch_operations.push_back({Below(20), operation()});
    }
    constexpr ActivityKind kKinds[] = {ActivityKind::kKernel, ActivityKind::kKernel,
                                       ActivityKind::kCopy, ActivityKind::kFill,
                                       ActivityKind::kDeviceAnnotation};
    for (int i = 0; i < activities; ++i) {
      DeviceActivity work;
      work.kind = kKinds[Below(5)];
      work.start_ns = Below(400);
      work.end_ns = work.start_ns + Below(50) - 2;
      work.correlation = Below(20);
      if (Chance(4)) work.operation = operation();
      work.name = Below(3) + 1;
      work.stream = Below(2);
      recording.activities.push_back(work);
    }
  }

  // What a source could tell of it, in an order of its own: each step adds one fact.
  std::vector<std::function<void(Summary*)>> Facts() {
    std::vector<std::function<void(Summary*)>> facts;
    for (const Span& span : recording.spans) {
      if (span.end_ns != kStillOpen && Chance(2)) {
        Span open = span;
        open.end_ns = kStillOpen;
        facts.push_back([open](Summary* summary) { summary->AddSpan(open); });
        facts.push_back([span](Summary* summary) { summary->CloseSpan(span.id, span.end_ns); });
      } else {
        facts.push_back([span](Summary* summary) { summary->AddSpan(span); });
      }
      if (Chance(6)) facts.push_back([span](Summary* summary) { summary->AddSpan(span); });
    }
    for (const DeviceActivity& activity : recording.activities) {
      facts.push_back([activity](Summary* summary) { summary->AddActivity(activity); });
    }
    for (auto [correlation, operation] : recording.launch_operations) {
      facts.push_back(
          [=](Summary* summary) { summary->AddLaunchOperation(correlation, operation); });
    }
    return facts;
  }

  void Shuffle(std::vector<std::function<void(Summary*)>>* facts) {
    std::shuffle(facts->begin(), facts->end(), random_);
  }
  bool Chance(int of) { return Below(of) == 0; }
  int Below(int limit) { return static_cast<int>(random_() % limit); }

  PlainRecording recording;

 private:
  std::mt19937 random_;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_RANDOM_RECORDING_H_

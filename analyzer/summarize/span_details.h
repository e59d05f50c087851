// What few spans have and single spans are shown with: named values (payloads, categories). It does
// not matter whether a span comes before its values.
#ifndef ANALYZER_SUMMARIZE_SPAN_DETAILS_H_
#define ANALYZER_SUMMARIZE_SPAN_DETAILS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/correlate/two_generations.h"
#include "analyzer/model/recording.h"

namespace tp {

class SpanDetails {
 public:
  struct Details {
    std::vector<SpanValue> values;  // Each name once, in the order in which they came.
  };

  // At least those of the latest limit / 2 spans that have any are kept.
  explicit SpanDetails(size_t limit) : details_(limit) {}

  // A value of the same name takes the earlier one's place; beyond so many it is left out.
  void AddValue(const SpanValue& value) {
    if (value.span == kNoOperation) return;
    std::vector<SpanValue>& values = At(value.span).values;
    for (SpanValue& known : values) {
      if (known.name != value.name) continue;
      known = value;
      return;
    }
    if (values.size() >= kMostValues) return;
    values.push_back(value);
    ++added_values_;
  }

  // Null if it has none.
  const Details* Find(uint64_t span) { return details_.Find(span); }

  // Spans whose details were let go.
  uint64_t let_go() const { return let_go_; }
  size_t memory_bytes() const {
    return details_.memory_bytes() + added_values_ * sizeof(SpanValue);
  }

 private:
  static constexpr size_t kMostValues = 64;  // Of one span.

  Details& At(uint64_t span) {
    return details_.At(span, [this](const auto& forgotten) {
      let_go_ += forgotten.size();
      for (const auto& [id, details] : forgotten) added_values_ -= details.values.size();
    });
  }

  TwoGenerations<Details> details_;
  size_t added_values_ = 0;
  uint64_t let_go_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_SPAN_DETAILS_H_

// Records that cannot be right, counted by kind and by what is wrong with them: they are in no sum.
#ifndef ANALYZER_SUMMARIZE_IMPOSSIBLE_H_
#define ANALYZER_SUMMARIZE_IMPOSSIBLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/model/recording.h"
#include "analyzer/wire/event_kind.h"
#include "google/protobuf/repeated_field.h"
#include "proto/query.pb.h"

namespace tp {

enum class Impossibility {
  kEndsBeforeStart,
  kStartsBeforeLaunch,  // Device work that starts before the call that launched it.
  // Before capturing began, after now, or where no clock can be; in files, far from all else.
  kOutsideRecording,
};

class ImpossibleRecords {
 public:
  void AddSpan(Impossibility what) { ++counts_[static_cast<size_t>(what)][wire::OPERATION]; }
  void AddCounter(Impossibility what) { ++counts_[static_cast<size_t>(what)][wire::COUNTER]; }
  void AddActivity(Impossibility what, ActivityKind kind);
  // What was taken for impossible and is not.
  void RemoveActivity(Impossibility what, ActivityKind kind);

  uint64_t count(Impossibility what) const;
  // An entry for each kind and cause that is not zero, in the words of query.proto.
  void AddTo(google::protobuf::RepeatedPtrField<query::Loss>* losses) const;

 private:
  static constexpr size_t kCauses = 3;
  std::array<EventCounts, kCauses> counts_{};
};

}  // namespace tp

#endif  // ANALYZER_SUMMARIZE_IMPOSSIBLE_H_

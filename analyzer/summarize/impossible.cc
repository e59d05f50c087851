#include "analyzer/summarize/impossible.h"

#include <iterator>

namespace tp {
namespace {

constexpr const char* kKindWords[] = {"operations",    "kernels",      "copies", "fills",
                                      "runtime_calls", "driver_calls", "graphs", "synchronizations",
                                      "overhead",      "compilations"};
constexpr const char* kCauseWords[] = {"end before they start", "start before their launch",
                                       "outside the time of the recording"};

size_t KindIndex(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kCopy:
      return 2;
    case ActivityKind::kFill:
      return 3;
    case ActivityKind::kRuntimeCall:
      return 4;
    case ActivityKind::kDriverCall:
      return 5;
    case ActivityKind::kGraph:
      return 6;
    case ActivityKind::kSynchronization:
      return 7;
    case ActivityKind::kOverhead:
      return 8;
    case ActivityKind::kCompilation:
      return 9;
    default:
      return 1;
  }
}

}  // namespace

void ImpossibleRecords::AddActivity(Impossibility what, ActivityKind kind) {
  ++counts_[static_cast<size_t>(what)][KindIndex(kind)];
}

void ImpossibleRecords::RemoveActivity(Impossibility what, ActivityKind kind) {
  --counts_[static_cast<size_t>(what)][KindIndex(kind)];
}

uint64_t ImpossibleRecords::count(Impossibility what) const {
  uint64_t sum = 0;
  for (const uint64_t count : counts_[static_cast<size_t>(what)]) sum += count;
  return sum;
}

void ImpossibleRecords::AddTo(google::protobuf::RepeatedPtrField<query::Loss>* losses) const {
  static_assert(std::size(kKindWords) == kKinds && std::size(kCauseWords) == kCauses);
  for (size_t cause = 0; cause < kCauses; ++cause) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (counts_[cause][kind] == 0) continue;
      query::Loss* loss = losses->Add();
      loss->set_kind(kKindWords[kind]);
      loss->set_cause(kCauseWords[cause]);
      loss->set_count(counts_[cause][kind]);
    }
  }
}

}  // namespace tp

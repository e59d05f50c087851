#include "analyzer/summarize/impossible.h"

#include <iterator>

namespace tp {
namespace {

constexpr const char* kCauseWords[] = {"end before they start", "start before their launch",
                                       "outside the time of the recording"};

}  // namespace

void ImpossibleRecords::AddActivity(Impossibility what, ActivityKind kind) {
  ++counts_[static_cast<size_t>(what)][EventKindOf(kind)];
}

void ImpossibleRecords::RemoveActivity(Impossibility what, ActivityKind kind) {
  --counts_[static_cast<size_t>(what)][EventKindOf(kind)];
}

uint64_t ImpossibleRecords::count(Impossibility what) const {
  uint64_t sum = 0;
  for (const uint64_t count : counts_[static_cast<size_t>(what)]) sum += count;
  return sum;
}

void ImpossibleRecords::AddTo(google::protobuf::RepeatedPtrField<query::Loss>* losses) const {
  static_assert(std::size(kCauseWords) == kCauses);
  for (size_t cause = 0; cause < kCauses; ++cause) {
    for (int kind = 0; kind < wire::EventKind_ARRAYSIZE; ++kind) {
      if (counts_[cause][kind] == 0) continue;
      query::Loss* loss = losses->Add();
      loss->set_kind(KindWord(kind));
      loss->set_cause(kCauseWords[cause]);
      loss->set_count(counts_[cause][kind]);
    }
  }
}

}  // namespace tp

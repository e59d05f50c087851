// What one process's collector sent, what came of it, and what did not: the arithmetic that lets
// the daemon know what it does not know.
//
// A collector numbers its batches, repeats those that were not acknowledged on the next connection,
// and tells its own losses. This adds what it cannot know: batches that an earlier daemon took with
// it, and events that never came because the connection ended.
#ifndef ANALYZER_SERVE_LOSS_ACCOUNT_H_
#define ANALYZER_SERVE_LOSS_ACCOUNT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/wire/event_kind.h"
#include "proto/capture.pb.h"
#include "proto/query.pb.h"
#include "proto/wire.pb.h"

namespace tp {

std::string CauseWord(int loss_cause);

class LossAccount {
 public:
  // A connection begins.
  void Greeted(const wire::Hello& hello);
  // False if the batch came before: a repetition. Counts the batches that were left out before it.
  bool IsNew(uint64_t sequence);
  // What a new batch held.
  void Received(const EventCounts& counts);
  // Operations that were counted as lost, and came once more as they are still open.
  void FoundAgain(uint64_t operations) { found_again_ += operations; }
  // The latest word of the collector; each replaces the one before.
  void Told(const wire::Status& status);

  const EventCounts& received() const { return received_; }
  uint64_t last_sequence() const { return last_sequence_; }
  uint64_t repeated_batches() const { return repeated_batches_; }
  uint64_t batches_left_out() const { return batches_left_out_; }

  // As it is, to go on elsewhere.
  void Save(capture::Account* account) const;
  void Restore(const capture::Account& account);

  // All that are not zero. `ended`: nothing is underway any more, so what was produced and did not
  // come never will, unless the collector connects again.
  std::vector<query::Loss> Losses(bool ended) const;

 private:
  EventCounts received_{};
  EventCounts produced_{};
  EventCounts earlier_daemon_{};
  uint64_t found_again_ = 0;
  std::map<std::pair<int, int>, uint64_t> told_;  // By kind and cause.
  uint64_t oldest_sequence_ = 0;
  uint64_t last_sequence_ = 0;
  uint64_t repeated_batches_ = 0;
  uint64_t batches_left_out_ = 0;
};

}  // namespace tp

#endif  // ANALYZER_SERVE_LOSS_ACCOUNT_H_

#include "analyzer/serve/loss_account.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tp {
namespace {

// A collector that knows more kinds and causes than this is not believed.
constexpr size_t kMaxTold = 256;
constexpr const char* kNeverArrived = "never arrived";

uint64_t AddWithoutWrap(uint64_t left, uint64_t right) {
  return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}

uint64_t SubtractToZero(uint64_t left, uint64_t right) { return left > right ? left - right : 0; }

}  // namespace

std::string CauseWord(int loss_cause) {
  switch (loss_cause) {
    case wire::LOSS_CAUSE_UNKNOWN:
      return "unknown cause";
    case wire::CUPTI_DROPPED:
      return "dropped by CUPTI";
    case wire::OPERATION_BUFFER_FULL:
      return "operation buffer full";
    case wire::QUEUE_FULL:
      return "queue full";
    case wire::EARLIER_DAEMON:
      return "earlier daemon";
    case wire::UNREADABLE:
      return "unreadable";
    default:
      return absl::StrCat("unknown cause ", loss_cause);
  }
}

void LossAccount::Greeted(const wire::Hello& hello) {
  const EventCounts acknowledged = CountsOf(hello.acknowledged());
  for (size_t kind = 0; kind < acknowledged.size(); ++kind) {
    // What this daemon received and did not get to acknowledge makes the difference smaller on a
    // later connection; the largest is right.
    earlier_daemon_[kind] =
        std::max(earlier_daemon_[kind], SubtractToZero(acknowledged[kind], received_[kind]));
  }
  if (last_sequence_ == 0) oldest_sequence_ = hello.oldest_sequence();
}

bool LossAccount::IsNew(uint64_t sequence) {
  if (sequence <= last_sequence_) {
    ++repeated_batches_;
    return false;
  }
  // The first batch of all: what came before the oldest that was announced is in the count of what
  // others acknowledged.
  const uint64_t expected = last_sequence_ > 0 ? last_sequence_ + 1 : oldest_sequence_;
  if (expected > 0) {
    batches_left_out_ = AddWithoutWrap(batches_left_out_, SubtractToZero(sequence, expected));
  }
  last_sequence_ = sequence;
  return true;
}

void LossAccount::Received(const EventCounts& counts) {
  for (size_t kind = 0; kind < counts.size(); ++kind) received_[kind] += counts[kind];
}

void LossAccount::Told(const wire::Status& status) {
  told_.clear();
  for (const wire::Loss& loss : status.losses()) {
    if (loss.count() == 0 || told_.size() == kMaxTold) continue;
    uint64_t& count = told_[{loss.kind(), loss.cause()}];
    count = AddWithoutWrap(count, loss.count());
  }
  produced_ = CountsOf(status.produced());
}

void LossAccount::Save(capture::Account* account) const {
  SaveCounts(received_, account->mutable_received());
  SaveCounts(produced_, account->mutable_produced());
  SaveCounts(earlier_daemon_, account->mutable_earlier_daemon());
  for (const auto& [what, count] : told_) {
    wire::Loss* loss = account->add_told();
    loss->set_kind(static_cast<wire::EventKind>(what.first));
    loss->set_cause(static_cast<wire::LossCause>(what.second));
    loss->set_count(count);
  }
  account->set_found_again(found_again_);
  account->set_oldest_sequence(oldest_sequence_);
  account->set_last_sequence(last_sequence_);
  account->set_batches_left_out(batches_left_out_);
}

void LossAccount::Restore(const capture::Account& account) {
  wire::Status status;
  *status.mutable_losses() = account.told();
  *status.mutable_produced() = account.produced();
  Told(status);
  received_ = CountsOf(account.received());
  earlier_daemon_ = CountsOf(account.earlier_daemon());
  found_again_ = account.found_again();
  oldest_sequence_ = account.oldest_sequence();
  last_sequence_ = account.last_sequence();
  batches_left_out_ = account.batches_left_out();
}

std::vector<query::Loss> LossAccount::Losses(bool ended) const {
  std::vector<query::Loss> losses;
  const auto add = [&](int kind, std::string cause, uint64_t count) {
    if (count == 0) return;
    query::Loss& loss = losses.emplace_back();
    loss.set_kind(KindWord(kind));
    loss.set_cause(std::move(cause));
    loss.set_count(count);
  };
  uint64_t found_again = found_again_;
  const auto without_found = [&](int kind, uint64_t count) {
    if (kind != wire::OPERATION) return count;
    const uint64_t found = std::min(found_again, count);
    found_again -= found;
    return count - found;
  };
  const EventCounts& earlier = earlier_daemon_;
  const uint64_t earlier_operations = without_found(wire::OPERATION, earlier[wire::OPERATION]);
  for (const auto& [what, count] : told_) {
    const auto [kind, cause] = what;
    add(kind, CauseWord(cause), cause == wire::QUEUE_FULL ? without_found(kind, count) : count);
  }
  for (int kind = 0; kind < wire::EventKind_ARRAYSIZE; ++kind) {
    add(kind, CauseWord(wire::EARLIER_DAEMON),
        kind == wire::OPERATION ? earlier_operations : earlier[kind]);
    if (!ended) continue;
    // Batches that were dropped from the queue were produced as well.
    const auto dropped = told_.find({kind, wire::QUEUE_FULL});
    uint64_t accounted = AddWithoutWrap(received_[kind], earlier_daemon_[kind]);
    if (dropped != told_.end()) accounted = AddWithoutWrap(accounted, dropped->second);
    add(kind, kNeverArrived, SubtractToZero(produced_[kind], accounted));
  }
  return losses;
}

}  // namespace tp

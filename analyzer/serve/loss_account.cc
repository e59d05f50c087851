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

bool IsKnownKind(int kind) { return kind >= 0 && kind < wire::EventKind_ARRAYSIZE; }

}  // namespace

std::string KindWord(int event_kind) {
  switch (event_kind) {
    case wire::EVENT_KIND_UNKNOWN:
      return "records";
    case wire::OPERATION:
      return "operations";
    case wire::KERNEL:
      return "kernels";
    case wire::COPY:
      return "copies";
    case wire::FILL:
      return "fills";
    case wire::RUNTIME_CALL:
      return "runtime_calls";
    case wire::DRIVER_CALL:
      return "driver_calls";
    case wire::LAUNCH_OPERATION:
      return "launch_operations";
    case wire::GRAPH:
      return "graphs";
    case wire::SYNCHRONIZATION:
      return "synchronizations";
    case wire::MEMORY:
      return "memory";
    case wire::OVERHEAD:
      return "overhead";
    case wire::COMPILATION:
      return "compilations";
    case wire::GRAPH_NODE:
      return "graph_nodes";
    default:
      return absl::StrCat("events of unknown kind ", event_kind);
  }
}

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
  EventCounts acknowledged{};
  for (const wire::KindCount& told : hello.acknowledged()) {
    if (!IsKnownKind(told.kind())) continue;
    acknowledged[told.kind()] = AddWithoutWrap(acknowledged[told.kind()], told.count());
  }
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
  produced_ = {};
  for (const wire::KindCount& told : status.produced()) {
    if (!IsKnownKind(told.kind())) continue;
    produced_[told.kind()] = AddWithoutWrap(produced_[told.kind()], told.count());
  }
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

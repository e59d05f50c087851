#include "collector/link/batch_queue.h"

#include <utility>

namespace tp::collect {
namespace {

// Entries of sent_and_gone_ that a daemon never acknowledges must not pile up.
constexpr size_t kMostSentAndGone = 4096;
// A tick has about one for each thread with ranges.
constexpr size_t kMostEnds = 16384;

}  // namespace

size_t BatchQueue::BytesOf(const EncodedBatch& batch) {
  return batch.frame.capacity() + batch.ends.capacity() * sizeof(RangeEnd) + sizeof(EncodedBatch);
}

void BatchQueue::Push(EncodedBatch batch) {
  next_sequence_ = batch.sequence + 1;
  bytes_ += BytesOf(batch);
  batches_.push_back(std::move(batch));
  while (bytes_ > limit_bytes_ && !batches_.empty()) LetGoOldest();
}

void BatchQueue::LetGoOldest() {
  EncodedBatch& oldest = batches_.front();
  if (sent_ > 0) {
    --sent_;
    sent_and_gone_.push_back({oldest.sequence, oldest.counts});
    if (sent_and_gone_.size() > kMostSentAndGone) {
      dropped_ += sent_and_gone_.front().counts;
      sent_and_gone_.pop_front();
    }
  } else {
    dropped_ += oldest.counts;
  }
  begins_gone_ = begins_gone_ || oldest.has_begins;
  bytes_ -= BytesOf(oldest);
  ends_.insert(ends_.end(), oldest.ends.begin(), oldest.ends.end());
  if (ends_.size() > kMostEnds) ends_.erase(ends_.begin(), ends_.end() - kMostEnds);
  batches_.pop_front();
}

std::vector<RangeEnd> BatchQueue::TakeEnds() { return std::exchange(ends_, {}); }

bool BatchQueue::TakeBeginsGone() { return std::exchange(begins_gone_, false); }

const EncodedBatch* BatchQueue::NextToSend() const {
  return sent_ < batches_.size() ? &batches_[sent_] : nullptr;
}

void BatchQueue::MarkSent() { ++sent_; }

void BatchQueue::Acknowledge(std::deque<SentAndGone>* gone, uint64_t sequence) {
  while (!gone->empty() && gone->front().sequence <= sequence) {
    acknowledged_ += gone->front().counts;
    gone->pop_front();
  }
}

void BatchQueue::Acknowledge(uint64_t sequence) {
  Acknowledge(&unsettled_, sequence);
  Acknowledge(&sent_and_gone_, sequence);
  // Only what was sent can have been received, whatever the daemon says.
  while (sent_ > 0 && batches_.front().sequence <= sequence) {
    acknowledged_ += batches_.front().counts;
    bytes_ -= BytesOf(batches_.front());
    batches_.pop_front();
    --sent_;
  }
}

void BatchQueue::GiveUpUnsent() {
  while (batches_.size() > sent_) {
    dropped_ += batches_.back().counts;
    bytes_ -= BytesOf(batches_.back());
    batches_.pop_back();
  }
}

void BatchQueue::Rewind() {
  sent_ = 0;
  for (SentAndGone& gone : sent_and_gone_) unsettled_.push_back(std::move(gone));
  sent_and_gone_.clear();
  while (unsettled_.size() > kMostSentAndGone) {
    dropped_ += unsettled_.front().counts;
    unsettled_.pop_front();
  }
}

void BatchQueue::Settle(uint64_t last_sequence) {
  Acknowledge(last_sequence);
  for (const SentAndGone& gone : unsettled_) dropped_ += gone.counts;
  unsettled_.clear();
}

uint64_t BatchQueue::oldest_sequence() const {
  return batches_.empty() ? next_sequence_ : batches_.front().sequence;
}

}  // namespace tp::collect

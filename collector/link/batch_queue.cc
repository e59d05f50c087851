#include "collector/link/batch_queue.h"

#include <utility>

namespace tp::collect {
namespace {

// Entries of sent_and_gone_ that a daemon never acknowledges must not pile up.
constexpr size_t kMostSentAndGone = 4096;

}  // namespace

size_t BatchQueue::BytesOf(const EncodedBatch& batch) {
  return batch.frame.capacity() + sizeof(EncodedBatch);
}

void BatchQueue::Push(EncodedBatch batch) {
  next_sequence_ = batch.sequence + 1;
  bytes_ += BytesOf(batch);
  batches_.push_back(std::move(batch));
  while (bytes_ > limit_bytes_ && !batches_.empty()) {
    const EncodedBatch& oldest = batches_.front();
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
    bytes_ -= BytesOf(oldest);
    batches_.pop_front();
  }
}

const EncodedBatch* BatchQueue::NextToSend() const {
  return sent_ < batches_.size() ? &batches_[sent_] : nullptr;
}

void BatchQueue::MarkSent() { ++sent_; }

void BatchQueue::Acknowledge(uint64_t sequence) {
  while (!sent_and_gone_.empty() && sent_and_gone_.front().sequence <= sequence) {
    acknowledged_ += sent_and_gone_.front().counts;
    sent_and_gone_.pop_front();
  }
  // Only what was sent can have been received, whatever the daemon says.
  while (sent_ > 0 && batches_.front().sequence <= sequence) {
    acknowledged_ += batches_.front().counts;
    bytes_ -= BytesOf(batches_.front());
    batches_.pop_front();
    --sent_;
  }
}

void BatchQueue::Rewind() { sent_ = 0; }

void BatchQueue::Settle(uint64_t last_sequence) {
  Acknowledge(last_sequence);
  for (const SentAndGone& gone : sent_and_gone_) dropped_ += gone.counts;
  sent_and_gone_.clear();
}

uint64_t BatchQueue::oldest_sequence() const {
  return batches_.empty() ? next_sequence_ : batches_.front().sequence;
}

}  // namespace tp::collect

// The batches that no daemon has acknowledged yet, in order, within a bound: when they no longer
// fit, the oldest whole batches go and are counted.
#ifndef COLLECTOR_LINK_BATCH_QUEUE_H_
#define COLLECTOR_LINK_BATCH_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "collector/events.h"
#include "collector/link/batch_encoder.h"

namespace tp::collect {

// Not thread-safe: the collector thread's own.
class BatchQueue {
 public:
  explicit BatchQueue(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Sequence numbers must grow by one from batch to batch.
  void Push(EncodedBatch batch);

  // The next batch to send on this connection, or nullptr. Valid until the next call of a non-const
  // function.
  const EncodedBatch* NextToSend() const;
  void MarkSent();

  // The daemon has all batches up to this one.
  void Acknowledge(uint64_t sequence);

  // Lets go of what was not sent on this connection: nobody will come for it any more.
  void GiveUpUnsent();

  // The connection is gone: what was not acknowledged will be sent again.
  void Rewind();
  // A daemon has said which of our batches it has: those that went before they were acknowledged,
  // and that it does not have, are lost.
  void Settle(uint64_t last_sequence);

  // Ends of ranges that went with batches that were let go: to be sent again.
  std::vector<RangeEnd> TakeEnds();
  // Whether begins of ranges went with such a batch since the last call.
  bool TakeBeginsGone();

  bool empty() const { return batches_.empty(); }
  bool all_sent() const { return sent_ == batches_.size(); }
  uint64_t oldest_sequence() const;  // Of the batches held; of the next to come, if there is none.
  size_t bytes() const { return bytes_; }
  const EventCounts& dropped() const { return dropped_; }
  const EventCounts& acknowledged() const { return acknowledged_; }

 private:
  // A batch that was let go after it was sent and before it was acknowledged: lost only if no
  // daemon turns out to have it.
  struct SentAndGone {
    uint64_t sequence;
    EventCounts counts;
  };

  static size_t BytesOf(const EncodedBatch& batch);
  void LetGoOldest();
  void Acknowledge(std::deque<SentAndGone>* gone, uint64_t sequence);

  size_t limit_bytes_;
  std::deque<EncodedBatch> batches_;
  std::deque<SentAndGone> sent_and_gone_;  // On this connection.
  std::deque<SentAndGone> unsettled_;      // On earlier ones.
  std::vector<RangeEnd> ends_;
  bool begins_gone_ = false;
  size_t sent_ = 0;  // Of batches_, from the front.
  size_t bytes_ = 0;
  uint64_t next_sequence_ = 1;
  EventCounts dropped_, acknowledged_;
};

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_BATCH_QUEUE_H_

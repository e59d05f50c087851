#include "collector/link/batch_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace tp::collect {
namespace {

EncodedBatch Batch(uint64_t sequence, size_t bytes = 100) {
  EncodedBatch batch;
  batch.sequence = sequence;
  batch.counts[EventKind::kKernel] = sequence;
  batch.frame.assign(bytes, 'x');
  return batch;
}

TEST(BatchQueue, SendsInOrderAndForgetsWhatIsAcknowledged) {
  BatchQueue queue(1 << 20);
  for (uint64_t i = 1; i <= 3; ++i) queue.Push(Batch(i));
  EXPECT_EQ(queue.NextToSend()->sequence, 1u);
  queue.MarkSent();
  queue.MarkSent();
  EXPECT_EQ(queue.NextToSend()->sequence, 3u);
  queue.Acknowledge(2);
  EXPECT_EQ(queue.oldest_sequence(), 3u);
  EXPECT_EQ(queue.acknowledged()[EventKind::kKernel], 3u);
  EXPECT_EQ(queue.dropped()[EventKind::kKernel], 0u);
}

TEST(BatchQueue, ANewConnectionGetsWhatWasNotAcknowledgedAgain) {
  BatchQueue queue(1 << 20);
  for (uint64_t i = 1; i <= 3; ++i) queue.Push(Batch(i));
  for (int i = 0; i < 3; ++i) queue.MarkSent();
  queue.Acknowledge(1);
  EXPECT_TRUE(queue.all_sent());
  queue.Rewind();
  EXPECT_EQ(queue.NextToSend()->sequence, 2u);
}

TEST(BatchQueue, AnAcknowledgementOfWhatWasNotSentIsNotBelieved) {
  BatchQueue queue(1 << 20);
  queue.Push(Batch(1));
  queue.Acknowledge(1000);
  ASSERT_NE(queue.NextToSend(), nullptr);
  EXPECT_EQ(queue.NextToSend()->sequence, 1u);
}

TEST(BatchQueue, BeyondTheBoundTheOldestGoAndAreCounted) {
  BatchQueue queue(10'000);
  for (uint64_t i = 1; i <= 100; ++i) queue.Push(Batch(i, 1000));
  EXPECT_LE(queue.bytes(), 10'000u);
  uint64_t oldest = queue.oldest_sequence();
  EXPECT_GT(oldest, 85u);
  uint64_t gone = (oldest - 1) * oldest / 2;
  EXPECT_EQ(queue.dropped()[EventKind::kKernel], gone);
}

TEST(BatchQueue, ABatchThatIsLargerThanTheBoundIsDroppedWhole) {
  BatchQueue queue(1000);
  queue.Push(Batch(1, 5000));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.dropped()[EventKind::kKernel], 1u);
  EXPECT_EQ(queue.oldest_sequence(), 2u);
}

TEST(BatchQueue, ASentBatchThatHadToGoIsLostOnlyIfNoDaemonHasIt) {
  for (bool acknowledged : {true, false}) {
    BatchQueue queue(3000);
    queue.Push(Batch(1, 1000));
    queue.MarkSent();
    for (uint64_t i = 2; i <= 10; ++i) queue.Push(Batch(i, 1000));
    uint64_t unsent = 0;
    for (uint64_t i = 2; i < queue.oldest_sequence(); ++i) unsent += i;
    EXPECT_EQ(queue.dropped()[EventKind::kKernel], unsent);
    queue.Rewind();
    EXPECT_EQ(queue.dropped()[EventKind::kKernel], unsent);
    queue.Settle(/*last_sequence=*/acknowledged ? 1 : 0);
    EXPECT_EQ(queue.dropped()[EventKind::kKernel], unsent + (acknowledged ? 0 : 1));
    EXPECT_EQ(queue.acknowledged()[EventKind::kKernel], acknowledged ? 1u : 0u);
  }
}

TEST(BatchQueue, WhatIsOnItsWayOnThisConnectionIsNotLost) {
  BatchQueue queue(3000);
  queue.Rewind();  // A connection begins: batches are sent before the daemon says what it has.
  queue.Push(Batch(1, 1000));
  queue.MarkSent();
  queue.Push(Batch(2, 1000));
  queue.Push(Batch(3, 1000));
  ASSERT_EQ(queue.oldest_sequence(), 2u);
  queue.Settle(/*last_sequence=*/0);
  EXPECT_EQ(queue.dropped()[EventKind::kKernel], 0u);
  queue.Acknowledge(1);
  EXPECT_EQ(queue.acknowledged()[EventKind::kKernel], 1u);
}

TEST(BatchQueue, WhatIsGivenUpIsCountedAndWhatWasSentIsNot) {
  BatchQueue queue(10'000);
  for (uint64_t i = 1; i <= 4; ++i) queue.Push(Batch(i, 1000));
  queue.MarkSent();
  queue.MarkSent();
  queue.GiveUpUnsent();
  EXPECT_EQ(queue.dropped()[EventKind::kKernel], 3u + 4u);
  EXPECT_TRUE(queue.all_sent());
  queue.Acknowledge(2);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0u);
  EXPECT_EQ(queue.acknowledged()[EventKind::kKernel], 1u + 2u);
}

TEST(BatchQueue, BeginsAndEndsOfRangesThatGoAreHandedBack) {
  BatchQueue queue(3000);
  EncodedBatch with_begin = Batch(1, 1000);
  with_begin.has_begins = true;
  queue.Push(std::move(with_begin));
  EncodedBatch with_end = Batch(2, 1000);
  with_end.ends.push_back({7, 100});
  queue.Push(std::move(with_end));
  EXPECT_FALSE(queue.TakeBeginsGone());
  queue.Push(Batch(3, 2000));
  EXPECT_TRUE(queue.TakeBeginsGone());
  EXPECT_FALSE(queue.TakeBeginsGone());
  const std::vector<RangeEnd> ends = queue.TakeEnds();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].id, 7u);
  EXPECT_EQ(ends[0].end_ns, 100);
  EXPECT_TRUE(queue.TakeEnds().empty());
}

}  // namespace
}  // namespace tp::collect

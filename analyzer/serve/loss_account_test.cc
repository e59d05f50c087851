#include "analyzer/serve/loss_account.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tp {
namespace {

EventCounts Kernels(uint64_t count) {
  EventCounts counts{};
  counts[wire::KERNEL] = count;
  return counts;
}

wire::Hello Hello(uint64_t oldest_sequence, uint64_t acknowledged_kernels) {
  wire::Hello hello;
  hello.set_oldest_sequence(oldest_sequence);
  if (acknowledged_kernels > 0) {
    hello.add_acknowledged()->set_kind(wire::KERNEL);
    hello.mutable_acknowledged(0)->set_count(acknowledged_kernels);
  }
  return hello;
}

// "kind, cause" to count.
std::map<std::string, uint64_t> Losses(const LossAccount& account, bool ended = false) {
  std::map<std::string, uint64_t> losses;
  for (const query::Loss& loss : account.Losses(ended)) {
    losses[loss.kind() + ", " + loss.cause()] += loss.count();
  }
  return losses;
}

TEST(LossAccount, NothingIsLostWhenAllCame) {
  LossAccount account;
  account.Greeted(Hello(1, 0));
  for (uint64_t sequence : {1, 2, 3}) {
    EXPECT_TRUE(account.IsNew(sequence));
    account.Received(Kernels(10));
  }
  wire::Status status;
  status.add_produced()->set_kind(wire::KERNEL);
  status.mutable_produced(0)->set_count(30);
  account.Told(status);
  EXPECT_EQ(account.received()[wire::KERNEL], 30u);
  EXPECT_TRUE(Losses(account, /*ended=*/true).empty());
  EXPECT_EQ(account.batches_left_out(), 0u);
}

TEST(LossAccount, RepetitionsAreNotNew) {
  LossAccount account;
  account.Greeted(Hello(1, 0));
  EXPECT_TRUE(account.IsNew(1));
  EXPECT_TRUE(account.IsNew(2));
  account.Greeted(Hello(1, 0));
  EXPECT_FALSE(account.IsNew(1));
  EXPECT_FALSE(account.IsNew(2));
  EXPECT_TRUE(account.IsNew(3));
  EXPECT_EQ(account.repeated_batches(), 2u);
  EXPECT_EQ(account.batches_left_out(), 0u);
}

TEST(LossAccount, GapsAreCounted) {
  LossAccount account;
  account.Greeted(Hello(5, 0));
  EXPECT_TRUE(account.IsNew(5));
  EXPECT_TRUE(account.IsNew(9));
  EXPECT_EQ(account.batches_left_out(), 3u);
  EXPECT_TRUE(account.IsNew(UINT64_MAX));
  EXPECT_FALSE(account.IsNew(UINT64_MAX));
  EXPECT_EQ(account.batches_left_out(), UINT64_MAX - 10 + 3);
}

TEST(LossAccount, WhatAnEarlierDaemonAcknowledgedIsLost) {
  LossAccount account;
  account.Greeted(Hello(8, 700));
  EXPECT_EQ(Losses(account)["kernels, earlier daemon"], 700u);
  EXPECT_TRUE(account.IsNew(8));
  account.Received(Kernels(100));
  // Connects again, after this daemon acknowledged 60 of its 100: nothing more is lost, and nothing
  // less.
  account.Greeted(Hello(9, 760));
  EXPECT_EQ(Losses(account)["kernels, earlier daemon"], 700u);
}

TEST(LossAccount, WhatThisDaemonHasIsNoLossOnTheNextConnection) {
  LossAccount account;
  account.Greeted(Hello(1, 0));
  EXPECT_TRUE(account.IsNew(1));
  account.Received(Kernels(100));
  account.Greeted(Hello(2, 100));
  EXPECT_TRUE(Losses(account).empty());
}

TEST(LossAccount, TheCollectorsOwnLossesAreTakenAsTheyStand) {
  LossAccount account;
  wire::Status status;
  for (uint64_t count : {5, 7}) {
    status.clear_losses();
    wire::Loss* loss = status.add_losses();
    loss->set_kind(wire::EVENT_KIND_UNKNOWN);
    loss->set_cause(wire::CUPTI_DROPPED);
    loss->set_count(count);
    account.Told(status);
  }
  EXPECT_EQ(Losses(account), (std::map<std::string, uint64_t>{{"records, dropped by CUPTI", 7}}));
}

TEST(LossAccount, WhatWasUnderwayWhenTheConnectionEndedIsLost) {
  LossAccount account;
  account.Greeted(Hello(1, 20));  // 20 went to an earlier daemon.
  account.IsNew(3);
  account.Received(Kernels(50));
  wire::Status status;
  status.add_produced()->set_kind(wire::KERNEL);
  status.mutable_produced(0)->set_count(100);
  wire::Loss* dropped = status.add_losses();
  dropped->set_kind(wire::KERNEL);
  dropped->set_cause(wire::QUEUE_FULL);
  dropped->set_count(10);
  account.Told(status);
  EXPECT_EQ(Losses(account, /*ended=*/false).size(), 2u);
  std::map<std::string, uint64_t> losses = Losses(account, /*ended=*/true);
  EXPECT_EQ(losses["kernels, never arrived"], 20u);
  EXPECT_EQ(losses["kernels, queue full"], 10u);
}

TEST(LossAccount, AbsurdCountsDoNotWrapAround) {
  LossAccount account;
  wire::Hello hello = Hello(1, UINT64_MAX);
  hello.add_acknowledged()->set_kind(wire::KERNEL);
  hello.mutable_acknowledged(1)->set_count(UINT64_MAX);
  hello.add_acknowledged()->set_kind(static_cast<wire::EventKind>(12345));
  hello.mutable_acknowledged(2)->set_count(1);
  account.Greeted(hello);
  EXPECT_EQ(Losses(account, true)["kernels, earlier daemon"], UINT64_MAX);
}

TEST(LossAccount, GoesOnElsewhereFromWhatWasSaved) {
  LossAccount account;
  account.Greeted(Hello(3, 7));
  account.IsNew(3);
  account.IsNew(6);
  EventCounts counts{};
  counts[wire::KERNEL] = 4;
  counts[wire::OPERATION] = 2;
  account.Received(counts);
  account.FoundAgain(1);
  wire::Status status;
  status.add_losses()->set_kind(wire::KERNEL);
  status.mutable_losses(0)->set_cause(wire::QUEUE_FULL);
  status.mutable_losses(0)->set_count(5);
  status.add_produced()->set_kind(wire::KERNEL);
  status.mutable_produced(0)->set_count(30);
  account.Told(status);
  capture::Account saved;
  account.Save(&saved);
  LossAccount other;
  other.Restore(saved);
  for (const bool ended : {false, true}) EXPECT_EQ(Losses(other, ended), Losses(account, ended));
  EXPECT_EQ(other.received(), account.received());
  EXPECT_EQ(other.batches_left_out(), account.batches_left_out());
  EXPECT_EQ(other.IsNew(6), account.IsNew(6));
  EXPECT_EQ(other.IsNew(9), account.IsNew(9));
  EXPECT_EQ(other.batches_left_out(), 4u);
}

}  // namespace
}  // namespace tp

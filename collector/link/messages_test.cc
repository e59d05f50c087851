#include "collector/link/messages.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

wire::Hello Hello(const HelloFields& fields) {
  wire::Hello hello;
  EXPECT_TRUE(hello.ParseFromString(EncodeHello(fields)));
  return hello;
}

TEST(Messages, HelloSaysWhoTheProcessIs) {
  HelloFields fields;
  fields.cupti_version = 130001;
  fields.acknowledged[EventKind::kCopy] = 7;
  fields.oldest_sequence = 12;
  wire::Hello hello = Hello(fields);
  EXPECT_EQ(hello.pid(), getpid());
  EXPECT_GT(hello.start_time_ticks(), 0u);
  EXPECT_EQ(hello.start_time_ticks(), Hello(fields).start_time_ticks());
  EXPECT_NE(hello.command().find("messages_test"), std::string::npos);
  EXPECT_EQ(hello.command().find('\0'), std::string::npos);
  EXPECT_EQ(hello.executable().front(), '/');
  EXPECT_EQ(hello.cupti_version(), 130001u);
  EXPECT_EQ(hello.oldest_sequence(), 12u);
  ASSERT_EQ(hello.acknowledged_size(), 1);
  EXPECT_EQ(hello.acknowledged(0).kind(), wire::COPY);
  EXPECT_FALSE(hello.has_clock()) << "a clock that was never read is not made up";
}

TEST(Messages, TheRankIsTheFirstVariableThatIsANumber) {
  for (const char* variable : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    unsetenv(variable);
  }
  EXPECT_EQ(Hello({}).rank(), -1);
  setenv("SLURM_PROCID", "5", 1);
  EXPECT_EQ(Hello({}).rank(), 5);
  setenv("RANK", "three", 1);
  EXPECT_EQ(Hello({}).rank(), 5);
  setenv("RANK", "3", 1);
  EXPECT_EQ(Hello({}).rank(), 3);
}

TEST(Messages, StatusTellsStateReasonAndLosses) {
  StatusFields fields;
  fields.state = State::kDisabled;
  fields.reason = "another profiler holds CUPTI in this process";
  fields.losses = {{EventKind::kUnknown, LossCause::kCuptiDropped, 3},
                   {EventKind::kKernel, LossCause::kQueueFull, 0}};
  fields.produced[EventKind::kKernel] = 100;
  fields.clock = {1000, 2000, 3000, 40};
  fields.notes = {"a note"};
  wire::Status status;
  ASSERT_TRUE(status.ParseFromString(EncodeStatus(fields)));
  EXPECT_EQ(status.state(), wire::DISABLED);
  EXPECT_EQ(status.reason(), fields.reason);
  ASSERT_EQ(status.losses_size(), 1) << "none that is zero";
  EXPECT_EQ(status.losses(0).cause(), wire::CUPTI_DROPPED);
  EXPECT_EQ(status.losses(0).count(), 3u);
  EXPECT_EQ(status.produced(0).count(), 100u);
  EXPECT_EQ(status.clock().host_ns(), 1000);
  EXPECT_EQ(status.clock().cupti_ns(), 2000);
  EXPECT_EQ(status.clock().realtime_ns(), 3000);
  EXPECT_EQ(status.clock().bracket_ns(), 40u);
  EXPECT_EQ(status.notes(0), "a note");
}

}  // namespace
}  // namespace tp::collect

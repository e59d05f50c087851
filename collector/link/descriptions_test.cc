#include "collector/link/descriptions.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/wire.pb.h"

namespace tp::collect {
namespace {

wire::Descriptions After(const Descriptions& descriptions, uint64_t* revision) {
  wire::Descriptions message;
  EXPECT_TRUE(message.ParseFromString(descriptions.EncodeAfter(*revision, revision)));
  return message;
}
wire::Descriptions All(const Descriptions& descriptions) {
  uint64_t revision = 0;
  return After(descriptions, &revision);
}

TEST(Descriptions, EachNumberArrivesInItsField) {
  Descriptions descriptions;
  descriptions.SetDevice({.id = 1,
                          .name = "NVIDIA H200",
                          .uuid = std::string_view("0123456789abcdef"),
                          .compute_major = 9,
                          .compute_minor = 2,
                          .memory_bytes = uint64_t{141} << 30,
                          .memory_kilobytes_per_second = 4'800'000'000,
                          .multiprocessors = 132,
                          .core_clock_khz = 1980000,
                          .l2_cache_bytes = 60 << 20,
                          .threads_per_warp = 32,
                          .threads_per_block = 1024,
                          .threads_per_multiprocessor = 2048,
                          .registers_per_block = 65536,
                          .registers_per_multiprocessor = 65537,
                          .shared_bytes_per_block = 49152,
                          .shared_bytes_per_multiprocessor = 233472});
  descriptions.SetContext({.id = 2, .device = 0, .api_kind = 1, .null_stream = 7});
  descriptions.SetStream({.context = 2, .id = 13, .flag = 2, .priority = -5});
  descriptions.SetThreadName(4242, "worker");
  EXPECT_TRUE(descriptions.has_devices());
  const wire::Descriptions all = All(descriptions);
  ASSERT_EQ(all.devices_size(), 1);
  const wire::DeviceDescription& device = all.devices(0);
  EXPECT_EQ(device.device(), 1u);
  EXPECT_EQ(device.given_name(), "");
  EXPECT_EQ(device.name(), "NVIDIA H200");
  EXPECT_EQ(device.uuid(), "0123456789abcdef");
  EXPECT_EQ(device.compute_major(), 9u);
  EXPECT_EQ(device.compute_minor(), 2u);
  EXPECT_EQ(device.memory_bytes(), uint64_t{141} << 30);
  EXPECT_EQ(device.memory_kilobytes_per_second(), 4'800'000'000u);
  EXPECT_EQ(device.multiprocessors(), 132u);
  EXPECT_EQ(device.core_clock_khz(), 1980000u);
  EXPECT_EQ(device.l2_cache_bytes(), 60u << 20);
  EXPECT_EQ(device.threads_per_warp(), 32u);
  EXPECT_EQ(device.threads_per_block(), 1024u);
  EXPECT_EQ(device.threads_per_multiprocessor(), 2048u);
  EXPECT_EQ(device.registers_per_block(), 65536u);
  EXPECT_EQ(device.registers_per_multiprocessor(), 65537u);
  EXPECT_EQ(device.shared_bytes_per_block(), 49152u);
  EXPECT_EQ(device.shared_bytes_per_multiprocessor(), 233472u);
  ASSERT_EQ(all.contexts_size(), 1);
  EXPECT_EQ(all.contexts(0).context(), 2u);
  EXPECT_EQ(all.contexts(0).device_plus_one(), 1u);
  EXPECT_EQ(all.contexts(0).api_kind(), 1u);
  EXPECT_EQ(all.contexts(0).null_stream_plus_one(), 8u);
  ASSERT_EQ(all.streams_size(), 1);
  EXPECT_EQ(all.streams(0).context(), 2u);
  EXPECT_EQ(all.streams(0).stream(), 13u);
  EXPECT_EQ(all.streams(0).flag(), 2u);
  EXPECT_EQ(all.streams(0).priority(), -5);
  ASSERT_EQ(all.threads_size(), 1);
  EXPECT_EQ(all.threads(0).thread_id(), 4242u);
  EXPECT_EQ(all.threads(0).name(), "worker");
}

TEST(Descriptions, GivenNamesAndRecordsComeInAnyOrder) {
  Descriptions descriptions;
  descriptions.GiveStreamName(1, 13, "copies");
  descriptions.SetStream({.context = 1, .id = 13, .flag = 1, .priority = 0});
  descriptions.SetThreadName(5, "python");
  descriptions.GiveThreadName(5, "loader");
  descriptions.SetThreadName(5, "python3");
  descriptions.GiveDeviceName(0, "the fast one");
  descriptions.GiveContextName(1, "mine");
  EXPECT_FALSE(descriptions.has_devices()) << "a name does not say what it is";
  const wire::Descriptions all = All(descriptions);
  ASSERT_EQ(all.streams_size(), 1);
  EXPECT_EQ(all.streams(0).given_name(), "copies");
  EXPECT_EQ(all.streams(0).flag(), 1u);
  ASSERT_EQ(all.threads_size(), 1);
  EXPECT_EQ(all.threads(0).given_name(), "loader");
  EXPECT_EQ(all.threads(0).name(), "python3");
  EXPECT_EQ(all.devices(0).given_name(), "the fast one");
  EXPECT_EQ(all.contexts(0).given_name(), "mine");
}

TEST(Descriptions, OnlyWhatHasChangedIsToldAgain) {
  Descriptions descriptions;
  uint64_t revision = 0;
  descriptions.SetThreadName(1, "one");
  descriptions.SetThreadName(2, "two");
  EXPECT_EQ(After(descriptions, &revision).threads_size(), 2);
  EXPECT_EQ(revision, descriptions.revision());
  descriptions.SetThreadName(1, "one");
  EXPECT_EQ(revision, descriptions.revision());
  descriptions.SetThreadName(1, "another");
  const wire::Descriptions changed = After(descriptions, &revision);
  ASSERT_EQ(changed.threads_size(), 1);
  EXPECT_EQ(changed.threads(0).name(), "another");
  EXPECT_EQ(All(descriptions).threads_size(), 2);
}

TEST(Descriptions, AreBoundedAndCountWhatIsLeftOut) {
  Descriptions descriptions(64 << 10);
  const std::string long_name(1000, 'x');
  for (uint32_t i = 0; i < 1000; ++i) descriptions.GiveStreamName(1, i, long_name);
  EXPECT_LE(descriptions.memory_bytes(), size_t{64} << 10);
  const wire::Descriptions all = All(descriptions);
  EXPECT_GT(all.streams_size(), 50);
  EXPECT_EQ(descriptions.left_out(), 1000u - static_cast<uint64_t>(all.streams_size()));
  EXPECT_EQ(all.streams(0).given_name(), std::string(kLongestDescribedName, 'x'));
  // What is there can still change, to what takes no more room.
  descriptions.GiveStreamName(1, 0, "short");
  uint64_t revision = descriptions.revision() - 1;
  EXPECT_EQ(After(descriptions, &revision).streams(0).given_name(), "short");
}

TEST(Descriptions, NamesAreCutBetweenCharacters) {
  Descriptions descriptions;
  std::string name(kLongestDescribedName - 1, 'x');
  descriptions.GiveDeviceName(0, name + "€");
  EXPECT_EQ(All(descriptions).devices(0).given_name(), name);
}

TEST(Descriptions, MessagesStaySmallAndGoOnWhereTheLastEnded) {
  Descriptions descriptions;
  constexpr uint32_t kStreams = 2000;
  for (uint32_t i = 0; i < kStreams; ++i) {
    descriptions.GiveStreamName(1, i, std::string(200, 'n'));
  }
  uint64_t revision = 0;
  uint32_t streams = 0;
  while (revision < descriptions.revision()) {
    const wire::Descriptions part = After(descriptions, &revision);
    EXPECT_LT(part.ByteSizeLong(), size_t{70} << 10);
    for (const wire::StreamDescription& stream : part.streams()) {
      EXPECT_EQ(stream.stream(), streams++);
    }
  }
  EXPECT_EQ(streams, kStreams);
}

}  // namespace
}  // namespace tp::collect

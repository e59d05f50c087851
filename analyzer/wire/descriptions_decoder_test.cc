#include "analyzer/wire/descriptions_decoder.h"

#include <gtest/gtest.h>

#include <string>

namespace tp {
namespace {

TEST(DescriptionsDecoder, TellsEachThingByItsNumber) {
  wire::Descriptions message;
  wire::DeviceDescription* device = message.add_devices();
  device->set_device(1);
  device->set_name("NVIDIA H200");
  device->set_uuid("0123456789abcdef");
  device->set_compute_major(9);
  device->set_shared_bytes_per_multiprocessor(233472);
  wire::ContextDescription* context = message.add_contexts();
  context->set_context(3);
  context->set_device_plus_one(2);
  context->set_null_stream_plus_one(8);
  wire::StreamDescription* stream = message.add_streams();
  stream->set_context(3);
  stream->set_stream(13);
  stream->set_flag(2);
  stream->set_priority(-5);
  stream->set_given_name("copies");
  wire::ThreadDescription* thread = message.add_threads();
  thread->set_thread_id(4242);
  thread->set_name("python");
  Descriptions descriptions;
  EXPECT_EQ(DecodeDescriptions(message, &descriptions), 0u);
  EXPECT_EQ(descriptions.DeviceName(1), "NVIDIA H200");
  EXPECT_EQ(descriptions.devices[1].compute_major, 9u);
  EXPECT_EQ(descriptions.devices[1].shared_bytes_per_multiprocessor, 233472u);
  EXPECT_EQ(Descriptions::UuidText(descriptions.devices[1].uuid),
            "GPU-30313233-3435-3637-3839-616263646566");
  EXPECT_EQ(descriptions.contexts[3].device, 1);
  EXPECT_EQ(descriptions.StreamName(3, 7), "default");
  EXPECT_EQ(descriptions.StreamName(3, 13), "copies");
  EXPECT_EQ(descriptions.StreamName(4, 7), "");
  const StreamDescription& decoded = descriptions.streams.at({3, 13});
  EXPECT_EQ(decoded.kind, StreamKind::kNonBlocking);
  EXPECT_EQ(decoded.priority, -5);
  EXPECT_EQ(descriptions.threads[4242].shown(), "python");

  // The program's own names win; a later description takes the place of the earlier one.
  wire::Descriptions later;
  later.add_threads()->set_thread_id(4242);
  later.mutable_threads(0)->set_name("python");
  later.mutable_threads(0)->set_given_name("loader");
  later.add_streams()->set_context(3);
  later.mutable_streams(0)->set_stream(7);
  later.mutable_streams(0)->set_given_name("all");
  *later.add_devices() = message.devices(0);
  later.mutable_devices(0)->set_given_name("first");
  EXPECT_EQ(DecodeDescriptions(later, &descriptions), 0u);
  EXPECT_EQ(descriptions.threads[4242].shown(), "loader");
  EXPECT_EQ(descriptions.StreamName(3, 7), "all");
  EXPECT_EQ(descriptions.DeviceName(1), "first, NVIDIA H200");
}

TEST(DescriptionsDecoder, TheNullStreamIsTheDefaultOneByItsFlagToo) {
  wire::Descriptions message;
  message.add_streams()->set_stream(7);
  message.mutable_streams(0)->set_flag(3);
  message.add_streams()->set_stream(8);
  message.mutable_streams(1)->set_flag(77);
  Descriptions descriptions;
  DecodeDescriptions(message, &descriptions);
  EXPECT_EQ(descriptions.StreamName(0, 7), "default");
  EXPECT_EQ(descriptions.StreamName(0, 8), "");
  EXPECT_EQ(descriptions.streams.at({0, 8}).kind, StreamKind::kUnknown);
}

TEST(DescriptionsDecoder, TakesWhatAnyoneMaySend) {
  Descriptions descriptions;
  uint64_t left_out = 0;
  for (uint32_t i = 0; i < 20'000; ++i) {
    wire::Descriptions message;
    message.add_threads()->set_thread_id(i);
    message.mutable_threads(0)->set_name(std::string(1000, '\xff'));
    left_out += DecodeDescriptions(message, &descriptions);
  }
  EXPECT_EQ(descriptions.threads.size() + left_out, 20'000u);
  EXPECT_LT(descriptions.threads.size(), 10'000u);
  EXPECT_LT(descriptions.threads[0].name.size(), 300u);
  EXPECT_GT(descriptions.memory_bytes(), descriptions.threads.size() * 64);
}

TEST(DescriptionsDecoder, MakesTheSameOfWhatWasEncoded) {
  Descriptions descriptions;
  descriptions.devices[3] = {"NVIDIA H200",
                             "trainer",
                             std::string(16, 'u'),
                             9,
                             0,
                             141,
                             4800,
                             132,
                             1980,
                             60,
                             32,
                             1024,
                             2048,
                             7,
                             8,
                             9,
                             10};
  descriptions.contexts[1] = {"main", 3, 7};
  descriptions.contexts[2] = {};
  descriptions.streams[{1, 7}] = {"copies", StreamKind::kNonBlocking, -3};
  descriptions.threads[4242] = {"loader", "python"};
  wire::Descriptions message, again;
  EncodeDescriptions(descriptions, &message);
  Descriptions decoded;
  EXPECT_EQ(DecodeDescriptions(message, &decoded), 0u);
  EncodeDescriptions(decoded, &again);
  EXPECT_EQ(again.DebugString(), message.DebugString());
  EXPECT_EQ(decoded.contexts.at(2).device, kUnknownNumber);
  EXPECT_EQ(decoded.contexts.at(1).null_stream, 7);
  EXPECT_EQ(decoded.devices.at(3).shared_bytes_per_multiprocessor, 10u);
  EXPECT_EQ(decoded.streams.at({1, 7}).priority, -3);
  EXPECT_EQ(decoded.threads.at(4242).given_name, "loader");
}

}  // namespace
}  // namespace tp

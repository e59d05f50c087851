// For tests: a frame of the collector's, as the daemon's protobuf reads it.
#ifndef COLLECTOR_LINK_DECODED_FRAME_H_
#define COLLECTOR_LINK_DECODED_FRAME_H_

#include <google/protobuf/io/coded_stream.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collector/link/batch_encoder.h"
#include "proto/wire.pb.h"

namespace tp::collect {

// The batch; the test fails if the frame is not one whole message with a batch in it.
inline wire::Batch DecodedBatch(const EncodedBatch& encoded) {
  const std::string& frame = encoded.frame;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(frame.data()),
                                               static_cast<int>(frame.size()));
  uint32_t length = 0;
  EXPECT_TRUE(input.ReadVarint32(&length));
  EXPECT_EQ(input.CurrentPosition() + length, frame.size());
  wire::FromCollector message;
  EXPECT_TRUE(message.ParseFromCodedStream(&input));
  EXPECT_TRUE(message.has_batch());
  return message.batch();
}

// The numbers of a column of differences.
template <typename Deltas>
std::vector<int64_t> Undelta(const Deltas& deltas) {
  std::vector<int64_t> values;
  uint64_t value = 0;
  for (int64_t delta : deltas) {
    value += static_cast<uint64_t>(delta);
    values.push_back(static_cast<int64_t>(value));
  }
  return values;
}

}  // namespace tp::collect

#endif  // COLLECTOR_LINK_DECODED_FRAME_H_
